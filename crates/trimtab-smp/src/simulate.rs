//! What a trace's threads would take on more CPUs, with locks of different kinds: a queueing simulation of
//! what they did, in the order in which they did it.
//!
//! A CPU takes threads that are ready first come, first served, for a time slice. A system call or a page
//! fault runs to its end or until it sleeps, and holds the lock of its subsystem for so long; a CPU that
//! finds it taken spins, and gets it in the order of arrival, as of a ticket lock. Interrupts take no lock.
//! A thread that another woke in the trace waits for that one; what a device or a timer woke sleeps as long
//! as it did. At a barrier, who was the last to come may be another one: all wait until all are there. Where a trace says which locks of the kernel's own its threads took, these can be simulated in place
//! of locks of subsystems: a thread that finds one taken leaves its CPU to others until it is its turn. Caches and the
//! bus are not modelled; what a lock itself costs is, where it is known, for locks of subsystems.

mod own;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

pub use self::own::OwnLockUse;
use self::own::OwnLocks;
use crate::subsystem::Subsystem;
use crate::trace::{Activity, Span, ThreadTrace};

const KINDS: usize = Subsystem::ALL.len();

/// How long a program runs before others may, in nanoseconds: 4 ms, as kernels with 250 ticks a second have it.
pub const SLICE: u64 = 4_000_000;

/// Which locks there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locks {
    /// Which one each subsystem takes: subsystems with the same number share one.
    of: [Option<usize>; KINDS],
    /// Whether threads take those of the kernel's own that they took in the trace.
    are_own: bool,
}

impl Locks {
    /// One for all.
    pub const GIANT: Locks = Locks { of: [Some(0); KINDS], are_own: false };
    /// One for each.
    pub const COARSE: Locks =
        Locks { of: [Some(0), Some(1), Some(2), Some(3), Some(4)], are_own: false };
    /// None that is ever waited for: what locks as fine as can be would give.
    pub const FINE: Locks = Locks { of: [None; KINDS], are_own: false };
    /// The kernel's own, as far as the trace has them.
    pub const OWN: Locks = Locks { of: [None; KINDS], are_own: true };

    /// One for all but this, which has its own.
    pub fn apart(subsystem: Subsystem) -> Self {
        let mut locks = Self::GIANT;
        locks.of[subsystem.index()] = Some(1);
        locks
    }
}

/// What it costs to take the lock of a subsystem, in nanoseconds, for which it is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LockCost {
    /// Each time.
    pub taking: u64,
    /// More, where it was not free: for who waits to see that it is.
    pub passing: u64,
}

/// How threads run.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// CPUs, 1 or more.
    pub cpus: usize,
    /// Which locks there are.
    pub locks: Locks,
    /// After so many nanoseconds in its program a thread lets others run, if any are ready.
    pub slice: u64,
    /// What a lock of a subsystem costs; that is in the kernel, too.
    pub lock: LockCost,
}

/// What came of it; times are nanoseconds of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Until the last thread ended.
    pub time: u64,
    /// In programs.
    pub user: u64,
    /// In interrupts.
    pub interrupts: u64,
    /// In the kernel, by [`Subsystem::index`].
    pub kernel: [u64; KINDS],
    /// Waiting for its lock.
    pub waiting: [u64; KINDS],
    /// How often a lock was taken.
    pub acquisitions: [u64; KINDS],
    /// What was done with each lock of the kernel's own, by its number, with [`Locks::OWN`].
    pub own: Vec<OwnLockUse>,
    /// Threads that nobody woke to the end.
    pub unfinished: usize,
}

/// Runs threads.
pub fn simulate(threads: &[ThreadTrace], machine: &Machine) -> Prediction {
    let mut simulation = Simulation::new(threads, machine);
    simulation.run();
    simulation.found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A CPU has done what it did.
    Done(usize),
    /// A thread sleeps no more.
    Ready(usize),
    /// A thread has got a lock of the kernel's own.
    Got(usize),
}

#[derive(Debug, Clone, Default)]
struct Thread {
    /// The span that it is in.
    at: usize,
    /// What is left of it; none where it has not begun.
    left: Option<u64>,
    /// Nanoseconds in its program since it got its CPU.
    ran: u64,
    /// How often it was woken before it slept.
    woken: u64,
    sleeps: bool,
    /// Threads that wait until it sleeps, or ends.
    awaited_by: Vec<usize>,
    ended: bool,
    /// The lock that it holds: until it is in its program again, sleeps, or needs another.
    holds: Option<usize>,
}

