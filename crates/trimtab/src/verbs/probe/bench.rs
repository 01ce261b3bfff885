//! `trimtab probe bench`: what instrumentation costs, beside others.

use std::path::PathBuf;
use std::str::FromStr;

use crate::verbs::stored;
use clap::Args;
use trimtab_bench::{Program, Request, programs};

use crate::arguments::{self, Outputs};
use crate::output;
use crate::progress::Progress;

/// Builds programs from Debian's sources, instruments them, and measures what that costs: beside
/// the plain programs, hooks inline, -finstrument-functions, clang's XRay, uftrace, frida and Dyninst,
/// as far as they are there. Then runs the test suites of some programs with every function instrumented.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the whole comparison, as a page

    trimtab probe bench --json bench.json --html bench.html

Example: a quick look

    trimtab probe bench --quick --only fib --only lua --rounds 3 --no-suites")]
pub struct Options {
    /// Only these programs; may be given several times
    #[arg(long, value_name = "PROGRAM", value_parser = ProgramArgument::from_str)]
    pub only: Vec<ProgramArgument>,
    /// Runs of each program in each way
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(2..))]
    pub rounds: u32,
    /// Leave out what takes most of the time: tracing every event, and frida
    #[arg(long)]
    pub quick: bool,
    /// Do not count instructions and misses with valgrind
    #[arg(long)]
    pub no_simulation: bool,
    /// Do not run the test suites
    #[arg(long)]
    pub no_suites: bool,
    /// Where to work; sources are kept there
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// A program that can be measured, by its name.
#[derive(Debug, Clone, Copy)]
pub struct ProgramArgument(&'static Program);

impl FromStr for ProgramArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let programs = programs().map_err(|error| error.to_string())?;
        programs.iter().find(|program| program.name == text).map(Self).ok_or_else(|| {
            let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// Measures.
///
/// # Errors
/// What cannot be fetched, built or run. Targets that are missed are no error: they are in the
/// result.
pub fn run(options: &Options) -> anyhow::Result<()> {
    crate::destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = Request {
        programs: options.only.iter().map(|named| named.0).collect(),
        rounds: options.rounds,
        quick: options.quick,
        simulate: !options.no_simulation,
        suites: !options.no_suites,
        work: options.work.clone(),
        command: trimtab_lab::shell::own_words().join(" "),
    };
    let found = trimtab_bench::bench(&request, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)
}
