//! What a workload would take on more CPUs, from what one CPU did: copies of that are the threads that the
//! simulation of [`crate::simulate`] runs.
//!
//! Each copy does what was recorded, in the order in which it was, and as long; only where in the record it begins
//! is another place for each, and at its end it goes on at the beginning. The order matters: two copies whose calls
//! of a subsystem follow each other, and who meet there, wait for each other at each of these calls. Nothing is
//! known of who waits for whom: it is for copies of a workload that share nothing but the kernel.

use crate::counted::Place;
use crate::lock_trace::{LockStep, LockTrace, LockedCopy};
use crate::mode::LockMode;
use crate::recorded::{Doing, Stretch};
use crate::simulate::{LockCost, Locks, Machine, Prediction, SLICE, simulate};
use crate::subsystem::Subsystem;
use crate::trace::{Activity, Span, ThreadTrace};

/// How many times as fast as on one CPU without locks so many copies would be on so many CPUs, with a lock that costs
/// so much; none where nothing was recorded.
///
/// Each copy begins at a time of its own, which is drawn evenly: at the same time they would fall into step.
pub fn speedup(
    record: &[Stretch],
    mode: LockMode,
    lock: LockCost,
    copies: u32,
    cpus: u32,
) -> Option<f64> {
    let work: u64 = record.iter().map(|stretch| stretch.cycles).sum();
    if work == 0 {
        return None;
    }
    let thread = |number: u32| {
        let first = drawn(record, work, number);
        let rotated = record[first..].iter().chain(&record[..first]);
        // What threads of the kernel do, they do once, and not for each copy.
        let of_copy = rotated.filter(|stretch| number == 0 || !stretch.is_of_threads());
        let spans = spans(of_copy, mode);
        ThreadTrace { number: number + 1, name: String::new(), spans }
    };
    let threads: Vec<ThreadTrace> = (0..copies).map(thread).collect();
    let machine = Machine { cpus: cpus as usize, locks: mode.locks(), slice: SLICE, lock };
    let time = simulate(&threads, &machine).time;
    (time > 0).then(|| f64::from(copies) * work as f64 / time as f64)
}

/// What is simulated of locks of the kernel's own.
#[derive(Debug, Clone, PartialEq)]
pub struct LockForecast {
    /// How many times as fast as on one CPU they would be.
    pub speedup: f64,
    /// What came of it; times are in instructions.
    pub found: Prediction,
}

/// What so many copies that took these locks would do on so many CPUs; none where nothing was recorded, or where they
/// wait for each other for ever. Each does what the first of the trace does, from a time of its own, as of [`speedup`].
pub fn with_own_locks(trace: &LockTrace, copies: u32, cpus: u32) -> Option<LockForecast> {
    let copy = trace.copies.first()?;
    let thread = |number: u32| {
        let first = drawn_step(copy, number);
        let rotated = copy.steps[first..].iter().chain(&copy.steps[..first]);
        let spans = rotated.map(|step| match *step {
            LockStep::Run(instructions) => Span::Run(Activity::User, instructions),
            LockStep::Take(lock, taking) => Span::Take(lock, taking),
            LockStep::Release(lock) => Span::Release(lock),
        });
        ThreadTrace { number: number + 1, name: String::new(), spans: spans.collect() }
    };
    let threads: Vec<ThreadTrace> = (0..copies).map(thread).collect();
    let (locks, lock) = (Locks::OWN, LockCost::default());
    let machine = Machine { cpus: cpus as usize, locks, slice: u64::MAX, lock };
    let found = simulate(&threads, &machine);
    let speedup = f64::from(copies) * copy.instructions as f64 / found.time as f64;
    (found.unfinished == 0 && found.time > 0).then_some(LockForecast { speedup, found })
}

/// The step with which a copy begins: at a time that is drawn, or the first after it where no lock is held.
fn drawn_step(copy: &LockedCopy, number: u32) -> usize {
    let mut state = seed(number);
    let at = next(&mut state) % copy.instructions.max(1);
    let (mut executed, mut held) = (0, 0);
    for (place, step) in copy.steps.iter().enumerate() {
        if executed >= at && held == 0 {
            return place;
        }
        match step {
            LockStep::Run(instructions) => executed += instructions,
            LockStep::Take(..) => held += 1,
            LockStep::Release(_) => held -= 1,
        }
    }
    0
}

/// A copy's own beginning of random numbers.
fn seed(number: u32) -> u64 {
    0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(number) + 1)
}

/// The law of Amdahl, where what is in the kernel is done by one at a time while all others wait.
pub fn amdahl(in_kernel: f64, cpus: u32) -> f64 {
    1.0 / (in_kernel + (1.0 - in_kernel) / f64::from(cpus.max(1)))
}

