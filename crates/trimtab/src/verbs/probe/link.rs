//! `trimtab probe link`: stands in for the linker while `trimtab probe build` runs.

use std::ffi::OsString;

use clap::Args;

/// Links, with the inputs instrumented.
#[derive(Debug, Args)]
pub struct Options {
    /// The linker and its arguments
    #[arg(required = true, last = true, value_name = "LINKER")]
    pub command: Vec<OsString>,
}

/// Links.
///
/// # Errors
/// That the linker cannot be started.
pub fn run(options: &Options) -> anyhow::Result<()> {
    trimtab_probe::run::link(&options.command)
}
