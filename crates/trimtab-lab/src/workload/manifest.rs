//! What a workload's manifest says.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::WorkloadError;

/// A manifest: `workload.toml`.
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
}

/// How a guest runs a workload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// The file of its folder that holds the script, for busybox's `sh`.
    pub script: String,
    /// Programs of this machine that the script needs beside busybox.
    #[serde(default)]
    pub programs: Vec<GuestProgram>,
}

/// A program of this machine that guests get as well.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestProgram {
    /// Where it is.
    pub path: PathBuf,
    /// The Debian package that has it.
    pub package: String,
}

impl GuestProgram {
    /// Its name, which is also that of its tool.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The rank of a workload that names none.
fn last() -> u32 {
    1000
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
        let wrong = |found: String, expected| {
            Err(WorkloadError::Wrong { name: name.to_owned(), found, expected })
        };
        let Some(guest) = &manifest.guest else {
            return wrong("says nowhere where it runs".to_owned(), "a table guest");
        };
        if Path::new(&guest.script).components().count() != 1 {
            let found = format!("has its script in {}", guest.script);
            return wrong(found, "the name of a file in its folder");
        }
        for program in &guest.programs {
            if !program.path.is_absolute() || program.name().is_empty() {
                let found =
                    format!("names a program: {} is no absolute path", program.path.display());
                return wrong(found, "one such as /usr/bin/cjpeg");
            }
            if program.package.is_empty() {
                let found = format!("names no package for {}", program.path.display());
                return wrong(found, "the Debian package that has it");
            }
        }
        Ok(manifest)
    }
}