/// The stretch with which a copy begins.
fn drawn(record: &[Stretch], work: u64, number: u32) -> usize {
    let mut state = seed(number);
    let mut left = next(&mut state) % work;
    let is_there = |stretch: &Stretch| {
        let is_there = left < stretch.cycles;
        left = left.saturating_sub(stretch.cycles);
        is_there
    };
    record.iter().position(is_there).unwrap_or(0)
}

/// What a thread does that does this.
fn spans<'a>(stretches: impl Iterator<Item = &'a Stretch>, mode: LockMode) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut is_in_kernel = false;
    for stretch in stretches {
        let was_in_kernel =
            std::mem::replace(&mut is_in_kernel, matches!(stretch.doing, Doing::Kernel(_)));
        if was_in_kernel && is_in_kernel {
            spans.push(OTHERS_RAN);
        }
        spans.push(span(stretch.doing, stretch.cycles, mode));
    }
    spans
}

/// Others ran, or would have, between two stretches of the kernel: the lock is given back, and taken again.
pub(crate) const OTHERS_RAN: Span = Span::Run(Activity::User, 0);

/// What a thread does in a stretch, or in a part of it, with locks of a kind.
pub(crate) fn span(doing: Doing, cycles: u64, mode: LockMode) -> Span {
    match doing {
        Doing::User => Span::Run(Activity::User, cycles),
        Doing::Idle => Span::Sleep(cycles),
        Doing::Interrupt => Span::Run(Activity::Interrupt, cycles),
        Doing::Kernel(Place::Of(of)) => Span::Run(Activity::Kernel(of), cycles),
        // They have the giant lock, and none else.
        Doing::Kernel(Place::Threads) => match mode {
            LockMode::GiantIrq | LockMode::Giant => {
                Span::Run(Activity::Kernel(Subsystem::Processes), cycles)
            }
            LockMode::Coarse | LockMode::Fine => Span::Run(Activity::Interrupt, cycles),
        },
    }
}

