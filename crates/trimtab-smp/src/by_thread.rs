//! What the threads of a program would take on more CPUs, from what they did on one: the simulation of
//! [`crate::simulate`] runs them, and each waits for whom it waited for.
//!
//! On one CPU a thread stops because it sleeps, or because others are to run. It slept if somebody woke it before it
//! went on: if that was another thread, it waits for that one on more CPUs, too; if it was an interrupt, it sleeps as
//! long. So barriers, pipes, and processes that wait for others are known; but who waits on more CPUs for what one CPU
//! always found free, as a mutex, is not. Who wakes several in one call is taken for the last to come to a barrier:
//! on more CPUs another may come last, so it waits for all of them.

use rustc_hash::FxHashMap;

use crate::counted::Place;
use crate::extrapolate::{OTHERS_RAN, span};
use crate::mode::LockMode;
use crate::recorded::{Doing, Record, Stretch, Wake};
use crate::simulate::{LockCost, Machine, SLICE, simulate};
use crate::subsystem::Subsystem;
use crate::trace::{Span, ThreadTrace};

/// How many cycles what was recorded would take on so many CPUs; none where nothing was recorded, or where threads would
/// wait for each other for ever.
pub fn time(record: &Record, mode: LockMode, lock: LockCost, cpus: u32) -> Option<u64> {
    let threads = threads(record, mode);
    let machine = Machine { cpus: cpus as usize, locks: mode.locks(), slice: SLICE, lock };
    let found = simulate(&threads, &machine);
    (found.unfinished == 0 && found.time > 0).then_some(found.time)
}

/// The threads of a record, in the order in which they are seen first.
pub fn threads(record: &Record, mode: LockMode) -> Vec<ThreadTrace> {
    let mut builder = Builder { mode, ..Builder::default() };
    for stretch in record.stretches.iter().filter(|stretch| stretch.thread != 0) {
        let place = builder.place(stretch.thread);
        builder.states[place].is_of_kernel |= stretch.is_of_threads();
    }
    let mut wakes = record.wakes.iter().peekable();
    for (place, stretch) in record.stretches.iter().enumerate() {
        let mut within = Vec::new();
        while let Some(wake) = wakes.next_if(|wake| wake.stretch == place) {
            within.push(*wake);
        }
        builder.add(stretch, &within);
    }
    builder.states.into_iter().map(|state| state.trace).collect()
}

/// What is known of a thread.
#[derive(Default)]
struct State {
    trace: ThreadTrace,
    /// Since when it does not run, if it does not.
    off: Option<u64>,
    /// Whether somebody has woken it since.
    woken: bool,
    /// What it did last.
    doing: Option<Doing>,
    /// Whether it is one of the kernel's, which do not end.
    is_of_kernel: bool,
}

#[derive(Default)]
struct Builder {
    mode: LockMode,
    states: Vec<State>,
    /// Their places by their numbers.
    places: FxHashMap<u32, usize>,
    running: Option<usize>,
    time: u64,
}

impl Builder {
    fn place(&mut self, number: u32) -> usize {
        *self.places.entry(number).or_insert_with(|| {
            let trace = ThreadTrace { number, ..ThreadTrace::default() };
            self.states.push(State { trace, off: Some(0), ..State::default() });
            self.states.len() - 1
        })
    }

    /// A stretch, and the wake-ups in it.
    fn add(&mut self, stretch: &Stretch, wakes: &[Wake]) {
        let is_idle = stretch.doing == Doing::Idle || stretch.thread == 0;
        let now = (!is_idle).then(|| self.place(stretch.thread));
        if self.running != now {
            if let Some(before) = self.running {
                (self.states[before].off, self.states[before].woken) = (Some(self.time), false);
            }
            self.running = now;
        }
        if let Some(place) = now {
            let state = &mut self.states[place];
            state.off = None;
            let before = state.doing.replace(stretch.doing);
            let in_kernel = |doing| matches!(doing, Some(Doing::Kernel(_)));
            if in_kernel(before) && in_kernel(state.doing) {
                state.trace.spans.push(OTHERS_RAN);
            }
        }
        let others = self.at_barrier(stretch, wakes);
        let mut done = 0;
        for (number, wake) in wakes.iter().enumerate() {
            let until = wake.after.clamp(done, stretch.cycles);
            self.run(stretch.doing, until - done);
            self.time += until - done;
            done = until;
            if let (0, Some(place)) = (number, self.running) {
                let awaits = others.iter().map(|other| Span::Await(*other));
                self.states[place].trace.spans.extend(awaits);
            }
            self.wake(wake);
        }
        self.run(stretch.doing, stretch.cycles - done);
        self.time += stretch.cycles - done;
    }

