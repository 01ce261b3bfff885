//! Dyninst, which puts hooks into linked programs: where it is, and what it makes of one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::process::Job;

use crate::variants::{Executable, Workshop};
use trimtab_lab::failure::Failure;
use trimtab_lab::workload::programs::write_if_new;

/// What instruments: Dyninst is a library.
const REWRITER: &str = include_str!("../../../probe/bench/dyninst.cpp");
/// The variable of the environment that names the folder where Dyninst is installed.
const VARIABLE: &str = "DYNINST";
/// Where headers and libraries are below such a folder.
const HEADERS: [&str; 2] = ["include", "include/dyninst"];
const LIBRARIES: [&str; 4] = ["lib", "lib64", "lib/x86_64-linux-gnu", "lib64/dyninst"];
/// What Dyninst's programs load as they start.
const RUN_TIME: &str = "libdyninstAPI_RT.so";

/// Where Dyninst is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dyninst {
    headers: PathBuf,
    libraries: PathBuf,
}

impl Dyninst {
    /// Looks where the environment says, and only there; without that in `folders`, in this order.
    ///
    /// # Errors
    /// That it is not where the environment says.
    pub fn find(
        environment: Option<OsString>,
        folders: &[PathBuf],
    ) -> Result<Option<Self>, Failure> {
        match environment.filter(|folder| !folder.is_empty()).map(PathBuf::from) {
            None => Ok(folders.iter().find_map(|folder| Self::at(folder))),
            Some(folder) => Self::at(&folder).map(Some).ok_or_else(|| {
                let message = format!(
                    "{VARIABLE} is {}, where Dyninst's BPatch.h and {RUN_TIME} were expected",
                    folder.display()
                );
                Failure::usage(message).hint("bench/dyninst FOLDER builds and installs Dyninst")
            }),
        }
    }

    /// As [`Dyninst::find`], with the environment and folders of this process; `work` is where it
    /// works.
    ///
    /// # Errors
    /// As there.
    pub fn installed(work: &Path) -> Result<Option<Self>, Failure> {
        let folders =
            [work.join("dyninst"), "work/dyninst".into(), "/usr/local".into(), "/usr".into()];
        Self::find(std::env::var_os(VARIABLE), &folders)
    }

    fn at(folder: &Path) -> Option<Self> {
        let folder = std::path::absolute(folder).ok()?;
        let with = |names: &[&str], file: &str| {
            names.iter().map(|name| folder.join(name)).find(|place| place.join(file).exists())
        };
        Some(Self { headers: with(&HEADERS, "BPatch.h")?, libraries: with(&LIBRARIES, RUN_TIME)? })
    }

    /// Its version, as its headers tell it.
    pub fn version(&self) -> Option<String> {
        let text = fs::read_to_string(self.headers.join("dyninstversion.h")).ok()?;
        let part = |name: &str| {
            let define = format!("#define DYNINST_{name}_VERSION ");
            text.lines().find_map(|line| line.strip_prefix(&define)).map(str::trim)
        };
        Some(format!("{}.{}.{}", part("MAJOR")?, part("MINOR")?, part("PATCH")?))
    }
}

/// The program that has Dyninst put hooks into others.
#[derive(Debug, Clone)]
pub struct Rewriter {
    program: PathBuf,
    libraries: PathBuf,
}

impl Rewriter {
    /// Compiles it in `folder`, an absolute path.
    ///
    /// # Errors
    /// That it cannot be compiled or linked.
    pub fn build(dyninst: &Dyninst, compiler: &Path, folder: &Path) -> anyhow::Result<Self> {
        let source = folder.join("dyninst.cpp");
        write_if_new(&source, REWRITER)?;
        let rewriter =
            Self { program: folder.join("dyninst"), libraries: dyninst.libraries.clone() };
        Job::new("compiling what has Dyninst instrument programs", compiler)
            .tool("g++")
            .args(["-std=c++14", "-O2", "-w"])
            .arg("-I")
            .arg(&dyninst.headers)
            .arg(&source)
            .arg("-o")
            .arg(&rewriter.program)
            .arg("-L")
            .arg(&rewriter.libraries)
            .arg(rewriter.link_flag())
            .args(["dyninstAPI", "parseAPI", "instructionAPI", "symtabAPI", "common"].map(library))
            .run()?;
        Ok(rewriter)
    }

