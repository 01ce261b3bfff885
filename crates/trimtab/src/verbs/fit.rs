//! `trimtab fit`: the whole job, from source to proof.

pub mod kernel;
pub mod program;

use std::path::Path;
use std::time::SystemTime;

use clap::Subcommand;
use trimtab_lab::store::{self, Experiment, Store};
use trimtab_report::model::Repeat;

/// What to fit.
#[derive(Debug, Subcommand)]
pub enum What {
    /// A kernel to its boot
    Kernel(kernel::Options),
    /// A program to its start-up
    Program(program::Options),
}

/// Keeps a result, as JSON, with what it takes to repeat it.
fn keep(work: &Path, verb: &str, repeat: &Repeat, result: &str) -> anyhow::Result<()> {
    let mut store = Store::open(&work.join(store::FILE))?;
    store.insert(&Experiment {
        finished: SystemTime::now(),
        verb: verb.to_owned(),
        command: std::env::args().collect(),
        tools: repeat.tool_versions.clone(),
        seed: Some(repeat.seed),
        hashes: repeat.inputs.clone(),
        result: serde_json::from_str(result)?,
    })?;
    Ok(())
}