/// xorshift64* of S. Vigna.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Taking;

    const FILES: Subsystem = Subsystem::Files;
    const MEMORY: Subsystem = Subsystem::Memory;

    fn stretch(doing: Doing, cycles: u64) -> Stretch {
        Stretch { doing, cycles, thread: 1 }
    }

    /// A round in a program and in a call.
    fn round(user: u64, of: Subsystem, kernel: u64) -> [Stretch; 2] {
        [stretch(Doing::User, user), stretch(Doing::Kernel(Place::Of(of)), kernel)]
    }

    /// Rounds of which each is in its program for another time, 0 to twice the mean.
    fn rounds(count: u64, user: u64, kernel: u64) -> Vec<Stretch> {
        let mut state = 1;
        (0..count).flat_map(|_| round(next(&mut state) % (2 * user), FILES, kernel)).collect()
    }

    fn on(record: &[Stretch], mode: LockMode, cpus: u32) -> f64 {
        speedup(record, mode, LockCost::default(), cpus, cpus).unwrap()
    }

    fn near(found: f64, expected: f64, by: f64) -> bool {
        (found / expected - 1.0).abs() <= by
    }

    #[test]
    fn what_hardly_enters_the_kernel_scales_with_any_locks() {
        for record in [rounds(2000, 50_000, 50), rounds(10, 1_000_000, 130)] {
            for mode in LockMode::ALL {
                assert!(near(on(&record, mode, 8), 8.0, 0.01), "{mode:?}");
            }
        }
    }

    #[test]
    fn a_giant_lock_gives_no_more_than_the_kernel_lets() {
        // 64 in programs and 36 in the kernel: the bound is 1 / 0.36.
        let record = rounds(2000, 32_000, 18_000);
        assert!(near(on(&record, LockMode::Giant, 1), 1.0, 1e-9));
        let eight = on(&record, LockMode::Giant, 8);
        assert!(near(eight, 1.0 / 0.36, 0.03), "{eight}");
        let two = on(&record, LockMode::Giant, 2);
        assert!(two > amdahl(0.36, 2) && two < 2.0, "{two}");
        assert!(near(on(&record, LockMode::Fine, 2), 2.0, 0.03));
        assert!(near(amdahl(0.36, 2), 1.47, 0.001));
    }

    #[test]
    fn copies_that_meet_in_a_subsystem_wait_for_each_other_at_each_call() {
        // As many calls of both, one after the other or a hundred after a hundred.
        let turns = |run: usize| -> Vec<Stretch> {
            let some = |of| [round(10, of, 100)].repeat(run).concat();
            [some(FILES), some(MEMORY)].concat().repeat(10_000 / run / 2)
        };
        let two = |record: &[Stretch]| on(record, LockMode::Coarse, 2);
        let (mixed, runs) = (two(&turns(1)), two(&turns(100)));
        assert!(near(mixed, 2.0, 0.02), "{mixed}");
        assert!(runs < 1.9 && runs > 1.05, "{runs}");
        assert_eq!(speedup(&[], LockMode::Fine, LockCost::default(), 2, 2), None);
    }

    #[test]
    fn what_a_lock_costs_bounds_those_who_hardly_do_anything_else() {
        let record = rounds(2000, 50, 180);
        let lock = LockCost { taking: 15, passing: 5 };
        let eight = |lock| speedup(&record, LockMode::Giant, lock, 8, 8).unwrap();
        let free = eight(LockCost::default());
        assert!(near(free / eight(lock), 200.0 / 180.0, 0.01), "{free} {}", eight(lock));
    }

    #[test]
    fn what_threads_of_the_kernel_do_is_not_done_for_each_copy() {
        let mut record = rounds(100, 100, 100);
        let work = record.iter().map(|stretch| stretch.cycles).sum();
        record.push(stretch(Doing::Kernel(Place::Threads), work));
        // The first copy does it; the others are done after half of the time.
        assert!(near(on(&record, LockMode::Fine, 4), 4.0, 0.01));
        // Four halves in calls, and one of the threads: of 8, 3 are one after the other.
        let giant = on(&record, LockMode::Giant, 4);
        assert!(near(giant, 8.0 / 3.0, 0.1), "{giant}");
    }

    #[test]
    fn copies_of_one_kind_begin_at_times_of_their_own() {
        let record: Vec<Stretch> = (0..5).flat_map(|_| round(10, FILES, 100)).collect();
        let begin = |number| drawn(&record, 550, number);
        let all: Vec<usize> = (0..8).map(begin).collect();
        assert!(all.iter().any(|at| *at != all[0]) && all.iter().all(|at| *at < 10), "{all:?}");
    }

    /// A copy that takes a lock for a part of each of its rounds.
    fn locked(rounds: u64, free: u64, held: u64) -> LockedCopy {
        let round = [
            LockStep::Run(free),
            LockStep::Take(0, Taking::Alone),
            LockStep::Run(held),
            LockStep::Release(0),
        ];
        let steps = round.repeat(rounds as usize);
        LockedCopy { steps, instructions: rounds * (free + held), idle: 0 }
    }

    #[test]
    fn a_lock_that_is_held_for_half_of_the_time_gives_twice_the_speed() {
        let copies = vec![locked(500, 1000, 1000); 2];
        let trace = LockTrace { copies, locks: Vec::new() };
        let on = |cpus| with_own_locks(&trace, cpus, cpus).unwrap().speedup;
        assert!(near(on(1), 1.0, 1e-9));
        assert!(near(on(8), 2.0, 0.02), "{}", on(8));
        // More copies than CPUs take turns.
        assert!(near(with_own_locks(&trace, 8, 1).unwrap().speedup, 1.0, 1e-9));
        assert_eq!(with_own_locks(&trace, 2, 2).unwrap().found.own[0].takes, 1000);
        assert_eq!(with_own_locks(&LockTrace::default(), 2, 2), None);
    }

    #[test]
    fn a_copy_begins_where_it_holds_no_lock() {
        let copy = locked(50, 10, 990);
        for number in 0..20 {
            let held =
                copy.steps[..drawn_step(&copy, number)].iter().fold(0, |held, step| match step {
                    LockStep::Take(..) => held + 1,
                    LockStep::Release(_) => held - 1,
                    LockStep::Run(_) => held,
                });
            assert_eq!(held, 0, "{number}");
        }
    }

    #[test]
    fn a_task_that_goes_on_takes_its_lock_again_and_threads_of_the_kernel_only_the_giant() {
        let processes = stretch(Doing::Kernel(Place::Of(Subsystem::Processes)), 50);
        let threads = stretch(Doing::Kernel(Place::Threads), 7);
        let idle = stretch(Doing::Idle, 3);
        let interrupt = stretch(Doing::Interrupt, 2);
        let record = [processes, processes, threads, idle, interrupt];
        let kernel = Span::Run(Activity::Kernel(Subsystem::Processes), 50);
        let between = Span::Run(Activity::User, 0);
        let all = |thread| {
            let rest = [Span::Sleep(3), Span::Run(Activity::Interrupt, 2)];
            [&[kernel, between, kernel, between, thread][..], &rest].concat()
        };
        let thread = Span::Run(Activity::Kernel(Subsystem::Processes), 7);
        assert_eq!(spans(record.iter(), LockMode::Giant), all(thread));
        let thread = Span::Run(Activity::Interrupt, 7);
        assert_eq!(spans(record.iter(), LockMode::Coarse), all(thread));
    }
}
