//! `trimtab swap sweep`: page faults for thresholds, placements, cache sizes and policies.

use std::path::PathBuf;

use crate::verbs::stored::StoreArguments;
use clap::Args;

use super::arguments::InputArguments;
use crate::arguments::Outputs;
use crate::progress::Progress;
use crate::{arguments, destination, output};
use trimtab_swap::run::sweep::{FRAMES, Range, THRESHOLDS, sweep};

/// Counts the page faults that traces would cause, for each threshold, placement, cache size and
/// policy of replacement, and the memory that each threshold takes: the figures 4 to 8 of the paper
/// that the method is from, for this kernel.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: which threshold pays, on a boot that made the plan and on one that did not?

    trimtab swap sweep vmlinux --map vmlinux.map --trace boot.stream --held-out files.stream \\
        --html sweep.html")]
pub struct Options {
    /// The kernel and what ran.
    #[command(flatten)]
    pub inputs: InputArguments,
    /// A stream of this very build by which plans are only judged
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub held_out: Vec<PathBuf>,
    /// Shares of all executed instructions that stay in memory
    #[arg(
        long, value_name = "SHARE,...", value_delimiter = ',', value_parser = arguments::share,
        default_values_t = THRESHOLDS
    )]
    pub thresholds: Vec<f64>,
    /// Page frames of the cache
    #[arg(
        long, value_name = "N,...", value_delimiter = ',', default_values_t = FRAMES,
        value_parser = clap::value_parser!(u32).range(2..=65536)
    )]
    pub frames: Vec<u32>,
    /// The threshold at which policies of replacement are compared
    #[arg(long, value_name = "SHARE", default_value = "0.999", value_parser = arguments::share)]
    pub policy_threshold: f64,
    /// Seed of random replacement
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Sweeps.
///
/// # Errors
/// Files that cannot be read or written, traces of another build.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let range = Range {
        thresholds: &options.thresholds,
        frames: &options.frames,
        policy_threshold: options.policy_threshold,
        seed: options.seed,
    };
    let found = sweep(&options.inputs.inputs(), &options.held_out, range, &Progress::new())?;
    options.kept.keep(&found)?;
    output::report(&options.outputs, &found)
}
