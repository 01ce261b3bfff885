//! What a workload would take on more CPUs, from what one CPU counted: its means make threads, which the
//! simulation of [`crate::simulate`] runs.
//!
//! A thread goes on in rounds: it computes, and then is in the kernel once. How long it computes is drawn from
//! an even distribution from 0 to twice the mean, so that threads do not fall into step; how long it is in the
//! kernel is the mean of the subsystem. In all, each thread does as much as was counted: only the order is
//! random. So threads do not get longer than each other, and the last one ends when the work does. Nothing is
//! known of who waits for whom: it is for copies of a workload that share nothing but the kernel. Nor is known
//! in which order calls come: copies whose calls of a subsystem follow each other wait for each other more.

use crate::counted::{Counted, Place};
use crate::mode::LockMode;
use crate::simulate::{Machine, SLICE, simulate};
use crate::subsystem::Subsystem;
use crate::trace::{Activity, Span, ThreadTrace};

/// The most rounds of a thread: more change a prediction by less than it is off.
const MOST_ROUNDS: u64 = 5000;

/// How many times as fast as on one CPU without locks a copy on each of so many `cpus` would be; none where
/// the counters do not say how often the kernel was entered.
pub fn speedup(one: &Counted, mode: LockMode, cpus: u32) -> Option<f64> {
    let threads: Vec<ThreadTrace> =
        (0..cpus).map(|number| thread(one, number)).collect::<Option<_>>()?;
    let work: u64 = threads.iter().flat_map(|thread| &thread.spans).map(length).sum();
    let machine = Machine { cpus: cpus as usize, locks: mode.locks(), slice: SLICE };
    let time = simulate(&threads, &machine).time;
    (time > 0).then(|| work as f64 / time as f64)
}

/// The law of Amdahl, where what is in the kernel is done by one at a time while all others wait.
pub fn amdahl(in_kernel: f64, cpus: u32) -> f64 {
    1.0 / (in_kernel + (1.0 - in_kernel) / f64::from(cpus.max(1)))
}

fn length(span: &Span) -> u64 {
    match span {
        Span::Run(_, length) => *length,
        _ => 0,
    }
}

/// A thread like the one that was counted.
fn thread(one: &Counted, number: u32) -> Option<ThreadTrace> {
    let calls: u64 = Subsystem::ALL.iter().map(|&of| one.taken.of(Place::Of(of))).sum();
    if calls == 0 {
        return None;
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(number) + 1);
    let entries = shuffled(entries(one, calls), &mut random);
    let drawn: Vec<f64> = entries.iter().map(|_| share(&mut random)).collect();
    // Of fewer rounds, each place has its share of the time, also where a rare call is more often among them.
    let part = |time: u64| time as f64 * calls.min(MOST_ROUNDS) as f64 / calls as f64;
    let mut often = [0_u64; Subsystem::ALL.len()];
    entries.iter().for_each(|of| often[of.index()] += 1);
    let kernel = Subsystem::ALL.map(|of| {
        (part(one.kernel.of(Place::Of(of))) / often[of.index()].max(1) as f64).round() as u64
    });
    let user = part(one.user);
    let longer = user / drawn.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let interrupt = (part(one.interrupt) / entries.len() as f64).round() as u64;
    let mut spans = Vec::new();
    for (of, drawn) in entries.into_iter().zip(drawn) {
        spans.push(Span::Run(Activity::User, (drawn * longer) as u64));
        if interrupt > 0 {
            spans.push(Span::Run(Activity::Interrupt, interrupt));
        }
        spans.push(Span::Run(Activity::Kernel(of), kernel[of.index()]));
    }
    Some(ThreadTrace { number: number + 1, name: String::new(), spans })
}

/// The subsystems of a thread's entries: as many of each as were counted, or in their proportion if those are too
/// many, but each at least once.
fn entries(one: &Counted, calls: u64) -> Vec<Subsystem> {
    let rounds = calls.min(MOST_ROUNDS);
    let (mut all, mut before) = (Vec::new(), 0);
    for of in Subsystem::ALL {
        // Rounding the sums, not the parts, makes exactly so many.
        let place =
            |entries: u64| (u128::from(entries) * u128::from(rounds) / u128::from(calls)) as u64;
        let until = before + one.taken.of(Place::Of(of));
        let least = u64::from(until > before);
        all.extend((0..(place(until) - place(before)).max(least)).map(|_| of));
        before = until;
    }
    all
}

/// By the algorithm of Fisher and Yates.
fn shuffled<T>(mut all: Vec<T>, random: &mut u64) -> Vec<T> {
    for at in (1..all.len()).rev() {
        all.swap(at, (next(random) % (at as u64 + 1)) as usize);
    }
    all
}