    /// What a program is linked with so that it finds Dyninst's run time.
    pub fn link_flag(&self) -> String {
        format!("-Wl,-rpath,{}", self.libraries.display())
    }

    /// Puts the hook into a set of functions of a program: what it is called, and their names, each
    /// once. Before, it puts one there that counts; what comes of both has to do what is expected.
    ///
    /// # Errors
    /// That Dyninst cannot do it, or does something else.
    pub fn rewrite(
        &self,
        shop: &Workshop<'_>,
        target: &Executable,
        (set, functions): (&str, &[String]),
        expected: &Expectation,
    ) -> anyhow::Result<Rewrite> {
        let names = shop.folder.join(format!("{set}.txt"));
        write_if_new(&names, &functions.join("\n"))?;
        let rewrite = |hook: &str| -> anyhow::Result<Rewrite> {
            let linked = Executable(shop.folder.join(format!("dyninst-{hook}-{set}.bin")));
            let told = Job::new("rewriting the program", &self.program)
                .dir(shop.folder)
                .env("DYNINSTAPI_RT_LIB", self.libraries.join(RUN_TIME))
                .arg(hook)
                .args([&names, &target.0, &linked.0])
                .run_captured()?;
            let left_alone = functions.iter().filter(|name| told.lines().any(|l| l == *name));
            Ok(Rewrite { left_alone: left_alone.cloned().collect(), linked })
        };
        let counting = rewrite("count")?;
        let file = shop.folder.join("dyninst.count");
        write_if_new(&file, "")?;
        let environment = [("HOOKS_FILE".to_owned(), file.clone().into_os_string())];
        expected.check_output(&shop.observe(&counting.linked, &environment)?)?;
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        expected.check_calls(&counting.with_hook(functions), &Counts::parse(&text))?;
        let rewritten = rewrite("value")?;
        expected.check_output(&shop.observe(&rewritten.linked, &[])?)?;
        Ok(rewritten)
    }
}

/// What Dyninst made of a program.
#[derive(Debug)]
pub struct Rewrite {
    /// The program.
    pub linked: Executable,
    /// Functions that it cannot instrument.
    pub left_alone: Vec<String>,
}

impl Rewrite {
    /// Those functions that have the hook, with the places of their numbers.
    fn with_hook<'a>(&self, functions: &'a [String]) -> Vec<(usize, &'a str)> {
        let all = functions.iter().map(String::as_str).enumerate();
        all.filter(|(_, name)| !self.left_alone.iter().any(|left| left == name)).collect()
    }
}

/// What a program does, and an instrumented one has to do, too.
#[derive(Debug)]
pub struct Expectation {
    /// All that it prints and writes.
    pub output: Vec<u8>,
    /// Calls and returns of each function, in two runs: not all programs do the same twice.
    pub calls: [BTreeMap<String, (u64, u64)>; 2],
}

impl Expectation {
    fn check_output(&self, found: &[u8]) -> Result<(), Failure> {
        match found == self.output {
            true => Ok(()),
            false => Err(Failure::new("the program prints or writes something else than before")),
        }
    }

    /// Checks that the hook ran at each entry and exit of these functions. It may run more often:
    /// for Dyninst, a function that ends with a jump to its own beginning is left and entered anew.
    /// It runs at no exit of calls that never return, as of what calls `exit`, or is jumped out of.
    fn check_calls(&self, functions: &[(usize, &str)], counts: &Counts) -> Result<(), Failure> {
        for (place, name) in functions {
            let (entered, left) = counts.0.get(place).copied().unwrap_or_default();
            let [one, other] =
                self.calls.each_ref().map(|run| run.get(*name).copied().unwrap_or_default());
            let least = if one.0 == other.0 { one.0 } else { one.0.min(1) };
            let stays = [one, other].map(|(calls, returns)| calls.saturating_sub(returns));
            let stayed = entered.checked_sub(left);
            if entered < least || stayed.is_none_or(|stayed| stayed > stays[0].max(stays[1])) {
                return Err(Failure::new(format!(
                    "in {name} the hook ran {entered} times at entries and {left} times at exits, \
                     where {} calls and {} returns were counted",
                    one.0, one.1
                )));
            }
        }
        Ok(())
    }
}

/// How often a hook ran, at entries and at exits, by the place of a function.
#[derive(Debug)]
struct Counts(BTreeMap<usize, (u64, u64)>);

