//! What can go wrong with a process, said so that a person can act on it.

use crate::tools::install;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// Why a job did not do its work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The program is not on this machine.
    #[error("{purpose} needs the program `{tool}`, which was not found; {}", remedy(tool, *packages))]
    NotFound {
        /// What it was for.
        purpose: String,
        /// The name or path that was looked for.
        tool: String,
        /// The Debian packages that have it, where the table of tools knows them.
        packages: Option<&'static [&'static str]>,
    },
    /// The folder to run in is not there.
    #[error("{purpose} should run in {}, which is not a folder", path.display())]
    Directory {
        /// What it was for.
        purpose: String,
        /// The folder.
        path: PathBuf,
    },
    /// The system did not start it.
    #[error("{purpose} failed: the system did not start `{tool}`: {source}")]
    Start {
        /// What it was for.
        purpose: String,
        /// The program.
        tool: String,
        /// Why.
        source: io::Error,
    },
    /// Its log cannot be written.
    #[error("{purpose} failed: cannot write its log {}: {source}", path.display())]
    Log {
        /// What it was for.
        purpose: String,
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file for its output cannot be written.
    #[error("{purpose} failed: cannot write its output to {}: {source}", path.display())]
    Output {
        /// What it was for.
        purpose: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It ended with an error.
    #[error("{purpose} failed: `{tool}` ended with {status}{tail}")]
    Failed {
        /// What it was for.
        purpose: String,
        /// The program.
        tool: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said last.
        tail: Tail,
    },
    /// It was killed because its time was over.
    #[error(
        "{purpose} took longer than its limit of {:.0} s, and `{tool}` was ended{tail}",
        limit.as_secs_f64()
    )]
    TimeLimit {
        /// What it was for.
        purpose: String,
        /// The program.
        tool: String,
        /// The limit.
        limit: Duration,
        /// What it said last.
        tail: Tail,
    },
    /// trimtab was asked to end.
    #[error("{purpose} was interrupted; what it started has been ended")]
    Interrupted {
        /// What it was for.
        purpose: String,
    },
    /// The disk is full.
    #[error("{purpose} failed: no space is left on the disk; make room and run it again{tail}")]
    NoSpace {
        /// What it was for.
        purpose: String,
        /// What it said last.
        tail: Tail,
    },
    /// The system's own bookkeeping failed.
    #[error("{purpose} failed: cannot wait for `{tool}`: {source}")]
    Wait {
        /// What it was for.
        purpose: String,
        /// The program.
        tool: String,
        /// Why.
        source: io::Error,
    },
}

fn remedy(tool: &str, packages: Option<&[&str]>) -> String {
    match packages {
        Some(packages) => install::advice(packages),
        // The system says the same of both.
        None if tool.contains('/') => {
            "no file has this name, or the interpreter or loader that the file asks for is missing"
                .to_owned()
        }
        None => "install it, or say where it is".to_owned(),
    }
}

/// The last lines of a log, for a message.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    /// The lines, oldest first, without control characters.
    pub lines: Vec<String>,
    /// Where the whole log is, if it was kept.
    pub log: Option<PathBuf>,
}

impl Tail {
    const LINES: usize = 20;
    const BYTES: u64 = 16 << 10;

    /// Reads the end of `file`. Whatever cannot be read is left out: this is for a message about
    /// something else.
    pub fn read(file: &mut File, log: Option<PathBuf>) -> Self {
        let mut bytes = Vec::new();
        let size = file.seek(SeekFrom::End(0)).unwrap_or(0);
        let start = size.saturating_sub(Self::BYTES);
        if file.seek(SeekFrom::Start(start)).is_ok() {
            let _ = file.take(Self::BYTES).read_to_end(&mut bytes);
        }
        Self::new(&String::from_utf8_lossy(&bytes), log)
    }

    /// The last lines of `text`.
    pub fn new(text: &str, log: Option<PathBuf>) -> Self {
        let mut lines: Vec<String> = text
            .lines()
            .map(|line| line.chars().filter(|c| !c.is_control()).take(400).collect::<String>())
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines.drain(..lines.len().saturating_sub(Self::LINES));
        Tail { lines, log }
    }

    /// Whether it says that the disk is full.
    pub fn says_no_space(&self) -> bool {
        self.lines.iter().any(|line| {
            line.contains("No space left on device") || line.contains("Disk quota exceeded")
        })
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.log, self.lines.is_empty()) {
            (None, true) => write!(f, "; it said nothing"),
            (None, false) => write!(f, "; it said last:"),
            (Some(log), true) => write!(f, "; its log {} is empty", log.display()),
            (Some(log), false) => write!(f, "; the last lines of its log {}:", log.display()),
        }?;
        for line in &self.lines {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}
