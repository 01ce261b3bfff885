//! Runs a workload on one kernel with locks of three kinds, on one CPU, two, and so on, and says where the time
//! goes.

mod calls;
mod lock_cost;
mod model;

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::boot::BootError;
use trimtab_machine::calls::wrong;
use trimtab_report::Schema;
use trimtab_report::common::Repeat;

use super::guest::{
    BootOf, Copies, Guest, GuestRequest, GuestSetup, KernelKind, MOST_CPUS, OwnWorkload, Ran,
    ScaleWorkload,
};
use crate::counted::{Counted, Place};
use crate::extrapolate;
use crate::feature::{GIANT, WITH_LOCKS};
use crate::mode::LockMode;
use crate::report::locks::{LocksRun, ModelError, SmpLocks};

/// As `smp cost` compiles `tiny`: for speed, and with the allocator that is usual.
const LINES: &str = "CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y\n# CONFIG_SLUB_TINY is not set\n";
/// After so many milliseconds of its own time, a guest that waits for a lock says who has it, and ends.
const LIMIT_MS: u32 = 500;
/// The number to which [a dial](OwnWorkload::has_dial) counts where it is calibrated.
const FIRST_COUNT: u64 = 20_000;
const NANOSECONDS: f64 = 1e9;

/// What to do.
#[derive(Debug, Clone)]
pub struct LocksRequest {
    /// What runs, and on what.
    pub setup: GuestSetup,
    /// Which part of the time [a workload that counts](OwnWorkload::has_dial) is to be in the kernel, in percent,
    /// 1 to 99; of others it is not looked at.
    pub percent: u32,
    /// Numbers of CPUs, 1 to [`MOST_CPUS`]; with one CPU all is compared.
    pub cpus: Vec<u32>,
    /// Kinds of locks.
    pub modes: Vec<LockMode>,
    /// Whether the kernel checks its own locks, contexts and lists.
    pub debug_kernel: bool,
}

impl LocksRequest {
    /// The guest that it needs for a workload, which may be more than was asked for, on these numbers of CPUs.
    pub fn guest<'a>(&'a self, workload: &'a ScaleWorkload, cpus: &[u32]) -> GuestRequest<'a> {
        let lines = lines(self.debug_kernel);
        let kernel = KernelKind { features: WITH_LOCKS, lines, counts: true };
        self.setup.guest(workload, cpus.to_vec(), kernel)
    }

    fn boot_of(&self, mode: LockMode, cpus: u32, quantum: u32) -> BootOf {
        self.setup.boot_of(cpus, quantum, boot_arguments(mode.name()))
    }
}

/// Lines of the kernel's configuration.
fn lines(debug_kernel: bool) -> String {
    let checks = if debug_kernel { GIANT.fragment("debug") } else { None };
    [LINES, checks.unwrap_or_default()].concat()
}

/// Arguments of a kernel for a mode, by the kernel's name for it.
fn boot_arguments(mode: &str) -> Vec<String> {
    vec![format!("giant={mode}"), format!("giant_limit={LIMIT_MS}")]
}

