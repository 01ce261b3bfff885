//! What trimtab does in the place of other programs. Nobody types these: trimtab's own tools do.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use trimtab_lab::program::{measure, wrap};

/// In the place of a linker.
#[derive(Debug, Args)]
pub struct Link {
    /// The folder of wrapped tools.
    folder: PathBuf,
    /// The linker's arguments.
    #[arg(last = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Around a command that is measured.
#[derive(Debug, Args)]
pub struct Run {
    /// Where the result goes.
    result: PathBuf,
    /// The command.
    #[arg(last = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Links, and gives the linker's exit code.
pub fn link(options: &Link) -> i32 {
    match wrap::link(&options.folder, &options.arguments) {
        Ok(code) => code.into(),
        Err(message) => failed(&message),
    }
}

/// Runs and measures; gives the exit code.
pub fn run(options: &Run) -> i32 {
    match measure::child(&options.result, &options.command) {
        Ok(()) => 0,
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> i32 {
    eprintln!("trimtab: {message}");
    1
}
