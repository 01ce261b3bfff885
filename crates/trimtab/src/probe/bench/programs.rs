use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::debian;

use crate::failure::Failure;

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
    /// Flags of the compiler; `@` stands for the package's folder.
    flags: &'static [&'static str],
    /// Libraries.
    libraries: &'static [&'static str],
    /// Whether it is C++.
    pub is_cxx: bool,
    /// Arguments of a run.
    pub arguments: &'static [&'static str],
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

const FIB: &str = include_str!("../../../../../probe/bench/fib.c");
const XML: &str = include_str!("../../../../../probe/bench/xml.cc");
const LUA: &str = include_str!("../../../../../probe/bench/work.lua");
const JS: &str = include_str!("../../../../../probe/bench/work.js");

/// The programs, the one that is nothing but calls first.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "fib",
        package: None,
        files: &[],
        not: &[],
        own: &[("fib.c", FIB)],
        // So that each call is one.
        flags: &["-fno-optimize-sibling-calls", "-O1"],
        libraries: &[],
        is_cxx: false,
        arguments: &["32"],
    },
    Program {
        name: "bzip2",
        package: Some("bzip2"),
        files: &["*.c"],
        not: &["bzip2recover.c", "unzcrash.c", "dlltest.c", "mk251.c", "spewG.c"],
        own: &[],
        flags: &["-D_FILE_OFFSET_BITS=64"],
        libraries: &[],
        is_cxx: false,
        arguments: &["-k", "-c", "-9", "data"],
    },
    Program {
        name: "lua",
        package: Some("lua5.4"),
        files: &["src/*.c"],
        not: &["luac.c"],
        own: &[("work.lua", LUA)],
        flags: &["-DLUA_USE_POSIX"],
        libraries: &["-lm"],
        is_cxx: false,
        arguments: &["work.lua"],
    },
    Program {
        name: "mujs",
        package: Some("mujs"),
        files: &["one.c", "main.c"],
        not: &[],
        own: &[("work.js", JS)],
        flags: &[],
        libraries: &["-lm"],
        is_cxx: false,
        arguments: &["work.js"],
    },
    Program {
        name: "tinyxml2",
        package: Some("tinyxml2"),
        files: &["tinyxml2.cpp"],
        not: &[],
        own: &[("xml.cc", XML)],
        flags: &["-I@"],
        libraries: &[],
        is_cxx: true,
        arguments: &["12"],
    },
];

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
            if files.is_empty() {
                return Err(
                    Failure::new(format!("{package} has no {}", self.files.join(", "))).into()
                );
            }
        }
        for (name, text) in self.own {
            let path = folder.join(name);
            fs::write(&path, text).with_context(cannot)?;
            if !name.starts_with("work.") {
                files.push(path);
            }
        }
        if self.arguments.contains(&"data") {
            fs::write(folder.join("data"), data()).with_context(cannot)?;
        }
        files.sort();
        let tree = tree.display().to_string();
        let flags = self.flags.iter().map(|flag| flag.replace('@', &tree).into()).collect();
        Ok(Sources { files, flags, libraries: self.libraries, package })
    }
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
fn data() -> String {
    const WORDS: [&str; 8] =
        ["order", "page", "trace ", "function\n", "kernel, ", "the ", "of ", "linker "];
    let mut state = 1_u32;
    let mut text = String::new();
    while text.len() < 3_000_000 {
        // The generator of the C standard's example of `rand`.
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        text.push_str(WORDS[(state >> 16) as usize % WORDS.len()]);
        text.push_str(&(state >> 24).to_string());
    }
    text
}
