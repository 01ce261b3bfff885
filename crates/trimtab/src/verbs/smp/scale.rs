//! `trimtab smp scale`: how a workload gets faster with the number of CPUs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trimtab_smp::run::{Copies, MOST_CPUS, OwnWorkload, ScaleRequest, ScaleWorkload, scale};

use crate::arguments::{self, Outputs};
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
    /// How many copies run at the same time: a number, or `each` for one on each CPU [default: 1, of spin
    /// each]
    #[arg(long, value_name = "N", value_parser = copies)]
    pub copies: Option<Copies>,
    /// By how many instructions a CPU may be ahead of the slowest; the runs are repeated with half of it
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(2..=1_000_000_000))]
    pub quantum: u32,
    /// The guest's memory in MiB
    #[arg(long, value_name = "MIB", default_value = "256", value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub memory: u32,
    /// The kernel's configuration: tiny, lab, or a file; SMP is added to it
    #[arg(long, value_name = "NAME", default_value = "tiny")]
    pub config: String,
    /// The kernel's source [default: the newest installed source package]
    #[arg(long, value_name = "PATH")]
    pub source: Option<PathBuf>,
    /// QEMU's source, the .dsc file of Debian's package qemu [default: fetched by apt]
    #[arg(long, value_name = "FILE")]
    pub qemu_source: Option<PathBuf>,
    /// Where to work, and where what was built is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
    /// A program and its arguments, in which {} stands for the number of CPUs
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

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

/// `each`, or how many.
pub(super) fn copies(text: &str) -> Result<Copies, String> {
    match text.parse() {
        _ if text == "each" => Ok(Copies::Each),
        Ok(number @ 1..=64) => Ok(Copies::Fixed(number)),
        _ => Err("expected `each`, or a number from 1 to 64".to_owned()),
    }
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up, and a workload that fails.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let (workload, usual) = match options.command.as_slice() {
        [] => (ScaleWorkload::Own(options.workload.0), options.workload.0.copies()),
        words => (ScaleWorkload::Command(words.to_vec()), Copies::Fixed(1)),
    };
    let request = ScaleRequest {
        work: options.work.clone(),
        workload,
        copies: options.copies.unwrap_or(usual),
        cpus: options.cpus,
        quantum: options.quantum,
        qemu_source: options.qemu_source.clone(),
        kernel_source: options.source.clone(),
        config: options.config.clone(),
        memory_mib: options.memory,
        repetition: 0,
        command: trimtab_lab::shell::own_words().join(" "),
    };
    let found = scale(&request, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)
}
