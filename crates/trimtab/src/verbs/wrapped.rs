//! What trimtab does in the place of other programs. Nobody types these: trimtab's own tools do.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use trimtab_native::program::{measure, wrap};

/// In the place of a linker.
#[derive(Debug, Args)]
pub struct Link {
    /// The folder of wrapped tools.
    folder: PathBuf,
    /// The linker's arguments.
    #[arg(last = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// In the place of a compiler.
#[derive(Debug, Args)]
pub struct Compile {
    /// The folder of wrapped tools.
    folder: PathBuf,
    /// The compiler.
    compiler: PathBuf,
    /// The compiler's arguments.
    #[arg(last = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Around a command that is measured.
#[derive(Debug, Args)]
pub struct Run {
    /// The folder with what is to be run, which also gets the result.
    task: PathBuf,
}

/// Links, and gives the linker's exit code.
pub fn link(options: &Link) -> u8 {
    match wrap::link(&options.folder, &options.arguments) {
        Ok(code) => code,
        Err(message) => failed(&message),
    }
}

/// Becomes the compiler; ends only where that is not possible.
pub fn compile(options: &Compile) -> u8 {
    match wrap::compile(&options.folder, &options.compiler, &options.arguments) {
        Ok(command) => {
            let error = command.exec();
            failed(&format!("cannot start {}: {error}", options.compiler.display()))
        }
        Err(message) => failed(&message),
    }
}

/// Runs and measures; gives the exit code.
pub fn run(options: &Run) -> u8 {
    match measure::child(&options.task) {
        Ok(()) => 0,
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> u8 {
    eprintln!("trimtab: {message}");
    1
}
