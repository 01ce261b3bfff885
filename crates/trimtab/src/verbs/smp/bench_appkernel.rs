//! `trimtab smp bench-appkernel`: the application kernel in guests.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use trimtab_appkernel::run::{self, Request};
use trimtab_report::Report;

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};

/// Boots a kernel without SMP on a machine with several CPUs, runs threads on those that it does not know,
/// tests that they find everything the same there, and counts what system calls and page faults cost.
#[derive(Debug, Args)]
pub struct Options {
    /// CPUs of the guest; Linux has one of them
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(2..=16))]
    pub cpus: u32,
    /// Repeat calls, signals and ends of processes 10^7, 10^5 and 10^4 times; takes long
    #[arg(long)]
    pub stress: bool,
    /// Where to work, and where what was built is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up, and a test that fails.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = Request {
        work: options.work.clone(),
        cpus: options.cpus,
        stress: options.stress,
        others: Vec::new(),
    };
    let found = run::run(&request, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)?;
    match found.failures().as_slice() {
        [] => Ok(()),
        broken => bail!("not everything holds: {}", broken.join("; ")),
    }
}
