//! `trimtab smp locks`: how a workload gets faster with the number of CPUs, by kinds of locks.

use clap::{Args, ValueEnum};
use trimtab_smp::LockMode;
use trimtab_smp::run::{LocksRequest, MOST_CPUS, OwnWorkload, locks};

use super::guest::GuestOptions;
use crate::arguments::Outputs;
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};

/// Runs a workload on one kernel with one lock around it, with a lock for each subsystem, and with its own
/// locks alone, each on one CPU, two, and so on; and says how much faster it gets, how much of the time is in
/// programs, in the kernel and waiting, and what the model of `trimtab smp predict` makes of it.
///
/// The locks are a patch of the kernel. Each CPU of the guest has a clock of its own, which counts the
/// instructions that it executes; `./setup --for clock` installs what building such a QEMU needs.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a workload that is 36 % of its time in the kernel, on 1, 2, 4 and 8 CPUs

    trimtab smp locks

Example: calls of all subsystems, with one lock and with one for each

    trimtab smp locks --workload mix --modes giant,coarse --cpus 2,4

Example: what it changes that interrupts take the lock of the kernel, too

    trimtab smp locks --modes giant,giant-irq

Example: a program of yours, which is told how many threads to start

    trimtab smp locks -- ./server --threads {}")]
pub struct Options {
    /// A workload of ours
    #[arg(long, value_name = "NAME", default_value = "dial", conflicts_with = "command")]
    pub workload: LocksWorkloadName,
    /// Which part of the time dial and step are in the kernel, in percent
    #[arg(long, value_name = "PERCENT", default_value = "36", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub share: u32,
    /// Numbers of CPUs, with commas between them
    #[arg(long, value_name = "LIST", default_value = "1,2,4,8", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CPUS)))]
    pub cpus: Vec<u32>,
    /// Kinds of locks, with commas between them
    #[arg(long, value_name = "LIST", default_value = "giant,coarse,fine", value_delimiter = ',')]
    pub modes: Vec<ModeName>,
    /// Build a kernel that checks its own locks, contexts and lists, and fail if it finds anything; it is far slower
    #[arg(long)]
    pub debug_kernel: bool,
    /// The guest.
    #[command(flatten)]
    pub guest: GuestOptions,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// By how many instructions a CPU may be ahead of the slowest: locks are held for few of them.
const QUANTUM: u32 = 200;

/// [`OwnWorkload`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocksWorkloadName(OwnWorkload);

impl ValueEnum for LocksWorkloadName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [LocksWorkloadName; OwnWorkload::ALL.len()] = {
            let mut all = [LocksWorkloadName(OwnWorkload::Spin); OwnWorkload::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = LocksWorkloadName(OwnWorkload::ALL[at]);
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

/// [`LockMode`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeName(LockMode);

impl ValueEnum for ModeName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ModeName; LockMode::ALL.len()] = {
            let mut all = [ModeName(LockMode::Fine); LockMode::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = ModeName(LockMode::ALL[at]);
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
/// Missing tools, guests that do not come up or wait for ever, and a workload that fails.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let mut modes: Vec<LockMode> = Vec::new();
    for ModeName(mode) in &options.modes {
        if !modes.contains(mode) {
            modes.push(*mode);
        }
    }
    let request = LocksRequest {
        setup: options.guest.setup(options.workload.0, QUANTUM),
        percent: options.share,
        cpus: options.cpus.clone(),
        modes,
        debug_kernel: options.debug_kernel,
    };
    let found = locks(&request, &Progress::new())?;
    stored::keep(&options.guest.work, &found)?;
    output::report(&options.outputs, &found)
}