/// Boots guests, one for each number of CPUs and kind of locks, and one more for each kind.
///
/// # Errors
/// Missing tools, builds that fail, guests that do not come up or in which tasks wait for each other for ever, and
/// a workload that fails.
pub fn locks(request: &LocksRequest, observe: &dyn Observe) -> Result<SmpLocks> {
    // Long: mostly the fields of the report, one after the other.
    let start = Instant::now();
    let mut cpus = request.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let most = cpus.last().copied().context("there is no number of CPUs; expected 1 or more")?;
    if let Some(wrong) = cpus.iter().find(|&&cpus| cpus == 0 || cpus > MOST_CPUS) {
        bail!("a guest cannot have {wrong} CPUs; expected 1 to {MOST_CPUS}");
    }
    goes_by_cpu(request)?;
    let work = WorkDir::open(&request.setup.work)?;
    let workload = calibrated(request, &work, observe)?;
    // All, so that boots are found again whatever numbers are asked for.
    let all: Vec<u32> = (1..=MOST_CPUS).collect();
    let guest = Guest::build(&work, &request.guest(&workload, &all), observe)?;
    let boot = |mode, cpus, quantum| {
        let ran = guest.run(&request.boot_of(mode, cpus, quantum), observe);
        let ran = ran.map_err(|error| waiting(error, mode, cpus))?;
        let counted = counted(&ran, request.setup.copies, &workload)?;
        Ok::<_, anyhow::Error>((ran, counted))
    };
    // All others are compared with it.
    let (one, one_counted) = boot(LockMode::Fine, 1, request.setup.quantum)?;
    let records = model::records(request, &guest, &work, observe)?;
    let mut runs = Vec::new();
    for &mode in &request.modes {
        for &cpus in &cpus {
            let (ran, counted) = boot(mode, cpus, request.setup.quantum)?;
            let halved = match cpus == most {
                true => Some(boot(mode, cpus, request.setup.quantum / 2)?.0.nanoseconds),
                false => None,
            };
            let change = |halved: u64| halved as f64 / ran.nanoseconds as f64 - 1.0;
            let work =
                f64::from(request.setup.copies.on(cpus)) / f64::from(request.setup.copies.on(1));
            let base = LocksRun {
                mode,
                cpus,
                copies: request.setup.copies.on(cpus),
                seconds: ran.nanoseconds as f64 / NANOSECONDS,
                speedup: work * one.nanoseconds as f64 / ran.nanoseconds as f64,
                amdahl: extrapolate::amdahl(one_counted.in_kernel(), cpus),
                predicted: if mode.is_modelled() { records.speedup(mode, cpus) } else { None },
                halved: halved.map(change),
                console: ran.console,
                host_seconds: ran.host_seconds,
                ..LocksRun::default()
            };
            runs.push(base.with(&counted));
        }
    }
    let own_locks = match request.modes.contains(&LockMode::Fine) {
        true => records.waits(most, guest.vmlinux())?,
        false => Vec::new(),
    };
    let calls = match request.setup.workload {
        // A kernel that checks itself costs what nobody asks for.
        ScaleWorkload::Own(OwnWorkload::Suite) if !request.debug_kernel => {
            calls::costs(request, &guest, &work, &workload, observe)?
        }
        _ => Vec::new(),
    };
    Ok(SmpLocks {
        schema: Schema::default(),
        workload: workload.name(),
        command: workload.words(),
        each: request.setup.copies == Copies::Each,
        kernel: guest.kernel_version,
        qemu: guest.qemu_version,
        quantum: request.setup.quantum,
        one_cpu: one.nanoseconds as f64 / NANOSECONDS,
        in_kernel: one_counted.in_kernel(),
        model: ModelError::of(&request.modes, &runs),
        recorded: records.covered,
        by_threads: records.is_of_threads(),
        lock_cost: records.lock,
        runs,
        own_locks,
        calls,
        seconds: start.elapsed().as_secs_f64(),
        repeat: Repeat {
            command: request.setup.command.clone(),
            tool_versions: guest.versions,
            ..Repeat::default()
        },
    })
}

/// Refuses other numbers of copies for workloads of which a copy knows itself by its CPU.
fn goes_by_cpu(request: &LocksRequest) -> Result<()> {
    match &request.setup.workload {
        ScaleWorkload::Own(own)
            if own.copies() == Copies::Each
                && *own != OwnWorkload::Spin
                && request.setup.copies != Copies::Each =>
        {
            let why = format!("{} runs once on each CPU, bound to it", own.name());
            Err(Failure::usage(why).hint("leave out --copies").into())
        }
        _ => Ok(()),
    }
}

/// The workload; of one with a dial, that which is as long in the kernel as was asked for.
fn calibrated(
    request: &LocksRequest,
    work: &WorkDir,
    observe: &dyn Observe,
) -> Result<ScaleWorkload> {
    let ScaleWorkload::Own(own) = request.setup.workload else {
        return Ok(request.setup.workload.clone());
    };
    if !own.has_dial() {
        return Ok(request.setup.workload.clone());
    }
    let first = ScaleWorkload::Counting(own, FIRST_COUNT);
    let guest = Guest::build(work, &request.guest(&first, &[1]), observe)?;
    let ran = guest.run(&request.boot_of(LockMode::Fine, 1, request.setup.quantum), observe)?;
    let counted = counted(&ran, request.setup.copies, &first)?;
    let count = count_for(&counted, FIRST_COUNT, request.percent)?;
    Ok(ScaleWorkload::Counting(own, count))
}

