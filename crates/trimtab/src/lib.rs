//! The command `trimtab`: arguments in, progress and results out. One file per verb, in [`verbs`];
//! what a verb does is in the crates that it calls.

pub mod arguments;
pub mod cli;
pub mod destination;
pub mod failure;
pub mod formats;
pub mod output;
pub mod progress;
pub mod verbs;

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use trimtab_lab::interrupt;

/// Parses the command line, does what it says, and reports how that went: 0 done, 1 failed, 2 bad
/// usage, 130 stopped by Ctrl-C.
pub fn run() -> ExitCode {
    let cli = cli::Cli::parse();
    if let Some(code) = cli.verb.run_wrapped() {
        return code.into();
    }
    progress::show(cli.detail());
    let done = interrupt::leave_on_signals()
        .context("cannot prepare for Ctrl-C")
        .and_then(|()| cli.verb.run());
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            interrupt::leave_if_stopping();
            failure::report(&error)
        }
    }
}
