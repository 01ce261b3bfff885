//! `trimtab man-pages`: a manual page for each verb, for `man`.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};

use crate::cli::Cli;

/// Writes a manual page for each verb into a folder.
#[derive(Debug, Args)]
pub struct Options {
    /// The folder, which is there already
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Writes them.
///
/// # Errors
/// That a page cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let folder = &options.folder;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))
}