/// To which number a dial must count so that `percent` of its time is in the kernel, from what one CPU counted
/// when it counted to `count`.
fn count_for(one: &Counted, count: u64, percent: u32) -> Result<u64> {
    let rounds = one.taken.of(Place::Of(crate::subsystem::Subsystem::Files));
    if rounds == 0 {
        bail!("the kernel counted no call of files, of which the workload makes many");
    }
    if !(1..=99).contains(&percent) {
        bail!("{percent} % of the time in the kernel: expected 1 to 99");
    }
    let kernel = (one.kernel.sum() + one.interrupt) as f64 / rounds as f64;
    let beside = one.user as f64 / rounds as f64 - count as f64;
    let share = f64::from(percent) / 100.0;
    let wanted = kernel * (1.0 - share) / share - beside;
    if wanted < -0.5 {
        let most = 100.0 * kernel / (kernel + beside);
        let why = format!("{percent} % of its time in the kernel cannot be had of this workload");
        let hint = format!("at most {most:.0} %: that is when it only makes its call");
        return Err(Failure::usage(why).hint(hint).into());
    }
    Ok(wanted.max(0.0).round() as u64)
}

/// What the CPUs did.
fn counted(ran: &Ran, copies: Copies, workload: &ScaleWorkload) -> Result<Counted> {
    let nothing = BTreeMap::new();
    let counters = ran.said.get("locks").unwrap_or(&nothing);
    let counted = Counted::read(counters)
        .with_context(|| format!("{} was not counted ({copies:?})", workload.name()))?;
    // The suite says of a call that it was wrong, and goes on.
    if let Some((name, line)) = wrong(&ran.said) {
        bail!("the self-check of {name} failed in line {line}");
    }
    Ok(counted)
}

/// Says of a guest in which tasks wait for ever what that means.
fn waiting(error: anyhow::Error, mode: LockMode, cpus: u32) -> anyhow::Error {
    let what = format!("with {} locks on {cpus} CPUs", mode.name());
    let waits = match error.downcast_ref() {
        Some(BootError::Panicked { lines, .. }) => {
            lines.iter().any(|line| line.contains("a lock was waited for longer than"))
        }
        Some(_) => false,
        // Nothing of the guest's.
        None => return error.context(what),
    };
    match waits {
        true => error.context(format!(
            "the guest does not go on {what}: its tasks wait for a lock that one of them keeps"
        )),
        false => error.context(format!("the guest did not come to its end {what}")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::counted::ByPlace;

    fn counted(user: u64, kernel: u64) -> Counted {
        Counted {
            user,
            kernel: ByPlace { files: kernel, ..ByPlace::default() },
            taken: ByPlace { files: 100, ..ByPlace::default() },
            ..Counted::default()
        }
    }

    #[test]
    fn a_dial_is_set_by_what_its_call_takes() {
        // A call takes 3600, and what is around it in the program 400.
        let one = counted(2_040_000, 360_000);
        assert_eq!(count_for(&one, 20_000, 36).unwrap(), 6_000);
        assert_eq!(count_for(&one, 20_000, 90).unwrap(), 0);
        let error = count_for(&one, 20_000, 91).unwrap_err();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert!(failure.hints()[0].contains("at most 90 %"), "{failure}");
        assert!(count_for(&Counted::default(), 20_000, 36).is_err());
        assert!(count_for(&one, 20_000, 0).is_err());
    }

    #[test]
    fn a_guest_that_waits_for_ever_is_told_from_one_that_fails() {
        let panicked =
            |line: &str| BootError::Panicked { lines: vec![line.to_owned()], log: PathBuf::new() };
        let text = |line| waiting(panicked(line).into(), LockMode::Giant, 4).to_string();
        assert!(text("giant: BUG: a lock was waited for longer than 500 ms").contains("keeps"));
        assert!(text("BUG: kernel NULL pointer").contains("did not come to its end with giant"));
    }
}
