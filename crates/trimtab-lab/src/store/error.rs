//! Why the store cannot be used.

use std::path::{Path, PathBuf};

use crate::failure::Hint;
use crate::place::PlaceError;
use thiserror::Error;

/// Why the store cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no store.
    #[error("there are no experiments yet: {} does not exist", path.display())]
    Absent {
        /// Where it would be.
        path: PathBuf,
    },
    /// There is nothing in it.
    #[error("there are no experiments yet in {}", path.display())]
    Empty {
        /// The store.
        path: PathBuf,
    },
    /// No experiment has this number.
    #[error("there is no experiment {id} in {}", path.display())]
    NoSuch {
        /// The store.
        path: PathBuf,
        /// The number asked for.
        id: i64,
    },
    /// Where it is, others could have it written elsewhere.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// An SQLite file of another program.
    #[error("{} is not a store of experiments but the database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer trimtab wrote it.
    #[error(
        "{} was written by a newer trimtab: its schema is version {found}, expected {known} or older",
        path.display()
    )]
    TooNew {
        /// The store.
        path: PathBuf,
        /// Version of its schema.
        found: i64,
        /// The newest that this trimtab knows.
        known: i64,
    },
    /// A value is not what was stored.
    #[error("experiment {id} in {} is damaged: its {column} cannot be read", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The experiment.
        id: i64,
        /// What of it.
        column: &'static str,
    },
    /// A trial is not as it should be for what is to be stored of it.
    #[error("trial {id} in {} is {found}, expected {expected}", path.display())]
    Trial {
        /// The store.
        path: PathBuf,
        /// The trial.
        id: i64,
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A measured value is not a number.
    #[error("the value of {metric} cannot be stored: it is {value}, expected a finite number")]
    NoNumber {
        /// What was measured.
        metric: String,
        /// The value.
        value: f64,
    },
    /// The system does not say which process this is.
    #[error("the system does not say when this process began: {0}; is /proc mounted?")]
    Process(std::io::Error),
    /// An experiment cannot be written as JSON.
    #[error("the experiment cannot be stored: {0}")]
    Json(serde_json::Error),
    /// SQLite said no.
    #[error("{} could not be {action}: {source}", path.display())]
    Database {
        /// The store.
        path: PathBuf,
        /// What was tried: opened, read, written.
        action: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(super) fn database(path: &Path, action: &'static str, source: rusqlite::Error) -> Self {
        Self::Database { path: path.to_owned(), action, source }
    }
}

impl Hint for StoreError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Place(error) => return error.remedy(),
            Self::Absent { .. } => {
                "run trimtab fit kernel first, or name the directory that it worked in with --work"
            }
            Self::Empty { .. } => "run trimtab fit kernel first",
            Self::NoSuch { .. } => "trimtab report --list shows those that are there",
            Self::TooNew { .. } => "use that newer trimtab",
            Self::Foreign { .. } => "name the directory that trimtab worked in with --work",
            Self::Damaged { .. }
            | Self::Trial { .. }
            | Self::NoNumber { .. }
            | Self::Process(_)
            | Self::Json(_) => return None,
            Self::Database { source, .. } => match source.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => "free some space",
                Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                    "move the file away; the next experiment starts a new one"
                }
                _ => return None,
            },
        };
        Some(hint.to_owned())
    }
}
