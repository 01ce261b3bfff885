//! What the model says of a workload, from what one CPU did.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_program::Program;

use super::LocksRequest;
use super::lock_cost::lock_cost;
use crate::by_thread;
use crate::extrapolate::{self, LockForecast};
use crate::lock_trace::{LockTrace, SharedLock};
use crate::mode::LockMode;
use crate::recorded::{self, Record, Stretch};
use crate::report::locks::LEAST_RECORDED;
use crate::report::own_locks::OwnLockWait;
use crate::run::guest::{
    BootKind, BootOf, Copies, Guest, OwnWorkload, ScaleWorkload, WATCHED_CPUS,
};
use crate::simulate::LockCost;

/// What the model goes by.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Records {
    /// What one CPU does in its order.
    stretches: Vec<Stretch>,
    /// What one CPU does that runs what so many CPUs would, whose threads wait for each other.
    threads: BTreeMap<u32, Record>,
    /// Which share of the time of that boot its record covers; none where nothing was recorded.
    pub(super) covered: Option<f64>,
    /// What a lock costs, where the kernel's own are not all.
    pub(super) lock: Option<LockCost>,
    /// Which locks of the kernel's own copies take.
    own: LockTrace,
    /// How many copies run.
    copies: Copies,
}

/// A lock is named by so many functions that take it.
const MOST_NAMES: usize = 3;

impl Records {
    /// That of a boot whose workload took so many nanoseconds. A cycle is a nanosecond.
    fn of(nanoseconds: u64, stretches: Vec<Stretch>) -> Self {
        let recorded: u64 = stretches.iter().map(|stretch| stretch.cycles).sum();
        let covered = recorded as f64 / nanoseconds.max(1) as f64;
        Self { stretches, covered: Some(covered), ..Self::default() }
    }

    /// Whether it goes by what threads did that wait for each other.
    pub(super) fn is_of_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    fn own_locks(&self, cpus: u32) -> Option<LockForecast> {
        extrapolate::with_own_locks(&self.own, self.copies.on(cpus), cpus)
    }

    /// How many times as fast as on one CPU without locks it would be; none where too little was recorded.
    pub(super) fn speedup(&self, mode: LockMode, cpus: u32) -> Option<f64> {
        if self.threads.is_empty() && mode == LockMode::Fine {
            return Some(self.own_locks(cpus)?.speedup);
        }
        self.covered.filter(|&covered| covered >= LEAST_RECORDED)?;
        let lock = self.lock.unwrap_or_default();
        if !self.threads.is_empty() {
            let one = by_thread::time(self.threads.get(&1)?, LockMode::Fine, lock, 1)?;
            let time = by_thread::time(self.threads.get(&cpus)?, mode, lock, cpus)?;
            return Some(one as f64 / time as f64);
        }
        extrapolate::speedup(&self.stretches, mode, lock, self.copies.on(cpus), cpus)
    }

    /// Locks of the kernel's own for which copies would wait on so many CPUs, the longest first.
    pub(super) fn waits(&self, cpus: u32, vmlinux: &Path) -> Result<Vec<OwnLockWait>> {
        let Some(LockForecast { found, .. }) = self.own_locks(cpus) else { return Ok(Vec::new()) };
        let shown = || format!("cannot read {}", vmlinux.display());
        let bytes = Bytes::open(vmlinux).with_context(shown)?;
        let program = Program::parse(bytes.as_slice()).with_context(shown)?;
        let names = |number: usize| {
            self.own.locks.get(number).map(|lock| names(lock, &program)).unwrap_or_default()
        };
        Ok(OwnLockWait::of(&found, cpus as usize, names))
    }
}

/// What one CPU does, where the model can make something of it: nothing otherwise.
pub(super) fn records(
    request: &LocksRequest,
    guest: &Guest<'_>,
    work: &WorkDir,
    observe: &dyn Observe,
) -> Result<Records> {
    let what = knowledge(request);
    if what == Knowledge::Nothing {
        return Ok(Records::default());
    }
    let is_locked = |mode: &LockMode| mode.is_modelled() && *mode != LockMode::Fine;
    let lock = match request.modes.iter().any(is_locked) {
        true => Some(lock_cost(request, work, observe)?),
        false => None,
    };
    let copies = request.setup.copies;
    if what == Knowledge::OfThreads {
        let records = Records { lock, copies, ..Records::default() };
        return of_threads(records, request, guest, observe);
    }
    let (nanoseconds, record) = recorded(BootKind::Recorded, request, guest, observe)?;
    let own = own_locks(request, guest, observe)?;
    Ok(Records { own, lock, copies, ..Records::of(nanoseconds, record.stretches) })
}

