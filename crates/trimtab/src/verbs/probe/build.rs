//! `trimtab probe build`: a build of someone else's, instrumented.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use trimtab_probe::run::{self as probe, BuildRequest, BuildSummary};

use super::arguments::ChoiceArguments;
use super::summary;
use crate::{destination, output};
use trimtab_lab::failure::Failure;

/// Runs a build with stand-ins for the compilers and linkers in front of it. When a program is
/// linked, the objects and archives of the build are instrumented on the way; the files themselves
/// stay as they are. Shared libraries are linked as ever.
///
/// What was built before must be linked again: remove the programs first, or run `make clean`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: profile a program that make builds

    trimtab probe build -- make
    ./app
    trimtab probe report trimtab-probe.out")]
pub struct Options {
    /// Which functions, and what for.
    #[command(flatten)]
    pub choice: ChoiceArguments,
    /// The C compiler that compiles the run time
    #[arg(long, value_name = "CC", default_value = "cc")]
    pub cc: PathBuf,
    /// Also write the result as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The command that builds
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Builds.
///
/// # Errors
/// A build that fails, or in which nothing was instrumented.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.json.as_deref()])?;
    let plan = options.choice.choice().plan(&options.cc)?;
    let request = BuildRequest {
        plan,
        cc: options.cc.clone(),
        command: options.command.clone(),
        trimtab: env::current_exe().context("cannot find trimtab itself")?,
    };
    let BuildSummary { report, programs } = probe::build(&request)?;
    let name = options.command.first().map(|name| name.display().to_string()).unwrap_or_default();
    if let Some(file) = &options.json {
        output::json(&report, file)?;
    }
    if programs == 0 {
        return Err(Failure::new(format!("{name} linked no program through a known compiler"))
            .hint("remove the programs that were built before, so that they are linked again")
            .hint(
                "compilers and linkers are known by their names (cc, gcc, clang, ld, ld.lld and the \
                 like), found in PATH; a build that starts one by its whole path goes past them",
            )
            .into());
    }
    if report.functions.instrumented == 0 {
        return Err(Failure::new("no function was instrumented")
            .hint("--json FILE says why for each function")
            .into());
    }
    output::print(&summary::render(&report))
}
