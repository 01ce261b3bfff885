//! What is asked of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::search::Method;

/// What is tuned.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// How long something may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A build.
    pub build: Duration,
    /// A run, and a check.
    pub run: Duration,
}

/// What to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is tuned.
    pub program: Programs,
    /// The compiler: a name or path.
    pub compiler: String,
    /// The level that is tuned on top of: `-O2`.
    pub level: String,
    /// The text of a file of flags and its name, in the place of the compiler's own lists.
    pub flags: Option<(String, String)>,
    /// Whether flags for this machine's processor, or newer processors than the compiler's default,
    /// are left out.
    pub portable: bool,
    /// How it is searched.
    pub method: Method,
    /// Distinct sets of flags that are tried, arms and ablation not counted.
    pub budget: usize,
    /// Seed of the search.
    pub seed: u64,
    /// Rounds of interleaved runs that decide among the best, 0 for none.
    pub rounds: u32,
    /// How long builds and runs may take.
    pub limits: Limits,
    /// Where to work, and where the table of what was tried is.
    pub work: PathBuf,
    /// Files that the one who asks writes: they are no part of the program's folder.
    pub written: Vec<PathBuf>,
    /// The command that repeats this, for the report.
    pub command: String,
}
