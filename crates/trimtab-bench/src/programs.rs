use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::debian;

use trimtab_lab::failure::Failure;

/// A file that is made: its name, and what makes its text.
type Input = (&'static str, fn() -> String);

/// A program to measure.
#[derive(Debug)]
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// The Debian source package that it is from; none for one of our own.
    pub package: Option<&'static str>,
    /// Its files: patterns in the package's folder.
    files: &'static [&'static str],
    /// Files that the patterns have too many.
    not: &'static [&'static str],
    /// Files that trimtab brings along: name and text.
    own: &'static [(&'static str, &'static str)],
    /// Files that trimtab makes for it: name and how.
    inputs: &'static [Input],
    /// Flags of the compiler, which runs in the program's folder; `@` stands for the package's folder.
    flags: &'static [&'static str],
    /// Libraries.
    libraries: &'static [&'static str],
    /// Whether it is C++.
    pub is_cxx: bool,
    /// Arguments of a run.
    pub arguments: &'static [&'static str],
    /// Arguments of a run that does the same, but much less of it: simulating takes long.
    pub small: &'static [&'static str],
    /// The file that a run writes in its folder, besides what it prints.
    pub writes: Option<&'static str>,
}

/// Unpacked, and ready to be compiled.
#[derive(Debug)]
pub struct Sources {
    /// All files to compile.
    pub files: Vec<PathBuf>,
    /// Flags of the compiler.
    pub flags: Vec<OsString>,
    /// Libraries.
    pub libraries: &'static [&'static str],
    /// Name and version of the package.
    pub package: String,
}

macro_rules! own {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../probe/bench/", $name)))
    };
}

/// The programs, the one that is nothing but calls first: compression, a compiler, interpreters, a
/// database, a parser, a simulation, pictures, and templates.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "fib",
        own: &[own!("fib.c")],
        // So that each call is one.
        flags: &["-fno-optimize-sibling-calls", "-O1"],
        arguments: &["32"],
        small: &["20"],
        ..NONE
    },
    Program {
        name: "bzip2",
        package: Some("bzip2"),
        files: &["*.c"],
        not: &["bzip2recover.c", "unzcrash.c", "dlltest.c", "mk251.c", "spewG.c"],
        inputs: &[("data", || words(3_000_000)), ("less", || words(200_000))],
        flags: &["-D_FILE_OFFSET_BITS=64"],
        arguments: &["-k", "-c", "-9", "data"],
        small: &["-k", "-c", "-9", "less"],
        ..NONE
    },
    Program {
        name: "zlib",
        package: Some("zlib"),
        files: &["*.c", "test/minigzip.c"],
        inputs: &[("data", || words(3_000_000)), ("less", || words(200_000))],
        flags: &["-I@", "-DHAVE_UNISTD_H", "-D_LARGEFILE64_SOURCE=1"],
        arguments: &["-c", "-9", "data"],
        small: &["-c", "-9", "less"],
        ..NONE
    },
    Program {
        name: "tcc",
        package: Some("tcc"),
        files: &["tcc.c"],
        own: &[own!("config.h")],
        inputs: &[("work.c", || functions(12_000)), ("less.c", || functions(400))],
        flags: &["-I.", "-D_GNU_SOURCE", "-DONE_SOURCE=1", "-DTCC_TARGET_X86_64"],
        libraries: &["-lm", "-ldl"],
        arguments: &["-nostdinc", "-c", "work.c", "-o", "work.o"],
        small: &["-nostdinc", "-c", "less.c", "-o", "work.o"],
        writes: Some("work.o"),
        ..NONE
    },
    Program {
        name: "lua",
        package: Some("lua5.4"),
        files: &["src/*.c"],
        not: &["luac.c"],
        own: &[own!("work.lua")],
        flags: &["-DLUA_USE_POSIX"],
        libraries: &["-lm"],
        arguments: &["work.lua", "8", "40000"],
        small: &["work.lua", "5", "1500"],
        ..NONE
    },
    Program {
        name: "mujs",
        package: Some("mujs"),
        files: &["one.c", "main.c"],
        own: &[own!("work.js")],
        libraries: &["-lm"],
        arguments: &["work.js", "100"],
        small: &["work.js", "4"],
        ..NONE
    },
    Program {
        name: "lmdb",
        package: Some("lmdb"),
        files: &["libraries/liblmdb/mdb.c", "libraries/liblmdb/midl.c"],
        own: &[own!("store.c")],
        flags: &["-I@/libraries/liblmdb"],
        arguments: &["100000"],
        small: &["4000"],
        ..NONE
    },
    Program {
        name: "tinyxml2",
        package: Some("tinyxml2"),
        files: &["tinyxml2.cpp"],
        own: &[own!("xml.cc")],
        flags: &["-I@"],
        is_cxx: true,
        arguments: &["60"],
        small: &["2"],
        ..NONE
    },
    Program {
        name: "chipmunk",
        package: Some("chipmunk"),
        files: &["src/*.c"],
        // It wants a header that the C library has no more.
        not: &["cpHastySpace.c"],
        own: &[own!("bodies.c")],
        flags: &["-I@/include", "-DNDEBUG"],
        libraries: &["-lm"],
        arguments: &["300"],
        small: &["10"],
        ..NONE
    },
    Program {
        name: "stb",
        package: Some("libstb"),
        own: &[own!("image.c")],
        flags: &["-I@"],
        libraries: &["-lm"],
        arguments: &["800"],
        small: &["160"],
        ..NONE
    },
    Program {
        name: "json",
        package: Some("nlohmann-json3"),
        own: &[own!("json.cc")],
        flags: &["-I@/single_include"],
        is_cxx: true,
        arguments: &["100"],
        small: &["3"],
        ..NONE
    },
];

