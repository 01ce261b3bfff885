//! The compiler that is tuned, and what it offers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::process::{Job, ProcessError};
use trimtab_lab::tools;

use super::probing;
use crate::space::configuration::has_line;
use crate::space::{GccLists, Group, Purpose, Space, clang, gcc};

/// Whose options a compiler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// gcc's.
    Gcc,
    /// clang's.
    Clang,
}

/// A compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// For C.
    pub c: PathBuf,
    /// For C++.
    pub cxx: PathBuf,
    /// Whose options it takes.
    pub family: Family,
    /// The first line that it says of its version.
    pub version: String,
    /// What merges profiles of clang, where it is there.
    pub profdata: Option<PathBuf>,
    /// What programs are made with beside it: its libraries, assembler and linker.
    pub parts: Key,
    /// What `-march=native` stands for here: a hash.
    native: String,
}

/// The libraries of a compiler whose instructions count, where they are there.
const LIBRARIES: [&str; 3] = ["libc.so.6", "libm.so.6", "libstdc++.so.6"];
/// The programs that it starts.
const PROGRAMS: [&str; 2] = ["as", "ld"];

/// How long a compiler may take to say something.
const LIMIT: Duration = Duration::from_secs(60);

impl Compiler {
    /// Finds a compiler: `gcc`, `clang` (the newest that is there), another name of `PATH`, or a path.
    ///
    /// # Errors
    /// That it is not there, or is no compiler of gcc's or clang's family.
    pub fn find(name: &str) -> Result<Self> {
        let c = match name {
            "gcc" => tools::find("gcc")?.path,
            "clang" => tools::llvm()?.clang(),
            other => PathBuf::from(other),
        };
        let said = Job::new(format!("asking {name} for its version"), &c)
            .arg("--version")
            .limit(LIMIT)
            .run_captured()?;
        let version = said.lines().next().unwrap_or_default().trim().to_owned();
        let full = || Job::new("asking for its number", &c).arg("-dumpfullversion").run_captured();
        let is_gcc = || full().is_ok_and(|said| said.starts_with(|c: char| c.is_ascii_digit()));
        let family = if said.to_lowercase().contains("clang") {
            Family::Clang
        } else if is_gcc() {
            Family::Gcc
        } else {
            return Err(Failure::usage(format!(
                "{name} says that it is {version:?}; expected gcc or clang"
            ))
            .into());
        };
        let profdata = match family {
            Family::Clang => tools::find("llvm-profdata").ok().map(|found| found.path),
            Family::Gcc => None,
        };
        let (parts, native) = (parts(&c)?, native(&c));
        Ok(Self { cxx: cxx(&c, family), c, family, version, profdata, parts, native })
    }

    /// What a trial of flags is called: flags for the machine's own processor are others where that is another.
    pub fn trial(&self, flags: &[String]) -> String {
        let text = flags.join(" ");
        match flags.iter().any(|flag| flag.ends_with("=native")) {
            true => format!("{text} (native {})", self.native),
            false => text,
        }
    }

    /// The space of its flags on top of `level`, as it takes them: without those that it refuses or
    /// ignores, which are given as well.
    ///
    /// # Errors
    /// That it does not say, or compiles nothing.
    pub fn space(&self, level: &str, purpose: Purpose) -> Result<(Space, Vec<String>)> {
        let ask = |what: &[&str]| {
            Job::new("asking the compiler for its flags", &self.c)
                .args(what)
                .limit(LIMIT)
                .run_captured()
                .context("the compiler does not say which flags it has")
        };
        let space = match self.family {
            Family::Gcc => {
                let optimizers = ask(&["-Q", "--help=optimizers", level])?;
                let params = ask(&["-Q", "--help=params", level])?;
                gcc(GccLists { optimizers: &optimizers, params: &params }, level, purpose)
            }
            Family::Clang => clang(&ask(&["--help-hidden"])?, level, purpose),
        };
        let has_profiles = self.family == Family::Gcc || self.profdata.is_some();
        let space = space.only(|choice| has_profiles || choice.name != "-fprofile-use");
        self.accepted(space)
    }

    /// A space without options that the compiler refuses or ignores, and these options.
    ///
    /// # Errors
    /// That it compiles nothing.
    pub fn accepted(&self, space: Space) -> Result<(Space, Vec<String>)> {
        // Profiles are made by the build: without one, compilers say that it is not there.
        let asked = space.choices.iter().filter(|choice| choice.group != Group::Build);
        // A line of a kernel's configuration is none of the compiler's options.
        let options: Vec<String> = asked
            .flat_map(|choice| choice.options.clone())
            .filter(|option| !has_line(option))
            .collect();
        let refused = probing::refused(&self.c, &space.level, &options)?;
        let space = space.only_options(|option| !refused.contains(option));
        Ok((space, refused.into_iter().collect()))
    }
}

