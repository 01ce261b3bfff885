//! What can be wrong with the catalogue.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::debian::SourceError;
use crate::process::ProcessError;

/// Why a workload cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// Its folder is badly named.
    #[error(
        "the workload {name:?} has a name that cannot be used, expected ASCII letters, digits, - and _"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A file is not in its folder.
    #[error("the workload {name} has no file {file} in its folder workloads/{name}")]
    Missing {
        /// The workload.
        name: String,
        /// The file.
        file: String,
    },
    /// A file is not UTF-8.
    #[error("{file} of the workload {name} is no text in UTF-8")]
    NoText {
        /// The workload.
        name: String,
        /// The file.
        file: String,
    },
    /// Nothing is known of its start.
    #[error(
        "the workload {name} has no start; expected the tables source and start in its manifest"
    )]
    NoStart {
        /// The workload.
        name: String,
    },
    /// Its source could not be fetched.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A command failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest is not TOML, or says something that is not known.
    #[error("the manifest of the workload {name} cannot be read: {source}")]
    Manifest {
        /// The workload.
        name: String,
        /// Where, and what was expected.
        source: Box<toml::de::Error>,
    },
    /// The manifest says something that cannot be.
    #[error("the manifest of the workload {name} {found}; expected {expected}")]
    Wrong {
        /// The workload.
        name: String,
        /// What it says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
}
