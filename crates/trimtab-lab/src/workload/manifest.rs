//! What a workload's manifest says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::WorkloadError;

/// A manifest: `workload.toml`. At least one of its tables says how the workload is run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What the workload does, in a line.
    pub summary: String,
    /// Where it comes in lists: by rank, then by name.
    #[serde(default = "last")]
    pub rank: u32,
    /// How a guest runs it, where guests do.
    pub guest: Option<Guest>,
    /// How it loads the disk and the page cache of a guest, where it does.
    pub load: Option<DiskLoad>,
    /// Where its source is from, where that is not its folder alone.
    pub source: Option<Source>,
    /// How this machine compiles and runs it as one program, where it does.
    pub program: Option<Program>,
    /// How it is built by its own build and started, where its start is fitted.
    pub start: Option<Start>,
    /// Many starts of it that differ, where orders are compared on those.
    pub starts: Option<Starts>,
    /// The source's own tests, where they are run.
    pub tests: Option<Tests>,
}

/// How a guest runs a workload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// The file of its folder that holds the script, for busybox's `sh`.
    pub script: String,
    /// Programs of this machine that the script needs beside busybox.
    #[serde(default)]
    pub programs: Vec<GuestFile>,
}

/// How a workload loads the disk and the page cache of a guest, round after round.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskLoad {
    /// The file of its folder that holds the script, for busybox's `sh`. It runs in a folder of its own on the disk:
    /// with the argument `prepare` once, which makes what it reads, and with `run` for each round.
    pub script: String,
    /// The most that its files take of the disk, in MiB.
    pub mib: u32,
    /// Programs of this machine that the script needs beside busybox.
    #[serde(default)]
    pub programs: Vec<GuestFile>,
    /// Files and folders of this machine that these read.
    #[serde(default)]
    pub files: Vec<GuestFile>,
}

/// A program, a file or a folder of this machine that guests get as well.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestFile {
    /// Where it is.
    pub path: PathBuf,
    /// The Debian package that has it.
    pub package: String,
}

impl GuestFile {
    /// Its name, which for a program is also that of its tool.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Where a source is from: Debian or a registry of crates.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The Debian source package; see [`debian`](crate::debian).
    pub debian: Option<String>,
    /// The crate, which cargo fetches.
    #[serde(rename = "crate")]
    pub crate_name: Option<String>,
    /// The crate's version.
    pub version: Option<String>,
}

/// How a program is built by its own build and started.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The folder of the source where the commands run.
    #[serde(default = "here")]
    pub folder: String,
    /// Files of the workload's folder that are put there.
    #[serde(default)]
    pub own: Vec<String>,
    /// A command for a shell that prepares the source once.
    pub prepare: Option<String>,
    /// A command for a shell that builds the program. It compiles by `$CC` and `$CXX` and takes flags
    /// from `$EXTRA_CFLAGS` and `$EXTRA_RUSTFLAGS`.
    pub build: String,
    /// The file that it builds.
    pub program: String,
    /// Other files that hold the program, as a pattern of a shell: the build links it again once they
    /// are gone, too.
    pub linked: Option<String>,
    /// A command that starts it.
    pub run: String,
    /// Another, which judges what was made of the first.
    pub held_out: String,
}

/// Starts of a program that differ from each other: what orders are made from, and judged by.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Starts {
    /// The program of this machine, as `PATH` finds it; without it, the one that `start` builds.
    pub program: Option<String>,
    /// Files of the workload's folder that are put where it runs.
    #[serde(default)]
    pub own: Vec<String>,
    /// Variables of its environment; `@` stands for the folder where it runs.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Flags for the compiler, where `start` builds it.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The arguments of each start; `@program` stands for the program's own path.
    pub runs: Vec<Vec<String>>,
}

/// A program in C or C++ that one command compiles from its sources.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its language.
    #[serde(default)]
    pub language: Language,
    /// Files of the source to compile: names, or `*` and an ending, each in one folder of it.
    #[serde(default)]
    pub files: Vec<String>,
    /// Names of files that the patterns have too many.
    #[serde(default)]
    pub except: Vec<String>,
    /// Files of the workload's folder that are put where the program is compiled and run; those in C
    /// and C++ are compiled with it.
    #[serde(default)]
    pub own: Vec<String>,
    /// Flags of the compiler, which runs in that place; `@` stands for the source's folder.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Libraries, as the compiler takes them.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Files that are made there before it runs, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, Input>,
    /// Arguments of a run.
    pub run: Vec<String>,
    /// Arguments of a run that does the same, but much less of it.
    pub small: Vec<String>,
    /// The file that a run writes there, besides what it prints.
    pub writes: Option<String>,
    /// A command for a shell there that fails where the program, `./program`, does not work.
    pub check: Option<String>,
}

