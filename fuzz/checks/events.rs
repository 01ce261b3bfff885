//! Any text is read as events of a kernel, and what its threads did takes as long on any CPUs.

use trimtab_smp::simulate::{LockCost, Locks, Machine, simulate};
use trimtab_smp::trace::{Reading, Timeline};

/// Whether it is a trace that can be used.
pub fn check(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let name = |number| (number == 0).then_some("read");
    let reading = Reading { name: &name, only: None, fault: Some(700) };
    let Ok(trace) = Timeline::read(text, &reading) else { return false };
    for locks in [Locks::GIANT, Locks::COARSE, Locks::FINE, Locks::OWN] {
        for cpus in [1, 3] {
            // Longer slices, so that a time of years is no millions of steps.
            let found = simulate(
                &trace.threads,
                &Machine { cpus, locks, slice: 1 << 50, lock: LockCost::default() },
            );
            if found.unfinished == 0 {
                let kernel: u64 = found.kernel.iter().sum();
                assert_eq!(found.user + found.interrupts + kernel, trace.busy());
            }
        }
    }
    true
}