/// What a compiler makes programs with: SHA-256 of its libraries, and what its assembler and linker are.
fn parts(c: &Path) -> Result<Key> {
    let ask = |what: String| {
        let job = Job::new(format!("asking the compiler for {what}"), c).arg(what).limit(LIMIT);
        Ok::<_, ProcessError>(job.run_captured()?.trim().to_owned())
    };
    let mut key = Key::new("compiler-parts/1");
    for name in LIBRARIES {
        // Where it has none, it says the bare name.
        let path = PathBuf::from(ask(format!("-print-file-name={name}"))?);
        if path.is_absolute() {
            let bytes = Bytes::open(&path);
            let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
            key = key.bytes(name, &bytes);
        }
    }
    for name in PROGRAMS {
        let tool = ask(format!("-print-prog-name={name}"))?;
        let job = Job::new(format!("asking {tool} for its version"), tool).arg("--version");
        // clang needs no assembler.
        let said = job.limit(LIMIT).run_captured().unwrap_or_default();
        key = key.field(name, said.lines().next().unwrap_or_default());
    }
    Ok(key)
}

/// What `-march=native` stands for: a hash of what the compiler would start.
fn native(c: &Path) -> String {
    let line = "\"$0\" -march=native '-###' -S -x c /dev/null -o - 2>&1";
    let job = Job::new("asking the compiler for the processor", "/bin/sh");
    // clang names the folder that it runs in. One that does not know the option says so, each time the same.
    let said = job.args(["-c", line]).arg(c).dir("/").limit(LIMIT);
    let said = said.run_captured().unwrap_or_else(|error| error.to_string());
    hex::encode(&Sha256::digest(said)[..8])
}

/// The compiler for C++ that belongs to one for C.
fn cxx(c: &Path, family: Family) -> PathBuf {
    let name = c.file_name().unwrap_or_default().to_string_lossy();
    let other = match family {
        Family::Gcc => name.replace("gcc", "g++"),
        Family::Clang => name.replace("clang", "clang++"),
    };
    match c.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => folder.join(other),
        None => PathBuf::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_for_cxx_is_beside_that_for_c() {
        for (c, family, expected) in [
            ("/usr/bin/gcc-12", Family::Gcc, "/usr/bin/g++-12"),
            ("arm-linux-gnueabi-gcc", Family::Gcc, "arm-linux-gnueabi-g++"),
            ("/usr/bin/clang-22", Family::Clang, "/usr/bin/clang++-22"),
        ] {
            assert_eq!(cxx(Path::new(c), family), Path::new(expected));
        }
    }

    #[test]
    fn gcc_says_what_it_has_and_none_of_it_is_refused() {
        let compiler = Compiler::find("gcc").unwrap();
        assert_eq!(compiler.family, Family::Gcc);
        let (space, refused) = compiler.space("-O2", Purpose::Program).unwrap();
        assert!(space.len() > 150 && space.options() > 300, "{space}");
        let point = |option: &str| space.point(&[option]);
        assert!(point("-funroll-loops").is_some() && point("-ffast-math").is_none());
        assert!(refused.iter().all(|option| point(option).is_none()), "{refused:?}");
        assert!(probing::refused(&compiler.c, "-O2", &refused).unwrap().len() == refused.len());
    }

    #[test]
    fn trials_of_another_processor_or_c_library_have_other_names() {
        let compiler = Compiler::find("gcc").unwrap();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let name = |compiler: &Compiler, text: &str| compiler.trial(&words(text));
        let other = Compiler { native: "other".to_owned(), ..compiler.clone() };
        assert_eq!(name(&compiler, "-O2 -fweb"), "-O2 -fweb");
        assert_eq!(name(&other, "-O2 -march=x86-64-v3"), "-O2 -march=x86-64-v3");
        for flags in ["-O2 -march=native", "-O3 -mtune=native -fweb"] {
            assert!(name(&compiler, flags).starts_with(flags));
            assert_ne!(name(&compiler, flags), name(&other, flags));
        }
        let said = format!("{:?}", compiler.parts);
        for part in LIBRARIES.iter().chain(&PROGRAMS) {
            assert!(said.contains(&format!("{part:?}: \"")), "{part}: {said}");
        }
        let again = Compiler::find("gcc").unwrap();
        assert_eq!((&again.parts, &again.native), (&compiler.parts, &compiler.native));
    }

    #[test]
    fn what_is_no_compiler_is_said() {
        let error = Compiler::find("true").unwrap_err().to_string();
        assert!(error.contains("expected gcc or clang"), "{error}");
        assert!(Compiler::find("/no/such/gcc").is_err());
    }
}
