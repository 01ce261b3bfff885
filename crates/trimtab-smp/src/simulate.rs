//! What a trace's threads would take on more CPUs, with locks of different kinds: a queueing simulation of
//! what they did, in the order in which they did it.
//!
//! A CPU takes threads that are ready first come, first served, for a time slice. A system call or a page
//! fault runs to its end or until it sleeps, and holds the lock of its subsystem for so long; a CPU that
//! finds it taken spins, and gets it in the order of arrival, as of a ticket lock. Interrupts take no lock.
//! A thread that another woke in the trace waits for that one; what a device or a timer woke sleeps as long
//! as it did. Where a trace says which locks of the kernel's own its threads took, these can be simulated in place
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
        let Some(thread) = self.cpus[cpu] else { return };
        loop {
            match self.span(thread) {
                None => {
                    self.release(thread, time);
                    for next in self.own.release_all(thread, time) {
                        self.at(time, Event::Got(next));
                    }
                    self.threads[thread].ended = true;
                    self.found.time = self.found.time.max(time);
                    self.cpus[cpu] = None;
                    return;
                }
                Some(Span::Wake(woken)) => {
                    self.threads[thread].at += 1;
                    self.wake(woken, time);
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::Taking;

    fn threads(all: &[&[Span]]) -> Vec<ThreadTrace> {
        let thread = |(number, spans): (usize, &&[Span])| ThreadTrace {
            number: number as u32 + 1,
            name: "a".to_owned(),
            spans: spans.to_vec(),
        };
        all.iter().enumerate().map(thread).collect()
    }

    fn on(threads: &[ThreadTrace], cpus: usize, locks: Locks) -> Prediction {
        simulate(threads, &Machine { cpus, locks, slice: SLICE, lock: LockCost::default() })
    }

    const USER: Activity = Activity::User;
    const FILES: Activity = Activity::Kernel(Subsystem::Files);
    const MEMORY: Activity = Activity::Kernel(Subsystem::Memory);

    #[test]
    fn the_giant_lock_leaves_what_the_law_of_amdahl_says() {
        // Ten rounds each; the second begins in the kernel, so that they need never wait.
        let rounds = |first: Span, second: Span| [first, second].repeat(10);
        let (user, kernel) = (Span::Run(USER, 50), Span::Run(FILES, 50));
        let threads = threads(&[&rounds(user, kernel), &rounds(kernel, user)]);
        let one = on(&threads, 1, Locks::GIANT);
        assert_eq!((one.time, one.waiting), (2000, [0; 5]));
        let two = on(&threads, 2, Locks::GIANT);
        assert_eq!((two.time, two.waiting, two.acquisitions[0]), (1000, [0; 5], 20));
        // Twice as much in the kernel: that is all of the time.
        let longer = rounds(user, Span::Run(FILES, 100));
        let threads = self::threads(&[&longer, &longer]);
        let two = on(&threads, 2, Locks::GIANT);
        assert_eq!((two.time, two.kernel[0]), (2050, 2000));
        assert!(two.waiting[0] > 0);
        assert_eq!(on(&threads, 2, Locks::FINE).time, 1500);
    }

    #[test]
    fn a_lock_that_is_waited_for_costs_more_than_one_that_is_free() {
        let rounds = |count: usize| {
            [Span::Run(FILES, 100), Span::Run(MEMORY, 50), Span::Run(USER, 10)].repeat(count)
        };
        let on = |threads: &[ThreadTrace], locks| {
            let lock = LockCost { taking: 20, passing: 7 };
            simulate(threads, &Machine { cpus: 2, locks, slice: SLICE, lock })
        };
        let alone = threads(&[&rounds(3)]);
        // A call that goes on in another subsystem has the giant lock already.
        assert_eq!(on(&alone, Locks::GIANT).time, 3 * (100 + 50 + 10 + 20));
        assert_eq!(on(&alone, Locks::COARSE).time, 3 * (100 + 50 + 10 + 2 * 20));
        assert_eq!(on(&alone, Locks::FINE).time, 3 * 160);
        // Each waits for the other all the time, but the one that is first, the first time.
        let two = threads(&[&rounds(2), &rounds(2)]);
        let found = on(&two, Locks::GIANT);
        assert_eq!(found.time, 4 * (150 + 20) + 3 * 7 + 10);
        assert_eq!(found.kernel[0] + found.kernel[2], 4 * 170 + 3 * 7);
    }

    #[test]
    fn subsystems_with_locks_of_their_own_do_not_wait_for_each_other() {
        let threads = threads(&[
            &[Span::Run(FILES, 100)],
            &[Span::Run(MEMORY, 100)],
            &[Span::Run(FILES, 100)],
        ]);
        assert_eq!(on(&threads, 3, Locks::GIANT).time, 300);
        assert_eq!(on(&threads, 3, Locks::COARSE).time, 200);
        assert_eq!(on(&threads, 3, Locks::apart(Subsystem::Memory)).time, 200);
        assert_eq!(on(&threads, 3, Locks::apart(Subsystem::Network)).time, 300);
        assert_eq!(on(&threads, 3, Locks::FINE).time, 100);
    }

    #[test]
    fn a_call_holds_its_lock_until_it_ends_though_it_wakes_and_is_interrupted() {
        let call = [
            Span::Run(FILES, 100),
            Span::Wake(1),
            Span::Run(FILES, 100),
            Span::Run(Activity::Interrupt, 50),
            Span::Run(FILES, 100),
            Span::Run(USER, 10),
        ];
        let threads = threads(&[&call, &[Span::Run(MEMORY, 40)]]);
        let found = on(&threads, 2, Locks::GIANT);
        assert_eq!((found.time, found.acquisitions), (390, [1, 0, 1, 0, 0]));
        assert_eq!(found.waiting, [0, 0, 350, 0, 0]);
        // Another lock is another one to take.
        let two = self::threads(&[&[Span::Run(FILES, 5), Span::Run(MEMORY, 5)]]);
        assert_eq!(on(&two, 1, Locks::COARSE).acquisitions, [1, 0, 1, 0, 0]);
        assert_eq!(on(&two, 1, Locks::GIANT).acquisitions, [1, 0, 0, 0, 0]);
    }

    #[test]
    fn who_is_woken_waits_for_who_wakes() {
        let first = [Span::Run(USER, 100), Span::Wake(1), Span::Run(USER, 50)];
        let second = [Span::SleepUntilWoken, Span::Run(USER, 30), Span::Sleep(500)];
        let threads = threads(&[&first, &second]);
        assert_eq!(on(&threads, 2, Locks::FINE).time, 630);
        // The second alone would wait for ever; that is said.
        let alone = self::threads(&[&[], &second]);
        assert_eq!(on(&alone, 2, Locks::FINE).unfinished, 1);
    }

    #[test]
    fn a_time_slice_lets_others_run() {
        let threads = threads(&[&[Span::Run(USER, 3 * SLICE)], &[Span::Run(USER, SLICE)]]);
        let found = on(&threads, 1, Locks::FINE);
        assert_eq!((found.time, found.user), (4 * SLICE, 4 * SLICE));
    }

    #[test]
    fn locks_of_the_kernel_s_own_are_waited_for_only_where_these_are_simulated() {
        let one = [
            Span::Run(FILES, 10),
            Span::Take(0, Taking::Alone),
            Span::Run(FILES, 100),
            Span::Release(0),
            Span::Run(USER, 10),
        ];
        let threads = threads(&[&one, &one, &[Span::Run(USER, 30)]]);
        assert_eq!(on(&threads, 2, Locks::FINE).time, 120 + 30);
        // Meanwhile the third has the CPU of the one that waits.
        let found = on(&threads, 2, Locks::OWN);
        assert_eq!(found.time, 10 + 100 + 100 + 10);
        let used = OwnLockUse { takes: 2, contended: 1, waited: 100, held: 200 };
        assert_eq!(found.own, [used]);
        assert_eq!(on(&threads, 2, Locks::GIANT).own, []);
        // Who ends gives back what it has.
        let kept = self::threads(&[&[Span::Take(0, Taking::Alone), Span::Run(FILES, 5)], &one]);
        assert_eq!(on(&kept, 2, Locks::OWN).unfinished, 0);
    }

    /// A thread that takes locks only in the order of their numbers.
    fn locked(seeds: &[(u32, u32, u64)]) -> Vec<Span> {
        let section = |&(first, more, time): &(u32, u32, u64)| {
            let taking = if time % 3 == 0 { Taking::Shared } else { Taking::Alone };
            let second = first + 1 + more;
            [
                Span::Run(USER, time),
                Span::Take(first, taking),
                Span::Run(FILES, time),
                Span::Take(second, Taking::Alone),
                Span::Run(FILES, 7),
                Span::Release(second),
                Span::Run(FILES, 3),
                Span::Release(first),
            ]
        };
        seeds.iter().flat_map(section).collect()
    }

    fn any_span(threads: usize) -> impl Strategy<Value = Span> {
        let kind = prop_oneof![
            Just(USER),
            Just(Activity::Interrupt),
            (0..KINDS).prop_map(|kind| Activity::Kernel(Subsystem::ALL[kind])),
        ];
        prop_oneof![
            4 => (kind, 1_u64..1000).prop_map(|(kind, time)| Span::Run(kind, time)),
            1 => (0..threads).prop_map(Span::Wake),
            1 => (0_u64..500).prop_map(Span::Sleep),
        ]
    }

    proptest! {
        #[test]
        fn locks_that_are_taken_in_one_order_let_all_end(
            seeds in proptest::collection::vec(
                proptest::collection::vec((0_u32..3, 0_u32..3, 1_u64..100), 0..20),
                1..6,
            ),
            cpus in 1_usize..5,
        ) {
            let spans: Vec<Vec<Span>> = seeds.iter().map(|seeds| locked(seeds)).collect();
            let slices: Vec<&[Span]> = spans.iter().map(Vec::as_slice).collect();
            let threads = threads(&slices);
            let found = on(&threads, cpus, Locks::OWN);
            prop_assert_eq!(found.unfinished, 0);
            let free = on(&threads, cpus, Locks::FINE);
            prop_assert_eq!((found.user, found.kernel), (free.user, free.kernel));
            let takes: u64 = found.own.iter().map(|lock| lock.takes).sum();
            prop_assert_eq!(takes, 2 * seeds.iter().map(Vec::len).sum::<usize>() as u64);
            let work = free.user + free.kernel.iter().sum::<u64>();
            prop_assert!(found.time <= work && found.time * cpus as u64 >= work);
            prop_assert_eq!(&on(&threads, cpus, Locks::OWN), &found);
        }

        #[test]
        fn work_is_done_once_and_locks_cost_only_waiting(
            spans in proptest::collection::vec(proptest::collection::vec(any_span(4), 0..30), 4),
            cpus in 1_usize..9,
        ) {
            let slices: Vec<&[Span]> = spans.iter().map(Vec::as_slice).collect();
            let threads = threads(&slices);
            let busy = |found: &Prediction| {
                found.user + found.interrupts + found.kernel.iter().sum::<u64>()
            };
            let work: u64 = spans.iter().flatten().map(|span| match span {
                Span::Run(_, time) => *time,
                _ => 0,
            }).sum();
            for locks in [Locks::GIANT, Locks::COARSE, Locks::FINE] {
                let found = on(&threads, cpus, locks);
                prop_assert_eq!(busy(&found), work);
                prop_assert_eq!(found.unfinished, 0);
                let waited: u64 = found.waiting.iter().sum();
                prop_assert!(found.time * cpus as u64 >= work + waited);
                prop_assert_eq!(&on(&threads, cpus, locks), &found);
                if cpus == 1 {
                    prop_assert_eq!(waited, 0);
                }
            }
            let serial: u64 = on(&threads, cpus, Locks::GIANT).kernel.iter().sum();
            prop_assert!(on(&threads, cpus, Locks::GIANT).time >= serial);
        }
    }
}