    /// Who waits at the barrier to which a thread comes last that wakes these: those that sleep as it does, for a futex.
    fn at_barrier(&self, stretch: &Stretch, wakes: &[Wake]) -> Vec<usize> {
        let futex = Some(Doing::Kernel(Place::Of(Subsystem::Ipc)));
        let sleeps = |place: &usize| {
            let state = &self.states[*place];
            state.off.is_some() && !state.woken && state.doing == futex
        };
        let woken = wakes.iter().filter(|wake| wake.by_thread);
        let places = woken.filter_map(|wake| self.places.get(&wake.thread).copied());
        let sleeping: Vec<usize> = places.filter(sleeps).collect();
        let is_last = Some(stretch.doing) == futex && sleeping.len() > 1;
        if is_last { sleeping } else { Vec::new() }
    }

    fn run(&mut self, doing: Doing, cycles: u64) {
        if let (Some(place), true) = (self.running, cycles > 0) {
            self.states[place].trace.spans.push(span(doing, cycles, self.mode));
        }
    }

    fn wake(&mut self, wake: &Wake) {
        // One that never ran does nothing.
        let Some(&woken) = self.places.get(&wake.thread) else { return };
        let state = &mut self.states[woken];
        // One that still runs, or that is awake, does not sleep.
        let Some(since) = state.off.filter(|_| !state.woken) else { return };
        state.woken = true;
        match self.running.filter(|_| wake.by_thread) {
            Some(waker) => {
                state.trace.spans.push(Span::SleepUntilWoken);
                self.states[waker].trace.spans.push(Span::Wake(woken));
            }
            // What a thread of the kernel does at certain times, it may do after the last program has ended.
            None if state.is_of_kernel => {}
            None => state.trace.spans.push(Span::Sleep(self.time - since)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::Activity;

    const FINE: LockMode = LockMode::Fine;
    const FREE: LockCost = LockCost { taking: 0, passing: 0 };
    const IPC: Doing = Doing::Kernel(Place::Of(Subsystem::Ipc));

    fn stretch(thread: u32, doing: Doing, cycles: u64) -> Stretch {
        Stretch { doing, cycles, thread }
    }

    fn wake(stretch: usize, after: u64, thread: u32, by_thread: bool) -> Wake {
        Wake { stretch, after, thread, by_thread }
    }

    /// Thread 1 begins three others in a call and waits; each runs for 1,000 cycles and meets the others: the last
    /// to come wakes the others, each runs once more, and the last one to end wakes the first.
    fn meeting() -> Record {
        let user = |thread| stretch(thread, Doing::User, 1000);
        let call = |thread| stretch(thread, IPC, 10);
        let stretches = vec![
            call(1),
            user(2),
            call(2),
            user(3),
            call(3),
            user(4),
            call(4),
            user(4),
            user(2),
            user(3),
            call(3),
            call(1),
        ];
        let begun = [2, 3, 4].map(|thread| wake(0, 5, thread, true));
        let met = [2, 3].map(|thread| wake(6, 5, thread, true));
        let wakes = begun.into_iter().chain(met).chain([wake(10, 10, 1, true)]).collect();
        Record { stretches, wakes }
    }

    #[test]
    fn threads_wait_for_whom_they_waited_for() {
        let record = meeting();
        assert_eq!(time(&record, FINE, FREE, 1), Some(record.cycles()));
        // Until it has begun the others, two rounds with a call between, the call of the last, and its own.
        assert_eq!(time(&record, FINE, FREE, 3), Some(5 + 1000 + 10 + 1000 + 10 + 10));
        // One after the other in the first round, two beside each other.
        let two = time(&record, FINE, FREE, 2).unwrap();
        assert!(two > 3000 && two < record.cycles(), "{two}");
        assert_eq!(time(&Record::default(), FINE, FREE, 2), None);
    }

    #[test]
    fn at_a_barrier_all_wait_for_who_comes_last() {
        let user = |thread, cycles| stretch(thread, Doing::User, cycles);
        let call = |thread| stretch(thread, IPC, 10);
        // The third wakes the others, but needs least time to get there.
        let first = [user(1, 5000), call(1), user(2, 100), call(2), user(3, 50), call(3)];
        let stretches = first.into_iter().chain([1, 2, 3].map(|thread| user(thread, 100)));
        let wakes = vec![wake(5, 5, 1, true), wake(5, 5, 2, true)];
        let record = Record { stretches: stretches.collect(), wakes };
        assert_eq!(time(&record, FINE, FREE, 3), Some(5000 + 10 + 5 + 100));
        // Who only wakes one, as by a semaphore, does not wait for that.
        let one = Record { wakes: vec![wake(5, 5, 1, true)], ..record };
        assert_eq!(time(&one, FINE, FREE, 3), Some(5000 + 10 + 100));
    }

    #[test]
    fn who_was_woken_by_an_interrupt_sleeps_as_long() {
        let stretches = vec![
            stretch(1, IPC, 10),
            stretch(2, Doing::User, 100),
            stretch(0, Doing::Idle, 890),
            stretch(1, IPC, 10),
        ];
        let record = Record { stretches, wakes: vec![wake(2, 890, 1, false)] };
        let spans = &threads(&record, FINE)[0].spans;
        assert!(spans.contains(&Span::Sleep(990)), "{spans:?}");
        assert_eq!(time(&record, FINE, FREE, 2), Some(1010));
    }

    #[test]
    fn threads_of_the_kernel_are_not_waited_for() {
        let threads = Doing::Kernel(Place::Threads);
        let stretches = vec![stretch(1, Doing::User, 1000), stretch(2, threads, 10)];
        // Neither the one that an interrupt wakes late, nor one that does not come to run.
        let wakes = vec![wake(0, 900, 2, false), wake(0, 950, 3, false)];
        let record = Record { stretches, wakes };
        assert_eq!(time(&record, FINE, FREE, 2), Some(1000));
    }

    #[test]
    fn who_is_not_woken_did_not_sleep() {
        let user = |thread| stretch(thread, Doing::User, 100);
        let record = Record { stretches: vec![user(1), user(2), user(1), user(2)], wakes: vec![] };
        assert_eq!(time(&record, FINE, FREE, 2), Some(200));
        let ran = Span::Run(Activity::User, 100);
        assert!(threads(&record, FINE).iter().all(|thread| thread.spans == [ran, ran]));
    }

    #[test]
    fn a_wake_up_that_lies_outside_of_its_stretch_is_at_its_end() {
        let user = |thread| stretch(thread, Doing::User, 100);
        let wakes = vec![wake(0, 1 << 40, 2, true), wake(7, 0, 3, true)];
        let record = Record { stretches: vec![user(1), user(2)], wakes };
        assert_eq!(time(&record, FINE, FREE, 2), Some(200));
    }

    proptest! {
        /// Threads that meet at barriers take, on a CPU each, what the slowest takes of each phase; on one CPU whoever
        /// goes on first from one barrier is the first at the next.
        #[test]
        fn phases_take_as_long_as_who_is_slowest(
            phases in proptest::collection::vec(proptest::collection::vec(1_u64..1000, 4), 1..12),
        ) {
            let mut record = Record::default();
            let mut order: Vec<u32> = (1..=4).collect();
            for phase in &phases {
                for &thread in &order {
                    record.stretches.push(stretch(thread, Doing::User, phase[thread as usize - 1]));
                    record.stretches.push(stretch(thread, IPC, 1));
                }
                let last = record.stretches.len() - 1;
                record.wakes.extend(order[..3].iter().map(|&thread| wake(last, 0, thread, true)));
                order.rotate_right(1);
            }
            let slowest: u64 = phases.iter().filter_map(|phase| phase.iter().max()).sum();
            let found = time(&record, FINE, FREE, 4).unwrap();
            // Each phase ends with the call of the slowest, and that of who wakes the others then.
            let calls = 2 * phases.len() as u64;
            prop_assert!(found >= slowest && found <= slowest + calls, "{found} {slowest}");
            prop_assert_eq!(time(&record, FINE, FREE, 1), Some(record.cycles()));
        }
    }
}
