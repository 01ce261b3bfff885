//! What is asked of a run.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trimtab_profile::Trace;

use super::starter::{Board, Starter};
use crate::search::Method;

/// What is tuned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Programs {
    /// A program of the catalogue, by its name.
    Catalogue(String),
    /// A program with a build of its own, in a folder of which copies are built.
    Own {
        /// The folder.
        folder: PathBuf,
        /// A command for a shell that builds it, with `$CC`, `$CXX`, `$CFLAGS`, `$CXXFLAGS` and
        /// `$LDFLAGS`.
        build: String,
        /// A command that runs it: what is made faster.
        run: String,
        /// Another, which judges what was made of the first.
        held_out: Option<String>,
        /// A command that fails where the program does not work.
        check: Option<String>,
        /// The file that is built, in the folder; none for the first word of `run`.
        program: Option<PathBuf>,
    },
}

/// Which objects of a program get the flags that are tried; all others are built at the level.
#[derive(Debug, Clone, PartialEq)]
pub enum Hot {
    /// The fewest with this share of what is executed of the program's own code, above 0 and up to 1.
    Share(f64),
    /// Those of these sources.
    Sources(Vec<PathBuf>),
}

/// What a build or a run may take: a set of flags that takes more fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time of a build.
    pub build: Duration,
    /// Time of a run, and of a check.
    pub run: Duration,
    /// Bytes of data that each of their processes may have.
    pub memory: u64,
}

/// What all sets of flags are evaluated with, whatever searches for them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The compiler: a name or path.
    pub compiler: String,
    /// The level that is tuned on top of: `-O2`.
    pub level: String,
    /// A file of flags in the place of the compiler's own lists: its name and its text.
    pub flags: Option<(String, String)>,
    /// Whether flags for this machine's processor, or newer processors than the compiler's default,
    /// are left out.
    pub portable: bool,
    /// The core whose cycles count, by its name among the [models](trimtab_layout::cost::CORES); instructions alone
    /// where there is none.
    pub core: Option<String>,
    /// What builds and runs may take.
    pub limits: Limits,
    /// Where to work, and where the table of what was tried is.
    pub work: PathBuf,
    /// Files that the one who asks reads or writes: in the program's folder they are no part of it.
    pub outside: Vec<PathBuf>,
    /// The command that repeats this, for the report.
    pub command: String,
}

/// How something is tuned.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How it is searched.
    pub method: Method,
    /// Distinct sets of flags that are tried, arms and ablation not counted.
    pub budget: usize,
    /// Seed of the search.
    pub seed: u64,
    /// Sets of flags that the search names at once, before it is told what came of them: the same search
    /// names others where it is told later.
    pub batch: usize,
    /// Most sets of flags that are evaluated to leave some out; none for as many as it takes.
    pub ablation: Option<usize>,
}

/// What to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is tuned.
    pub program: Programs,
    /// Which of its objects get the flags; all where nothing is said.
    pub hot: Option<Hot>,
    /// What is executed, by which these are found; a run in QEMU where there is none.
    pub hot_trace: Option<Trace>,
    /// What it is evaluated with.
    pub setup: Setup,
    /// How it is searched.
    pub plan: Plan,
    /// Rounds of interleaved runs that decide among the best, 0 for none.
    pub rounds: u32,
    /// The board on which the best are timed; this machine where there is none.
    pub time_on: Option<Board>,
    /// What starts workers, which build and count; this process does where there are none.
    pub workers: Option<Starter>,
}
