//! What can go wrong with tracing a program.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a program could not be traced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NativeError {
    /// There is no such program.
    #[error("there is no program `{program}`; give its path, or a name that is in PATH")]
    NotFound {
        /// The name or path that was given.
        program: String,
    },
    /// The system did not start it.
    #[error("the system did not start `{program}`: {source}")]
    Start {
        /// The name or path that was given.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The system does not let us trace.
    #[error(
        "the system does not let trimtab trace its own child: {source}; expected that \
         kernel.yama.ptrace_scope is at most 1, and that no container or debugger forbids ptrace"
    )]
    Refused {
        /// Why.
        source: io::Error,
    },
    /// The file for the program's output cannot be written.
    #[error("cannot write the program's output to {}: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program has nothing that could be watched.
    #[error("{} cannot be traced: {why}", path.display())]
    Unfit {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It started too many processes.
    #[error(
        "the program had more than {limit} processes at once, so all of them were ended; does it \
         start itself again and again?"
    )]
    TooManyProcesses {
        /// How many are allowed.
        limit: usize,
    },
    /// trimtab was asked to end.
    #[error("tracing was interrupted; all processes of the program have been ended")]
    Interrupted,
    /// A call of the system failed that does not fail on a sound system.
    #[error("tracing failed: cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}
