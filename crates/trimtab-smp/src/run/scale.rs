//! Draws the curve of a workload: boots a guest with one CPU, two, and so on, where each CPU has a clock of
//! its own, and asks how long the workload took.

use std::time::Instant;

use anyhow::{Result, bail};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_report::Schema;
use trimtab_report::common::Repeat;

use super::guest::{Copies, Guest, GuestRequest, GuestSetup, KernelKind, MOST_CPUS};
use crate::report::scale::{Halved, ScaleRun, SmpScale};

/// What to do.
#[derive(Debug, Clone)]
pub struct ScaleRequest {
    /// What runs, and on what.
    pub setup: GuestSetup,
    /// CPUs of the largest machine, 1 to [`MOST_CPUS`].
    pub cpus: u32,
}

impl ScaleRequest {
    /// The guest that it needs.
    pub fn guest(&self) -> GuestRequest<'_> {
        let cpus = (1..=self.cpus).collect();
        self.setup.guest(&self.setup.workload, cpus, KernelKind::default())
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
    let work = WorkDir::open(&request.setup.work)?;
    let guest = Guest::build(&work, &request.guest(), observe)?;
    let mut runs: Vec<ScaleRun> = Vec::new();
    for cpus in 1..=request.cpus {
        let boot = |quantum| run(&guest, request, cpus, quantum, observe);
        let (whole, half) = (boot(request.setup.quantum)?, boot(request.setup.quantum / 2)?);
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
        workload: request.setup.workload.name(),
        command: request.setup.workload.words(),
        each: request.setup.copies == Copies::Each,
        kernel: guest.kernel_version,
        qemu: guest.qemu_version,
        quantum: request.setup.quantum,
        most_change: runs.iter().map(|run| run.halved.change.abs()).fold(0.0, f64::max),
        runs,
        seconds: start.elapsed().as_secs_f64(),
        repeat: Repeat {
            command: request.setup.command.clone(),
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
    let ran = guest.run(&request.setup.boot_of(cpus, quantum, Vec::new()), observe)?;
    Ok(ScaleRun {
        cpus,
        copies: request.setup.copies.on(cpus),
        nanoseconds: ran.nanoseconds,
        console: ran.console,
        host_seconds: ran.host_seconds,
        ..ScaleRun::default()
    })
}
