//! Compiles the few C sources that trimtab carries.

use crate::process::{Job, ProcessError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use thiserror::Error;

/// Why one of our own C programs could not be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The compiler did not do it.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Compiles `sources` (file name, text) with the compiler `cc` and `flags` to the file `output`,
/// which is either complete or not there. The result does not depend on where that is.
pub fn compile(
    purpose: &str,
    cc: &Path,
    sources: &[(&str, &str)],
    flags: &[&str],
    output: &Path,
) -> Result<(), CompileError> {
    let folder = output.parent().unwrap_or(Path::new("."));
    let write_error = |path: &Path, source| CompileError::Write { path: path.to_owned(), source };
    fs::create_dir_all(folder).map_err(|source| write_error(folder, source))?;
    // In the same file system as the output, so that a rename puts it in place.
    let scratch = tempfile::Builder::new()
        .prefix(".compile-")
        .tempdir_in(folder)
        .map_err(|source| write_error(folder, source))?;
    for (name, text) in sources {
        let path = scratch.path().join(name);
        fs::write(&path, text).map_err(|source| write_error(&path, source))?;
    }
    Job::new(purpose, cc)
        .tool("gcc")
        .args(flags)
        .args(sources.iter().map(|(name, _)| name).filter(|name| name.ends_with(".c")))
        .args(["-o", "output"])
        .dir(scratch.path())
        .limit(Duration::from_secs(120))
        .run()?;
    fs::rename(scratch.path().join("output"), output).map_err(|source| write_error(output, source))
}