/// A language that programs are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Language {
    /// C.
    #[default]
    #[serde(rename = "C")]
    C,
    /// C++.
    #[serde(rename = "C++")]
    Cxx,
}

/// What an input is made of; the same each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Input {
    /// So many bytes of words, to be compressed.
    Words(usize),
    /// So many functions in C, to be compiled.
    Functions(usize),
}

/// The tests that a source brings along.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// The folder of the source where the commands run.
    #[serde(default = "here")]
    pub folder: String,
    /// A command for a shell that builds the tests.
    pub build: String,
    /// A command for a shell that runs them, and fails where one does.
    pub run: String,
}

/// The rank of a workload that names none.
fn last() -> u32 {
    1000
}

fn here() -> String {
    ".".to_owned()
}

impl Manifest {
    /// Reads the manifest of the workload `name`.
    ///
    /// # Errors
    /// [`WorkloadError::Manifest`] and [`WorkloadError::Wrong`].
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, WorkloadError> {
        let manifest: Manifest = toml::from_str(text).map_err(|source| {
            WorkloadError::Manifest { name: name.to_owned(), source: source.into() }
        })?;
        match manifest.wrong() {
            Some((found, expected)) => {
                Err(WorkloadError::Wrong { name: name.to_owned(), found, expected })
            }
            None => Ok(manifest),
        }
    }

    /// Files of its folder that it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let script = self.guest.iter().map(|guest| &guest.script);
        let own = self.program.iter().flat_map(|program| &program.own);
        let start = self.start.iter().flat_map(|start| &start.own);
        let starts = self.starts.iter().flat_map(|starts| &starts.own);
        let load = self.load.iter().map(|load| &load.script);
        script.chain(load).chain(own).chain(start).chain(starts).map(String::as_str)
    }

    /// The same of its starts.
    fn wrong_starts(&self) -> Option<(String, &'static str)> {
        let starts = self.starts.as_ref()?;
        if starts.program.is_none() && self.start.is_none() {
            return Some(("says nowhere what starts".into(), "starts.program, or a table start"));
        }
        if starts.runs.len() < 2 {
            let expected = "two or more, to leave one out in turn";
            return Some(("has too few starts.runs".into(), expected));
        }
        None
    }

    /// The same of programs and files of this machine that guests get.
    fn wrong_programs(&self) -> Option<(String, &'static str)> {
        let of_guest = self.guest.iter().flat_map(|guest| &guest.programs);
        let of_load = self.load.iter().flat_map(|load| &load.programs);
        let read = self.load.iter().flat_map(|load| &load.files);
        for file in of_guest.chain(of_load).chain(read) {
            let path = file.path.display();
            if !file.path.is_absolute() || file.name().is_empty() {
                let found = format!("names a program or file: {path} is no absolute path");
                return Some((found, "one such as /usr/bin/cjpeg"));
            }
            if file.package.is_empty() {
                return Some((
                    format!("names no package for {path}"),
                    "the Debian package that has it",
                ));
            }
        }
        None
    }

    /// What it says that cannot be, and what was expected.
    fn wrong(&self) -> Option<(String, &'static str)> {
        if self.guest.is_none()
            && self.load.is_none()
            && self.program.is_none()
            && self.start.is_none()
            && self.starts.is_none()
            && self.tests.is_none()
        {
            let expected = "a table guest, load, program, start, starts or tests";
            return Some(("says nowhere how it is run".into(), expected));
        }
        if let Some(source) = &self.source {
            let parts = [&source.debian, &source.crate_name, &source.version].map(Option::is_some);
            if parts != [true, false, false] && parts != [false, true, true] {
                let expected = "debian, or crate and version";
                return Some(("does not say where its source is from".into(), expected));
            }
        }
        let from_elsewhere = |program: &Program| !program.files.is_empty();
        if self.source.is_none()
            && (self.tests.is_some()
                || self.start.is_some()
                || self.program.as_ref().is_some_and(from_elsewhere))
        {
            return Some(("names files of a source and no source".into(), "a table source"));
        }
        if let Some(wrong) = self.wrong_starts() {
            return Some(wrong);
        }
        if let Some(program) = &self.program
            && program.files.is_empty()
            && program.own.is_empty()
        {
            return Some(("names nothing to compile".into(), "program.files or program.own"));
        }
        for file in self.files() {
            if Path::new(file).components().count() != 1 {
                return Some((format!("names {file:?}"), "the name of a file in its folder"));
            }
        }
        self.wrong_programs()
    }
}
