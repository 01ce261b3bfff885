//! What the simulation does, in small cases and in random ones.

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
    let threads =
        threads(&[&[Span::Run(FILES, 100)], &[Span::Run(MEMORY, 100)], &[Span::Run(FILES, 100)]]);
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
