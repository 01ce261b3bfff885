//! What trimtab does in the place of other programs. Nobody types these: trimtab's own tools do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use trimtab_lab::debian;
use trimtab_lab::interpose::ruled;
use trimtab_lab::observe::say;
use trimtab_lab::process::Invocation;
use trimtab_lab::shell;
use trimtab_lab::workload;
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

/// In the place of a compiler, where single objects have flags of their own.
#[derive(Debug, Args)]
pub struct Flags {
    /// The folder of rules.
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

/// In the place of a script that fetches a program.
#[derive(Debug, Args)]
pub struct Prepare {
    /// The workload of the catalogue.
    name: String,
    /// The folder that gets its source.
    folder: PathBuf,
}

/// In the place of a script that fetches sources.
#[derive(Debug, Args)]
pub struct Source {
    /// The Debian package.
    package: String,
    /// The folder that gets its source.
    folder: PathBuf,
}

/// Fetches and unpacks the source of a Debian package, and prints where it is; gives the exit code.
pub fn source(options: &Source) -> u8 {
    match debian::source(&options.package, &options.folder) {
        Ok((place, _)) => {
            println!("{}", place.display());
            0
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Fetches and prepares the source of a workload, and prints for a shell where it is, and how it is
/// built and started; gives the exit code.
pub fn prepare(options: &Prepare) -> u8 {
    match prepared(options) {
        Ok(text) => {
            print!("{text}");
            0
        }
        Err(error) => failed(&format!("{error:#}")),
    }
}

fn prepared(options: &Prepare) -> anyhow::Result<String> {
    let all = workload::all()?;
    let found = all.iter().find(|workload| workload.name == options.name);
    let names = || {
        let started = all.iter().filter(|workload| workload.manifest.start.is_some());
        started.map(|workload| workload.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let found = found
        .with_context(|| format!("there is no program {}, expected {}", options.name, names()))?;
    let (place, start) = workload::prepare(found, &options.folder)?;
    let variables = [
        ("source", place.as_os_str()),
        ("build", start.build.as_ref()),
        ("program", start.program.as_ref()),
        ("linked", start.linked.as_deref().unwrap_or_default().as_ref()),
        ("run", start.run.as_ref()),
        ("held_out", start.held_out.as_ref()),
    ];
    let line = |(name, value): (&str, &OsStr)| format!("{name}={}\n", shell::quoted(value));
    Ok(variables.map(line).concat())
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
    let command = wrap::compile(&options.folder, &options.compiler, &options.arguments);
    become_compiler(&options.compiler, command)
}

/// Becomes the compiler, with the flags that it is to have; ends only where that is not possible.
pub fn flags(options: &Flags) -> u8 {
    let command = ruled(&options.folder, &options.compiler, &options.arguments);
    become_compiler(&options.compiler, command)
}

fn become_compiler(compiler: &Path, command: Result<Invocation, String>) -> u8 {
    match command {
        Ok(command) => {
            let error = command.exec();
            failed(&format!("cannot start {}: {error}", compiler.display()))
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
    say(&format!("trimtab: {message}"));
    1
}