/// What threads do, of what each number of CPUs runs.
fn of_threads(
    mut records: Records,
    request: &LocksRequest,
    guest: &Guest<'_>,
    observe: &dyn Observe,
) -> Result<Records> {
    let numbers: BTreeSet<u32> = request.cpus.iter().copied().chain([1]).collect();
    for cpus in numbers {
        let what = BootKind::RecordedFor(cpus);
        let (nanoseconds, record) = recorded(what, request, guest, observe)?;
        let covered = record.cycles() as f64 / nanoseconds.max(1) as f64;
        records.covered = Some(records.covered.map_or(covered, |least| least.min(covered)));
        records.threads.insert(cpus, record);
    }
    Ok(records)
}

/// What one CPU does in its order, and in how many nanoseconds. In a boot of its own: to keep a stretch takes some
/// instructions, which no other boot is to have.
fn recorded(
    what: BootKind,
    request: &LocksRequest,
    guest: &Guest<'_>,
    observe: &dyn Observe,
) -> Result<(u64, Record)> {
    let boot = request.boot_of(LockMode::Fine, 1, request.setup.quantum);
    let ran = guest.run(&BootOf { what, ..boot }, observe)?;
    let nothing = BTreeMap::new();
    let lines = ran.said.get("record").unwrap_or(&nothing);
    let record = recorded::read(lines).context("the model knows nothing of this workload")?;
    Ok((ran.nanoseconds, record))
}

/// Which locks of the kernel's own copies take that run one after the other.
fn own_locks(
    request: &LocksRequest,
    guest: &Guest<'_>,
    observe: &dyn Observe,
) -> Result<LockTrace> {
    let boot = request.boot_of(LockMode::Fine, WATCHED_CPUS, request.setup.quantum);
    let ran = guest.run(&BootOf { what: BootKind::Watched, ..boot }, observe)?;
    let shown = || format!("cannot read {}", ran.locks.display());
    let bytes = Bytes::open(&ran.locks).with_context(shown)?;
    LockTrace::read(bytes.to_text().with_context(shown)?).with_context(shown)
}

/// Functions that take a lock, by their names: those that do so most often.
fn names(lock: &SharedLock, program: &Program<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for &(address, _) in &lock.takers {
        let Some(id) = program.function_at(address) else { continue };
        let name = program.function(id).name;
        if names.len() < MOST_NAMES && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// What the model can know of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knowledge {
    /// Nothing: its copies wait for each other without sleeping, or it is not there to be fast.
    Nothing,
    /// Copies share nothing but the kernel: what one does.
    OfCopies,
    /// What its threads do, and whom they wait for.
    OfThreads,
}

fn knowledge(request: &LocksRequest) -> Knowledge {
    let copies = request.setup.copies;
    match (&request.setup.workload, copies) {
        (ScaleWorkload::Own(OwnWorkload::Step | OwnWorkload::Suite), _) => Knowledge::Nothing,
        (ScaleWorkload::Counting(OwnWorkload::Step, _), _) => Knowledge::Nothing,
        (ScaleWorkload::Own(OwnWorkload::Postmark), _) => Knowledge::OfCopies,
        (ScaleWorkload::Own(own) | ScaleWorkload::Counting(own, _), Copies::Each)
            if own.copies() == Copies::Each =>
        {
            Knowledge::OfCopies
        }
        (_, Copies::Fixed(_)) => Knowledge::OfThreads,
        (_, Copies::Each) => Knowledge::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::Doing;

    #[test]
    fn a_record_that_was_cut_says_nothing() {
        let of =
            |cycles| Records::of(1000, vec![Stretch { doing: Doing::User, cycles, thread: 1 }; 10]);
        let whole = of(99);
        assert_eq!(whole.covered, Some(0.99));
        assert_eq!(whole.speedup(LockMode::Coarse, 1), Some(1.0));
        let cut = of(97);
        assert_eq!(cut.covered, Some(0.97));
        assert_eq!(cut.speedup(LockMode::Coarse, 1), None);
        assert_eq!(Records::default().speedup(LockMode::Fine, 1), None);
    }
}
