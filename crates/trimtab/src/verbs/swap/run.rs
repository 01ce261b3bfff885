//! `trimtab swap run`: a kernel with its cold code swapped out, and what that costs.

use std::path::PathBuf;

use crate::verbs::stored;
use clap::{Args, ValueEnum};

use super::arguments::Grain;
use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::doctor::kernels;
use crate::{destination, output};
use trimtab_lab::failure::Failure;
use trimtab_report::Report;
use trimtab_swap::run::{self as swap, Backing, Request};

/// Builds a kernel that swaps its cold code out, plans by what the workloads run, links it by the
/// plan, runs the workloads with and without swapping, and compares.
///
/// A run that was stopped, by whatever, is resumed by the same command.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: how much memory does a small kernel need if its cold code lies in flash, and what does it cost?

    trimtab swap run --config tiny --html swap.html")]
pub struct Options {
    /// The kernel's source.
    #[arg(
        long, value_name = "TARBALL|DSC|DIR",
        help = format!(
            "Kernel source {}: a tarball, a Debian source package (.dsc), a directory, or \
             REPOSITORY@REVISION of git; it is copied and not changed \
             [default: the newest supported /usr/src/linux-source-*.tar.xz]",
            kernels::series(kernels::SWAP)
        )
    )]
    pub source: Option<PathBuf>,
    /// Kernel configuration: tiny (builds fast), lab (virtio, ext4, network, PCI, ACPI), or a file;
    /// less what does not work with swapping
    #[arg(long, value_name = "tiny|lab|FILE", default_value = "lab")]
    pub config: String,
    /// A static busybox for the guest [default: the one installed]
    #[arg(long, value_name = "FILE")]
    pub busybox: Option<PathBuf>,
    /// Where to build, and to keep what a later run can use again
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// How finely code is taken apart: functions, or hot, warm and frozen parts of them
    #[arg(long, value_name = "WHAT", default_value = "block")]
    pub granularity: Grain,
    /// Share of all executed instructions that stays in memory, above 0, at most 1
    #[arg(long, value_name = "SHARE", default_value = "0.999", value_parser = arguments::share)]
    pub threshold: f64,
    /// Share of all code that may stay in memory, with the cache: where the threshold leaves room,
    /// what would be loaded most often stays, too; 0: only what the threshold says
    #[arg(long, value_name = "SHARE", default_value = "0.149", value_parser = arguments::share)]
    pub room: f64,
    /// Page frames of the cache; at least 4 for each CPU
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=1024))]
    pub frames: u32,
    /// Which page is evicted when another is needed
    #[arg(long, value_name = "NAME", default_value = "nru")]
    pub policy: Policy,
    /// Where swapped code is kept
    #[arg(long, value_name = "NAME", default_value = "flash")]
    pub store: Store,
    /// Microseconds that reading a page of the store takes at least [default: 442 for flash, 0 for
    /// lz4]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub latency: Option<u32>,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    pub cpus: u32,
    /// A workload to run; can be given again [default: all of them]
    #[arg(long, value_name = "NAME")]
    pub workload: Vec<String>,
    /// A workload that is run and that the plan knows nothing of; can be given again [default: none]
    #[arg(long, value_name = "NAME")]
    pub held_out: Vec<String>,
    /// Seconds of system time that each workload is run for, at 2 ns an instruction: it is run again
    /// until it took so much; 0: once
    #[arg(long, value_name = "SECONDS", default_value_t = 7.0, value_parser = seconds)]
    pub seconds: f64,
    /// Milliseconds after which the self-test swaps everything out; 0: no self-test
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub selftest: u32,
    /// Repeat the self-test, with each policy and store in turn, until there were so many page faults; 0:
    /// do not
    #[arg(long, value_name = "FAULTS", default_value_t = 0)]
    pub soak: u64,
    /// Build a kernel that checks its own locks, contexts and lists, and has the driver's tests
    #[arg(long)]
    pub debug_kernel: bool,
    /// Also count page faults for other thresholds, placements, cache sizes and policies, as trimtab swap
    /// sweep does, for the report's figures
    #[arg(long)]
    pub sweep: bool,
    /// The least share of each trace that has to be found in the kernel, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

fn seconds(text: &str) -> Result<f64, String> {
    let found: Option<f64> = text.parse().ok();
    found
        .filter(|seconds| (0.0..=1000.0).contains(seconds))
        .ok_or_else(|| "expected a number from 0 to 1000".to_owned())
}

/// Which page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// Round robin
    Rr,
    /// Any
    Random,
    /// Not recently used
    Nru,
}

/// Where swapped code is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// Memory-mapped flash: takes no memory, and its time
    Flash,
    /// In memory, compressed
    Lz4,
}

impl Options {
    fn request(&self) -> Request {
        Request {
            source: self.source.clone(),
            config: self.config.clone(),
            busybox: self.busybox.clone(),
            work: self.work.clone(),
            granularity: self.granularity.into(),
            threshold: self.threshold,
            room: self.room,
            frames: self.frames,
            policy: match self.policy {
                Policy::Rr => swap::Policy::RoundRobin,
                Policy::Random => swap::Policy::Random,
                Policy::Nru => swap::Policy::NotRecentlyUsed,
            },
            store: match self.store {
                Store::Flash => Backing::Flash,
                Store::Lz4 => Backing::Lz4,
            },
            latency: self.latency,
            cpus: self.cpus,
            workload: self.workload.clone(),
            held_out: self.held_out.clone(),
            seconds: self.seconds,
            selftest: self.selftest,
            soak: self.soak,
            debug: self.debug_kernel,
            sweep: self.sweep,
            min_coverage: self.min_coverage,
        }
    }
}

/// Runs.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a guest that does not come up; and what
/// must hold and does not.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let found = swap::run(&options.request(), &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)?;
    match found.failures().as_slice() {
        [] => Ok(()),
        broken => Err(Failure::new(format!(
            "the kernel ran with code swapped out, but not everything holds: {}",
            broken.join("; ")
        ))
        .into()),
    }
}
