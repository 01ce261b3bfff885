//! `trimtab compare`: what each algorithm's order costs, on traces that made it and on others.

use std::path::PathBuf;

use clap::Args;
use trimtab_fit::CompareRequest;
use trimtab_fit::compare::compare;

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored::StoreArguments;
use crate::{destination, formats, output};

/// Puts the orders of all algorithms through all cost models: on the traces that they were made
/// from, and on traces that were held out.
///
/// The program is read and not changed; where pieces would lie is computed as a linker places them.
/// Where LLVM 19 or newer is there, `llvm-profdata order` takes part.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: which order is best for a start-up that nobody has seen?

    trimtab compare app --map app.map --trace one.trace --trace two.trace --held-out three.trace")]
pub struct Options {
    /// The linked program with its symbols; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// A trace of this very build that orders are made from; the first is the run to make fast
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub trace: Vec<PathBuf>,
    /// A trace of this very build that orders are only judged by
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub held_out: Vec<PathBuf>,
    /// Leave each trace out in turn: make orders from all others, and judge them by it
    #[arg(long, conflicts_with = "held_out")]
    pub leave_one_out: bool,
    /// The linker's map of the program: gives what the linker moved exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Only this algorithm, and those of further --algorithm: one that trimtab order
    /// --list-algorithms lists, or llvm-profdata
    #[arg(long, value_name = "NAME", num_args = 1)]
    pub algorithm: Vec<String>,
    /// Pages of code that memory has room for, in the model of demand paging [default: half of what
    /// the first trace needs at least]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frames: Option<u32>,
    /// Seed of random choices: the shuffled order, and random replacement
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The least share of each trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Compares.
///
/// # Errors
/// Files that cannot be read or written, the trace of another build, an unknown algorithm.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let report = compare(&request(options), &Progress::new())?;
    options.kept.keep(&report)?;
    output::report(&options.outputs, &report)
}

fn request(options: &Options) -> CompareRequest {
    CompareRequest {
        program: options.program.clone(),
        training: options.trace.clone(),
        held_out: options.held_out.clone(),
        leave_one_out: options.leave_one_out,
        map: options.map.clone(),
        algorithms: options.algorithm.clone(),
        frames: options.frames,
        seed: options.seed,
        min_coverage: options.min_coverage,
        formats: formats::ALL,
    }
}
