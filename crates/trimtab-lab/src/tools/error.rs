//! Why a tool cannot be used.

use std::path::PathBuf;

use thiserror::Error;

use super::{Version, install};
use crate::failure::Hint;

/// Why a tool cannot be used. What to install is not part of the message: see
/// [`ToolError::install`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ToolError {
    /// None of the candidates is there.
    #[error("{name} is missing: looked for {looked_for}")]
    Missing {
        /// Name in the table of tools.
        name: String,
        /// The candidates, joined by commas.
        looked_for: String,
        /// Debian packages that hold it.
        packages: Vec<String>,
    },
    /// All that was found is older than what is needed.
    #[error("{name} is too old: {} is version {found}, expected {minimum} or newer", path.display())]
    TooOld {
        /// Name in the table of tools.
        name: String,
        /// The newest that was found.
        path: PathBuf,
        /// Its version.
        found: Version,
        /// The oldest that works.
        minimum: Version,
        /// Debian packages that hold a newer one.
        packages: Vec<String>,
    },
    /// It is there but does not say its version: broken, or something else of the same name.
    #[error(
        "{name} does not work: {} was asked for its version and said \"{said}\"; \
         expected at least {minimum}",
        path.display()
    )]
    NoVersion {
        /// Name in the table of tools.
        name: String,
        /// What was asked.
        path: PathBuf,
        /// The first line of its answer, or why there was none.
        said: String,
        /// The oldest that works.
        minimum: Version,
        /// Debian packages to install again.
        packages: Vec<String>,
    },
    /// There are LLVM tools, but no version of which all are there.
    #[error("no complete set of LLVM tools of version {minimum} or newer: {problem}")]
    Llvm {
        /// What is missing from the set that comes closest.
        problem: String,
        /// The oldest major version that works.
        minimum: u32,
        /// Debian packages that complete the set.
        packages: Vec<String>,
    },
    /// The name is not in the table.
    #[error("there is no tool '{name}' in the table of tools")]
    Unknown {
        /// The name asked for.
        name: String,
    },
}

impl ToolError {
    /// The command, to be run as root, that installs what is missing.
    pub fn install(&self) -> Option<String> {
        match self {
            Self::Missing { packages, .. }
            | Self::TooOld { packages, .. }
            | Self::NoVersion { packages, .. }
            | Self::Llvm { packages, .. } => Some(install::command(packages)),
            Self::Unknown { .. } => None,
        }
    }
}

impl Hint for ToolError {
    fn hint(&self) -> Option<String> {
        self.install().map(|command| install::hint(&command))
    }
}
