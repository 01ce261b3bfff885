//! `trimtab worker`: does jobs for another trimtab, which starts it. Nobody types this.

use std::path::PathBuf;

use clap::Args;
use trimtab_tune::run::work;

/// Whose jobs.
#[derive(Debug, Args)]
pub struct Options {
    /// The spool's folder.
    folder: PathBuf,
    /// The worker's name.
    name: String,
}

/// Works.
///
/// # Errors
/// What keeps it from working at all; what keeps it from a job is said to whoever gave the job.
pub fn run(options: &Options) -> anyhow::Result<()> {
    work(&options.folder, &options.name)
}