/// xorshift64* of S. Vigna.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// From 0 to 1.
fn share(state: &mut u64) -> f64 {
    (next(state) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::ByPlace;

    fn counted(user: u64, files: u64, memory: u64) -> Counted {
        let calls = |time: u64| if time > 0 { 2000 } else { 0 };
        Counted {
            user,
            kernel: ByPlace { files, memory, ..ByPlace::default() },
            taken: ByPlace { files: calls(files), memory: calls(memory), ..ByPlace::default() },
            ..Counted::default()
        }
    }

    fn near(found: f64, expected: f64, by: f64) -> bool {
        (found / expected - 1.0).abs() <= by
    }

    #[test]
    fn what_hardly_enters_the_kernel_scales_with_any_locks() {
        let one = counted(100_000_000, 100_000, 0);
        for mode in LockMode::ALL {
            assert!(near(speedup(&one, mode, 8).unwrap(), 8.0, 0.05), "{mode:?}");
        }
    }

    #[test]
    fn threads_that_enter_the_kernel_seldom_are_as_long_as_each_other() {
        // Ten calls: what is drawn for each would make some threads a third longer than others.
        let taken = ByPlace { files: 7, memory: 3, ..ByPlace::default() };
        let kernel = ByPlace { files: 700, memory: 600, ..ByPlace::default() };
        let one = Counted { user: 10_000_000, kernel, taken, ..Counted::default() };
        let total =
            |number| -> u64 { thread(&one, number).unwrap().spans.iter().map(length).sum() };
        for number in 0..8 {
            assert!(total(number).abs_diff(10_001_300) <= 20, "{number}: {}", total(number));
        }
        for mode in LockMode::ALL {
            let found = speedup(&one, mode, 8).unwrap();
            assert!(near(found, 8.0, 0.01), "{mode:?}: {found}");
        }
        // Far too many: in proportion.
        let taken = ByPlace { files: 3_000_000, ipc: 1_000_000, ..ByPlace::default() };
        let many = entries(&Counted { taken, ..one }, 4_000_000);
        let files = many.iter().filter(|of| **of == Subsystem::Files).count();
        assert_eq!((many.len(), files), (5000, 3750));
    }

    #[test]
    fn a_call_that_is_rare_and_long_has_its_share_of_the_time() {
        // Half of the time in the kernel is one call among a million.
        let taken = ByPlace { files: 999_999, processes: 1, ..ByPlace::default() };
        let kernel = ByPlace { files: 100_000_000, processes: 100_000_000, ..ByPlace::default() };
        let one = Counted { user: 200_000_000, kernel, taken, ..Counted::default() };
        let spans = thread(&one, 0).unwrap().spans;
        let time = |wanted: Activity| -> u64 {
            let of = |span: &&Span| matches!(span, Span::Run(activity, _) if *activity == wanted);
            spans.iter().filter(of).map(length).sum()
        };
        let [user, files, processes] = [
            Activity::User,
            Activity::Kernel(Subsystem::Files),
            Activity::Kernel(Subsystem::Processes),
        ]
        .map(time);
        assert!(near(processes as f64, files as f64, 0.01), "{files} {processes}");
        assert!(near(user as f64, (files + processes) as f64, 0.01), "{user}");
    }

    #[test]
    fn a_giant_lock_gives_no_more_than_the_kernel_lets() {
        // 64 in programs and 36 in the kernel: the bound is 1 / 0.36.
        let one = counted(64_000_000, 36_000_000, 0);
        let on = |mode, cpus| speedup(&one, mode, cpus).unwrap();
        assert!(near(on(LockMode::Giant, 1), 1.0, 1e-9));
        assert!(near(on(LockMode::Giant, 8), 1.0 / 0.36, 0.03), "{}", on(LockMode::Giant, 8));
        let two = on(LockMode::Giant, 2);
        assert!(two > amdahl(0.36, 2) && two < 2.0, "{two}");
        assert!(near(on(LockMode::Fine, 2), 2.0, 0.03));
        assert!(near(amdahl(0.36, 2), 1.47, 0.001));
    }

    #[test]
    fn calls_of_two_subsystems_wait_less_with_a_lock_for_each() {
        let one = counted(10_000_000, 45_000_000, 45_000_000);
        let (giant, coarse) = (
            speedup(&one, LockMode::Giant, 2).unwrap(),
            speedup(&one, LockMode::Coarse, 2).unwrap(),
        );
        assert!(coarse > giant * 1.2, "{giant} {coarse}");
        assert_eq!(speedup(&one, LockMode::Giant, 2), Some(giant));
        assert_eq!(speedup(&Counted { user: 5, ..Counted::default() }, LockMode::Fine, 2), None);
    }
}
