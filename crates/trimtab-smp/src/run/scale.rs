//! Draws the curve of a workload: boots a guest with one CPU, two, and so on, where each CPU has a clock of
//! its own, and asks how long the workload took.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_report::Schema;
use trimtab_report::common::Repeat;

use super::guest::{BootOf, Copies, Guest, GuestRequest, KernelKind, MOST_CPUS, ScaleWorkload};
use crate::report::scale::{Halved, ScaleRun, SmpScale};

/// What to do.
#[derive(Debug, Clone)]
pub struct ScaleRequest {
    /// Where to work, and where what was built is kept.
    pub work: PathBuf,
    /// What runs in the guest.
    pub workload: ScaleWorkload,
    /// How often it runs at the same time.
    pub copies: Copies,
    /// CPUs of the largest machine, 1 to [`MOST_CPUS`].
    pub cpus: u32,
    /// By how many instructions a CPU may be ahead of the slowest: at least 2, since it is halved.
    pub quantum: u32,
    /// QEMU's source, a `.dsc` file; apt fetches it otherwise.
    pub qemu_source: Option<PathBuf>,
    /// The kernel's source; the newest package that is installed otherwise.
    pub kernel_source: Option<PathBuf>,
    /// The kernel's configuration: `tiny`, `lab`, or a file.
    pub config: String,
    /// The guest's memory in MiB.
    pub memory_mib: u32,
    /// Tells the same boots done again from the first, 0.
    pub repetition: u32,
    /// The command that repeats this, for the report.
    pub command: String,
}

impl ScaleRequest {
    /// The guest that it needs.
    pub fn guest(&self) -> GuestRequest<'_> {
        GuestRequest {
            workload: &self.workload,
            copies: self.copies,
            cpus: (1..=self.cpus).collect(),
            qemu_source: self.qemu_source.as_deref(),
            kernel_source: self.kernel_source.as_deref(),
            config: &self.config,
            kernel: KernelKind::default(),
        }
    }
}

/// Boots guests, two for each number of CPUs, and gives the curve.
///
/// # Errors
/// Missing tools, builds that fail, guests that do not come up, and a workload that fails.
pub fn scale(request: &ScaleRequest, observe: &dyn Observe) -> Result<SmpScale> {
    let start = Instant::now();
    if request.cpus == 0 || request.cpus > MOST_CPUS {
        bail!("a guest cannot have {} CPUs; expected 1 to {MOST_CPUS}", request.cpus);
    }
    let work = WorkDir::open(&request.work)?;
    let guest = Guest::build(&work, &request.guest(), observe)?;
    let mut runs: Vec<ScaleRun> = Vec::new();
    for cpus in 1..=request.cpus {
        let boot = |quantum| run(&guest, request, cpus, quantum, observe);
        let (whole, half) = (boot(request.quantum)?, boot(request.quantum / 2)?);
        // The first run is the one that the others are compared with.
        let (one, one_halved) =
            runs.first().map_or((&whole, half.nanoseconds), |one| (one, one.halved.nanoseconds));
        let work = f64::from(whole.copies) / f64::from(one.copies);
        let speedup = |one: u64, now: u64| work * one as f64 / now as f64;
        runs.push(ScaleRun {
            speedup: speedup(one.nanoseconds, whole.nanoseconds),
            halved: Halved {
                nanoseconds: half.nanoseconds,
                speedup: speedup(one_halved, half.nanoseconds),
                console: half.console,
                change: half.nanoseconds as f64 / whole.nanoseconds as f64 - 1.0,
                host_seconds: half.host_seconds,
            },
            ..whole
        });
    }
    Ok(SmpScale {
        schema: Schema::default(),
        workload: request.workload.name(),
        command: request.workload.words(),
        each: request.copies == Copies::Each,
        kernel: guest.kernel_version,
        qemu: guest.qemu_version,
        quantum: request.quantum,
        most_change: runs.iter().map(|run| run.halved.change.abs()).fold(0.0, f64::max),
        runs,
        seconds: start.elapsed().as_secs_f64(),
        repeat: Repeat {
            command: request.command.clone(),
            tool_versions: guest.versions,
            ..Repeat::default()
        },
    })
}

/// Boots it with so many CPUs and this quantum. What is known of one CPU is left for the caller.
fn run(
    guest: &Guest<'_>,
    request: &ScaleRequest,
    cpus: u32,
    quantum: u32,
    observe: &dyn Observe,
) -> Result<ScaleRun> {
    let (memory_mib, repetition) = (request.memory_mib, request.repetition);
    let asked = BootOf { cpus, quantum, memory_mib, repetition, arguments: Vec::new() };
    let ran = guest.run(&asked, observe)?;
    Ok(ScaleRun {
        cpus,
        copies: request.copies.on(cpus),
        nanoseconds: ran.nanoseconds,
        console: ran.console,
        host_seconds: ran.host_seconds,
        ..ScaleRun::default()
    })
}
