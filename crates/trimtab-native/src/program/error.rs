//! What can go wrong with a user's program.

use std::io as std_io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::native::NativeError;
use trimtab_lab::compile::CompileError;
use trimtab_lab::failure::Hint;
use trimtab_lab::process::ProcessError;

/// Why a program could not be built, run, traced or measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A command did not do its work.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The program could not be traced on the machine itself.
    #[error(transparent)]
    Native(#[from] NativeError),
    /// A traced run took too long.
    #[error("`{command}` took longer than its limit of {seconds} s, and was ended")]
    TimeOver {
        /// The command.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// One of our own helpers could not be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std_io::Error,
    },
    /// The program under trace or measurement ended with an error.
    #[error("`{command}` {how}, expected it to end with 0{said}")]
    Ended {
        /// The command.
        command: String,
        /// `ended with 3`, `was killed by signal 11 (SIGSEGV)`.
        how: String,
        /// Its last lines, or nothing.
        said: String,
    },
    /// The build ended with an error.
    #[error("the build `{command}` {how}{said}")]
    Build {
        /// The command.
        command: String,
        /// As for [`ProgramError::Ended`].
        how: String,
        /// The last lines of its log.
        said: String,
    },
    /// It has started too many processes.
    #[error(
        "`{command}` had {processes} processes at once, expected at most {most}, and was ended"
    )]
    Forks {
        /// The command.
        command: String,
        /// Processes found.
        processes: usize,
        /// The most.
        most: usize,
    },
    /// The run did not start the program.
    #[error("`{command}` did not run {}", program.display())]
    NotRun {
        /// The command.
        command: String,
        /// The program.
        program: PathBuf,
    },
    /// The emulator cannot load a plugin.
    #[error("{} was built without plugins: it refused the tracing plugin and said \"{said}\"", qemu.display())]
    NoPlugins {
        /// The emulator.
        qemu: PathBuf,
        /// What it said.
        said: String,
    },
    /// A file keeps pages in memory.
    #[error(
        "{} cannot be made cold: {pages} of its pages stay in memory, so some process still maps it",
        path.display()
    )]
    StaysWarm {
        /// The file.
        path: PathBuf,
        /// Pages left.
        pages: u64,
    },
    /// A helper wrote something else than was expected.
    #[error("{} holds no {what}: {found}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
        /// What is wrong with it.
        found: String,
    },
}

impl Hint for ProgramError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            ProgramError::Ended { .. } => {
                "run it by itself first; where its exit code means no error, add `|| true`".into()
            }
            ProgramError::Forks { .. }
            | ProgramError::Native(NativeError::TooManyProcesses { .. }) => {
                "give a command that ends by itself".into()
            }
            ProgramError::NotRun { .. } => {
                "let --run start that very file, by its path; --program names another one".into()
            }
            ProgramError::NoPlugins { .. } => {
                "use --tracer native, or a QEMU that was configured with --enable-plugins".into()
            }
            ProgramError::StaysWarm { .. } => "end the processes that run it".into(),
            ProgramError::File { source, .. } => {
                return trimtab_lab::workdir::no_space_hint(source);
            }
            ProgramError::TimeOver { .. }
            | ProgramError::Process(ProcessError::TimeLimit { .. }) => {
                "give a command that ends by itself; --limit gives it more time".into()
            }
            _ => return None,
        })
    }
}

/// An error of doing `action` to `path`.
pub(super) fn io<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(std_io::Error) -> ProgramError + 'a {
    move |source| ProgramError::File { action, path: path.to_owned(), source }
}
