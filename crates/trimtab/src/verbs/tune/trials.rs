//! `trimtab tune trials`: what was tried, from one machine to another.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use trimtab_tune::run::{export_trials, import_trials, leave_out};

use super::text_of;
use crate::{arguments, output};

/// Writes the table of what was tried into a file, or adds a file's trials to it. So a long search goes on
/// on another machine, or starts with what a colleague has tried: what is known is neither built nor run. The same
/// trials are meant only where source, compiler and guest are the same, so others do no harm.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: go on with the search for a kernel's flags on another machine

    trimtab tune trials --work work/demo --export trials.jsonl
    trimtab tune trials --work work/demo --import trials.jsonl     (there)")]
pub struct Options {
    /// The directory whose store has the table
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Write all trials that have ended to FILE
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "import",
        conflicts_with = "import"
    )]
    pub export: Option<PathBuf>,
    /// Add the trials of FILE
    #[arg(long, value_name = "FILE")]
    pub import: Option<PathBuf>,
}

/// Writes or reads.
///
/// # Errors
/// That there is no table, the file is none of trials, or one of both cannot be read or written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(file) = &options.import {
        let imported = import_trials(&options.work, &text_of(file)?)
            .with_context(|| format!("cannot import {}", file.display()))?;
        let (added, known) = (imported.added, imported.known);
        return output::print(&format!("{added} trials added; {known} were there\n"));
    }
    let Some(file) = &options.export else { return Ok(()) };
    let (text, count) = export_trials(&options.work)?;
    output::whole(file, &text)?;
    leave_out(&options.work, file)?;
    output::print(&format!("{count} trials written to {}\n", file.display()))
}