impl Counts {
    /// Reads what a program wrote whose hook counts; lines of another kind are passed over.
    fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let place = words.next()?.parse().ok()?;
            Some((place, (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
        };
        Self(text.lines().filter_map(line).collect())
    }
}

fn library(name: &str) -> String {
    format!("-l{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path, headers: &str, libraries: &str) {
        for (place, file, text) in [
            (headers, "BPatch.h", ""),
            (
                headers,
                "dyninstversion.h",
                "#if X\n#define DYNINST_MAJOR_VERSION 13\n#define DYNINST_MINOR_VERSION 0\n\
                 #define DYNINST_PATCH_VERSION 2 \n#endif\n",
            ),
            (libraries, RUN_TIME, ""),
        ] {
            fs::create_dir_all(folder.join(place)).unwrap();
            fs::write(folder.join(place).join(file), text).unwrap();
        }
    }

    #[test]
    fn the_environment_comes_first_and_what_it_says_must_be_there() {
        let [named, usual, empty] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        install(named.path(), "include", "lib");
        install(usual.path(), "include/dyninst", "lib64");
        let folders = [empty.path().to_owned(), usual.path().to_owned()];
        let find = |variable: Option<&Path>| {
            Dyninst::find(variable.map(|path| path.as_os_str().to_owned()), &folders)
        };
        let found = find(Some(named.path())).unwrap().unwrap();
        assert_eq!(found.libraries, named.path().join("lib"));
        assert_eq!(found.version().unwrap(), "13.0.2");
        let found = find(None).unwrap().unwrap();
        assert_eq!(found.headers, usual.path().join("include/dyninst"));
        assert_eq!(find(Some(Path::new(""))).unwrap(), Some(found));
        let error = find(Some(empty.path())).unwrap_err().to_string();
        assert!(error.starts_with("DYNINST is ") && error.contains("BPatch.h"), "{error}");
        assert_eq!(Dyninst::find(None, &folders[..1]).unwrap(), None);
    }

    fn expected(calls: [&[(&str, u64)]; 2]) -> Expectation {
        let map = |run: &[(&str, u64)]| {
            run.iter().map(|&(name, calls)| (name.to_owned(), (calls, calls))).collect()
        };
        Expectation { output: b"1\n".to_vec(), calls: calls.map(map) }
    }

    #[test]
    fn a_hook_has_to_run_at_all_entries_and_exits() {
        let expected = expected([&[("steady", 5), ("other", 7)], &[("steady", 5), ("other", 9)]]);
        let check =
            |text: &str| expected.check_calls(&[(0, "steady"), (2, "other")], &Counts::parse(text));
        for right in ["0 5 5\n2 8 8\n", "0 5 5\n1 3 0\n2 1 1\n", "0 6 6\n2 9 9"] {
            assert!(check(right).is_ok(), "{right}");
        }
        for wrong in ["0 5 5\n", "0 4 4\n2 8 8", "0 5 4\n2 8 8\n", "0 5 5\n2 8 x\n", ""] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        let error = check("0 6 4\n").unwrap_err().to_string();
        assert!(error.contains("in steady the hook ran 6 times at entries and 4"), "{error}");
    }

    #[test]
    fn calls_that_never_return_have_no_exit() {
        let run = || BTreeMap::from([("main".to_owned(), (1, 0)), ("jumps".to_owned(), (9, 6))]);
        let expected = Expectation { output: Vec::new(), calls: [run(), run()] };
        let check =
            |text: &str| expected.check_calls(&[(0, "main"), (1, "jumps")], &Counts::parse(text));
        for right in ["0 1 0\n1 9 6\n", "0 1 1\n1 9 7\n", "0 1 0\n1 12 9\n"] {
            assert!(check(right).is_ok(), "{right}");
        }
        for wrong in ["0 1 0\n1 9 5\n", "0 1 2\n1 9 6\n", "0 0 0\n1 9 6\n"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn functions_left_alone_have_no_hook_and_others_keep_their_places() {
        let functions = ["a", "b", "c"].map(str::to_owned);
        let rewritten =
            Rewrite { linked: Executable(PathBuf::new()), left_alone: vec!["b".to_owned()] };
        assert_eq!(rewritten.with_hook(&functions), [(0, "a"), (2, "c")]);
    }

    #[test]
    fn other_output_is_told() {
        let expected = expected([&[], &[]]);
        assert!(expected.check_output(b"1\n").is_ok());
        assert!(expected.check_output(b"2\n").is_err());
    }
}