const NONE: Program = Program {
    name: "",
    package: None,
    files: &[],
    not: &[],
    own: &[],
    inputs: &[],
    flags: &[],
    libraries: &[],
    is_cxx: false,
    arguments: &[],
    small: &[],
    writes: None,
};

impl Program {
    /// Fetches its source and writes what it works on into `folder`; packages are kept in `cache`.
    ///
    /// # Errors
    /// What cannot be fetched or written.
    pub fn prepare(&self, cache: &Path, folder: &Path) -> anyhow::Result<Sources> {
        let cannot = || format!("cannot write to {}", folder.display());
        let mut files = Vec::new();
        let mut package = String::new();
        let mut tree = folder.to_owned();
        if let Some(name) = self.package {
            fs::create_dir_all(cache).with_context(cannot)?;
            let (found, version) = debian::source(name, cache)?;
            package = format!("{name} {version}");
            tree = found;
            for pattern in self.files {
                let (within, name) = pattern.rsplit_once('/').unwrap_or((".", pattern));
                files.extend(matching(&tree.join(within), name, self.not)?);
            }
            if files.is_empty() && !self.files.is_empty() {
                return Err(
                    Failure::new(format!("{package} has no {}", self.files.join(", "))).into()
                );
            }
        }
        for (name, text) in self.own {
            let path = folder.join(name);
            write_if_new(&path, text)?;
            if name.ends_with(".c") || name.ends_with(".cc") {
                files.push(path);
            }
        }
        for (name, text) in self.inputs {
            write_if_new(&folder.join(name), &text())?;
        }
        files.sort();
        let tree = tree.display().to_string();
        let flags = self.flags.iter().map(|flag| flag.replace('@', &tree).into()).collect();
        Ok(Sources { files, flags, libraries: self.libraries, package })
    }
}

/// Writes a file, unless it is there and has that text: what was made of it stays good.
///
/// # Errors
/// That it cannot be written.
pub fn write_if_new(path: &Path, text: &str) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn matching(folder: &Path, pattern: &str, not: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let fits = |name: &str| match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == pattern,
    };
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            fits(&name) && !not.contains(&name.as_ref())
        })
        .collect())
}

/// Something to compress: words in an order that a simple generator makes, the same each time.
fn words(bytes: usize) -> String {
    const WORDS: [&str; 8] =
        ["order", "page", "trace ", "function\n", "kernel, ", "the ", "of ", "linker "];
    let mut state = 1_u32;
    let mut text = String::new();
    while text.len() < bytes {
        // The generator of the C standard's example of `rand`.
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        text.push_str(WORDS[(state >> 16) as usize % WORDS.len()]);
        text.push_str(&(state >> 24).to_string());
    }
    text
}

/// Something to compile: functions in C with structures, loops, switches and calls.
fn functions(count: usize) -> String {
    let mut text = String::from("struct part { int size; long at[4]; struct part *next; };\n");
    for number in 0..count {
        let (a, b) = (number % 7 + 1, number * 31 % 97);
        let callee = number.saturating_sub(a);
        text += &format!(
            "static long step_{number}(struct part *part, int count)\n{{\n\tlong sum = {b};\n\
             \tfor (int i = 0; i < count; i++) {{\n\t\tpart->at[i & 3] += sum * {a} - i;\n\
             \t\tswitch ((sum >> {a}) & 3) {{\n\t\tcase 0: sum += part->size; break;\n\
             \t\tcase 1: sum ^= {b} << i; break;\n\t\tdefault: sum -= part->at[1];\n\t\t}}\n\
             \t}}\n\tif (part->next && count > {a})\n\
             \t\treturn step_{callee}(part->next, count - {a}) + (sum ? sum % {a}0 : 1);\n\
             \treturn (int)sum;\n}}\n"
        );
    }
    text
}
