//! `trimtab smp scale`: how a workload gets faster with the number of CPUs.

use clap::{Args, ValueEnum};
use trimtab_smp::run::{MOST_CPUS, OwnWorkload, ScaleRequest, scale};

use super::guest::GuestOptions;
use crate::arguments::Outputs;
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};

/// Runs a workload in a guest with one CPU, two, and so on, and says how much faster it gets. Each CPU of
/// the guest has a clock of its own, which counts the instructions that it executes, so it does not matter
/// how many CPUs this machine has, and two runs give the same.
///
/// The workload is one of ours, or a program of this machine, which gets into the guest with its libraries.
/// QEMU is built from Debian's source with a patch, once; `./setup --for clock` installs what that needs.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: processes that share nothing, on up to 8 CPUs

    trimtab smp scale

Example: a program of yours, which is told how many threads to start

    trimtab smp scale --cpus 4 -- ./sort --threads {} --size 100000")]
pub struct Options {
    /// A workload of ours
    #[arg(long, value_name = "NAME", default_value = "spin", conflicts_with = "command")]
    pub workload: OwnWorkloadName,
    /// CPUs of the largest machine
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CPUS)))]
    pub cpus: u32,
    /// The guest.
    #[command(flatten)]
    pub guest: GuestOptions,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// By how many instructions a CPU may be ahead of the slowest.
const QUANTUM: u32 = 1000;

/// [`OwnWorkload`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnWorkloadName(OwnWorkload);

impl ValueEnum for OwnWorkloadName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [OwnWorkloadName; OwnWorkload::SCALE.len()] = {
            let mut all = [OwnWorkloadName(OwnWorkload::Spin); OwnWorkload::SCALE.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = OwnWorkloadName(OwnWorkload::SCALE[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(self.0.name().into())
    }
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up, and a workload that fails.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let setup = options.guest.setup(options.workload.0, QUANTUM);
    let request = ScaleRequest { setup, cpus: options.cpus };
    let found = scale(&request, &Progress::new())?;
    stored::keep(&options.guest.work, &found)?;
    output::report(&options.outputs, &found)
}
