//! What is asked of a run.

use std::path::PathBuf;

/// What to do.
#[derive(Debug, Clone)]
pub struct StudyRequest {
    /// The trees: folders, tarballs, `.dsc` files, or `REPOSITORY@REVISION`. None for the newest
    /// installed source package.
    pub trees: Vec<PathBuf>,
    /// How many folders deep directories are told apart.
    pub depth: usize,
    /// Where trees are unpacked that are no folders.
    pub work: PathBuf,
    /// The command that repeats this, for the report.
    pub command: String,
}
