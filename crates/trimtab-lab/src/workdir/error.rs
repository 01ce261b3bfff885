//! Why a work directory cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Hint;
use crate::place::PlaceError;
use thiserror::Error;

/// Why a work directory cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Another process works in it.
    #[error("another trimtab{} is working in {}", by(*process), path.display())]
    Busy {
        /// The work directory.
        path: PathBuf,
        /// Who; unknown where it has only just started.
        process: Option<u32>,
    },
    /// The directory holds something that is not ours.
    #[error("{} is not a work directory: it holds {found} and no .trimtab-lock", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first thing that is in it.
        found: String,
    },
    /// Others could have it written elsewhere.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Too little space to begin.
    #[error(
        "not enough space to {what}: {} has {:.1} GiB free, expected at least {:.1} GiB",
        path.display(), gib(*available), gib(*needed)
    )]
    NoSpace {
        /// What was to be done.
        what: String,
        /// Where.
        path: PathBuf,
        /// Bytes that are free.
        available: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// The name of a step cannot be the name of a directory.
    #[error("'{name}' cannot name a step: expected lower-case letters, digits and dashes")]
    Name {
        /// The name given.
        name: String,
    },
    /// The record of a step cannot be read.
    #[error("{} is damaged ({source}); remove the folder it is in", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Hint for WorkError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Place(PlaceError::Io { source, .. }) if is_denied(source) => ELSEWHERE,
            Self::Place(error) => return error.remedy(),
            Self::Busy { .. } => "wait for it to end, or give another directory with --work",
            Self::Foreign { .. } => "give an empty or a new directory with --work",
            Self::NoSpace { .. } => "free some space, or give a directory elsewhere with --work",
            Self::Io { source, .. } if is_denied(source) => ELSEWHERE,
            Self::Io { source, .. } => return no_space_hint(source),
            Self::Name { .. } | Self::Record { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// What to do where nothing may be written.
const ELSEWHERE: &str = "give a directory that you may write to with --work";

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// What to do where there was no space for a file.
pub fn no_space_hint(error: &io::Error) -> Option<String> {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
    .then(|| "free some space, then run the same command again: what is done is kept".to_owned())
}

/// Turns what the system said into an error that tells what was tried on what.
pub(super) fn io<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> WorkError + 'a {
    move |source| WorkError::Io { action, path: path.to_owned(), source }
}

fn by(process: Option<u32>) -> String {
    process.map(|id| format!(" (process {id})")).unwrap_or_default()
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}