#[derive(Debug, Default)]
struct Lock {
    is_held: bool,
    /// CPUs that wait, and since when.
    waiting: VecDeque<(usize, u64)>,
}

struct Simulation<'a> {
    spans: &'a [ThreadTrace],
    machine: &'a Machine,
    threads: Vec<Thread>,
    ready: VecDeque<usize>,
    /// The thread of each CPU.
    cpus: Vec<Option<usize>>,
    locks: [Lock; KINDS],
    own: OwnLocks,
    /// By time, and among those of one time in the order in which they came up.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    found: Prediction,
}

impl<'a> Simulation<'a> {
    fn new(spans: &'a [ThreadTrace], machine: &'a Machine) -> Self {
        Self {
            spans,
            machine,
            threads: vec![Thread::default(); spans.len()],
            ready: (0..spans.len()).collect(),
            cpus: vec![None; machine.cpus.max(1)],
            locks: Default::default(),
            own: OwnLocks::default(),
            events: BinaryHeap::new(),
            sequence: 0,
            found: Prediction::default(),
        }
    }

    fn run(&mut self) {
        self.fill(0);
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            match event {
                Event::Ready(thread) => self.ready.push_back(thread),
                // Others may wait for it now.
                Event::Got(thread) => self.ready.push_front(thread),
                Event::Done(cpu) => self.done(cpu, time),
            }
            self.fill(time);
        }
        self.found.own = self.own.used();
        self.found.unfinished = self.threads.iter().filter(|thread| !thread.ended).count();
    }

    fn at(&mut self, time: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, event)));
    }

    /// Gives threads that are ready to CPUs that are idle.
    fn fill(&mut self, time: u64) {
        while let Some(cpu) = self.cpus.iter().position(Option::is_none) {
            let Some(thread) = self.ready.pop_front() else { return };
            self.threads[thread].ran = 0;
            self.cpus[cpu] = Some(thread);
            self.go_on(cpu, time);
        }
    }

    fn span(&self, thread: usize) -> Option<Span> {
        self.spans[thread].spans.get(self.threads[thread].at).copied()
    }

    /// Has a CPU do what comes next in its thread, or leave it.
    fn go_on(&mut self, cpu: usize, time: u64) {
        // Long: a case for each kind of step.
        let Some(thread) = self.cpus[cpu] else { return };
        loop {
            match self.span(thread) {
                None => {
                    self.release(thread, time);
                    for next in self.own.release_all(thread, time) {
                        self.at(time, Event::Got(next));
                    }
                    self.threads[thread].ended = true;
                    self.is_there(thread, time);
                    self.found.time = self.found.time.max(time);
                    self.cpus[cpu] = None;
                    return;
                }
                Some(Span::Wake(woken)) => {
                    self.threads[thread].at += 1;
                    self.wake(woken, time);
                }
                Some(Span::Await(other)) => {
                    self.threads[thread].at += 1;
                    let awaited = &mut self.threads[other];
                    if !awaited.sleeps && !awaited.ended {
                        awaited.awaited_by.push(thread);
                        self.release(thread, time);
                        self.cpus[cpu] = None;
                        return;
                    }
                }
                Some(Span::Sleep(length)) => {
                    self.release(thread, time);
                    self.threads[thread].at += 1;
                    self.at(time + length, Event::Ready(thread));
                    self.cpus[cpu] = None;
                    return;
                }
                Some(Span::SleepUntilWoken) => {
                    self.threads[thread].at += 1;
                    if self.threads[thread].woken == 0 {
                        self.release(thread, time);
                        self.threads[thread].sleeps = true;
                        self.is_there(thread, time);
                        self.cpus[cpu] = None;
                        return;
                    }
                    self.threads[thread].woken -= 1;
                }
                Some(Span::Take(lock, taking)) => {
                    self.threads[thread].at += 1;
                    if self.machine.locks.are_own && !self.own.take(lock, thread, taking, time) {
                        self.cpus[cpu] = None;
                        return;
                    }
                }
                Some(Span::Release(lock)) => {
                    self.threads[thread].at += 1;
                    let next = match self.machine.locks.are_own {
                        true => self.own.release(lock, thread, time),
                        false => Vec::new(),
                    };
                    for thread in next {
                        self.at(time, Event::Got(thread));
                    }
                }
                Some(Span::Run(activity, length)) => {
                    return self.begin(cpu, thread, activity, length, time);
                }
            }
        }
    }

    /// Lets those go on that waited for a thread to sleep.
    fn is_there(&mut self, thread: usize, time: u64) {
        for waiting in std::mem::take(&mut self.threads[thread].awaited_by) {
            self.at(time, Event::Ready(waiting));
        }
    }

    fn wake(&mut self, thread: usize, time: u64) {
        if std::mem::take(&mut self.threads[thread].sleeps) {
            self.at(time, Event::Ready(thread));
        } else {
            self.threads[thread].woken += 1;
        }
    }

    fn begin(&mut self, cpu: usize, thread: usize, activity: Activity, length: u64, time: u64) {
        let mut left = *self.threads[thread].left.get_or_insert(length);
        match activity {
            Activity::User => {
                self.release(thread, time);
                let slice = self.machine.slice.saturating_sub(self.threads[thread].ran).max(1);
                self.at(time + left.min(slice), Event::Done(cpu));
            }
            Activity::Interrupt => self.at(time + left, Event::Done(cpu)),
            Activity::Kernel(subsystem) => {
                let had = self.threads[thread].holds;
                if self.acquires(cpu, thread, subsystem, time) {
                    let has = self.threads[thread].holds;
                    if has.is_some() && has != had {
                        left = self.longer(thread, self.machine.lock.taking);
                    }
                    self.at(time + left, Event::Done(cpu));
                }
            }
        }
    }

    /// Has what a thread does take so much longer; for how long it does it now.
    fn longer(&mut self, thread: usize, by: u64) -> u64 {
        let left = self.threads[thread].left.unwrap_or(0) + by;
        self.threads[thread].left = Some(left);
        left
    }

    /// Whether a thread has the lock of a subsystem now; otherwise its CPU waits for it.
    fn acquires(&mut self, cpu: usize, thread: usize, subsystem: Subsystem, time: u64) -> bool {
        let wanted = self.machine.locks.of[subsystem.index()];
        if self.threads[thread].holds == wanted {
            return true;
        }
        self.release(thread, time);
        let Some(number) = wanted else { return true };
        if self.locks[number].is_held {
            self.locks[number].waiting.push_back((cpu, time));
            return false;
        }
        self.locks[number].is_held = true;
        self.threads[thread].holds = Some(number);
        self.found.acquisitions[subsystem.index()] += 1;
        true
    }

    /// A CPU has run what it began.
    fn done(&mut self, cpu: usize, time: u64) {
        let Some(thread) = self.cpus[cpu] else { return };
        let Some(Span::Run(activity, _)) = self.span(thread) else { return };
        let state = &mut self.threads[thread];
        let left = state.left.unwrap_or(0);
        match activity {
            Activity::User => {
                let slice = self.machine.slice.saturating_sub(state.ran).max(1);
                let ran = left.min(slice);
                self.found.user += ran;
                state.ran += ran;
                if ran < left {
                    state.left = Some(left - ran);
                    if self.ready.is_empty() {
                        state.ran = 0;
                        return self.go_on(cpu, time);
                    }
                    self.cpus[cpu] = None;
                    self.ready.push_back(thread);
                    return;
                }
            }
            Activity::Interrupt => self.found.interrupts += left,
            Activity::Kernel(subsystem) => self.found.kernel[subsystem.index()] += left,
        }
        self.threads[thread].left = None;
        self.threads[thread].at += 1;
        self.go_on(cpu, time);
    }

    /// Gives the lock of a thread, where it has one, to the CPU that has waited longest for it.
    fn release(&mut self, thread: usize, time: u64) {
        let Some(number) = self.threads[thread].holds.take() else { return };
        let Some((cpu, since)) = self.locks[number].waiting.pop_front() else {
            self.locks[number].is_held = false;
            return;
        };
        let Some(thread) = self.cpus[cpu] else { return };
        self.threads[thread].holds = Some(number);
        let LockCost { taking, passing } = self.machine.lock;
        let left = self.longer(thread, taking + passing);
        if let Some(Span::Run(Activity::Kernel(waited), _)) = self.span(thread) {
            self.found.waiting[waited.index()] += time - since;
            self.found.acquisitions[waited.index()] += 1;
        }
        self.at(time + left, Event::Done(cpu));
    }
}

#[cfg(test)]
mod tests;
