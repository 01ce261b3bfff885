//! The compiler that is tuned, and what it offers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use trimtab_lab::failure::Failure;
use trimtab_lab::process::Job;
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
}

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
        Ok(Self { cxx: cxx(&c, family), c, family, version, profdata })
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
    fn what_is_no_compiler_is_said() {
        let error = Compiler::find("true").unwrap_err().to_string();
        assert!(error.contains("expected gcc or clang"), "{error}");
        assert!(Compiler::find("/no/such/gcc").is_err());
    }
}
