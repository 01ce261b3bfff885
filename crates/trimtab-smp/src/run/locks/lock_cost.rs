//! What a giant or coarse lock costs by itself, from copies that hardly do anything but take it.

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;

use super::{LocksRequest, counted};
use crate::counted::Counted;
use crate::mode::LockMode;
use crate::run::guest::{Copies, Guest, GuestSetup, OwnWorkload, ScaleWorkload};
use crate::simulate::LockCost;

/// CPUs on which somebody always waits, where each is in the kernel for most of its time.
const WAITING_CPUS: u32 = 4;

/// What a boot took, and what its CPUs did in that time.
struct Took {
    nanoseconds: u64,
    counted: Counted,
}

/// Boots copies that make nothing but [short calls](OwnWorkload::Calls): one without a lock, one with the giant lock,
/// which it always finds free, and several, which hardly ever do.
pub(super) fn lock_cost(
    request: &LocksRequest,
    work: &WorkDir,
    observe: &dyn Observe,
) -> Result<LockCost> {
    let workload = ScaleWorkload::Own(OwnWorkload::Calls);
    let setup =
        GuestSetup { workload: workload.clone(), copies: Copies::Each, ..request.setup.clone() };
    let request = LocksRequest { setup, ..request.clone() };
    let guest = Guest::build(work, &request.guest(&workload, &[1, WAITING_CPUS]), observe)?;
    let boot = |mode, cpus| {
        let ran = guest.run(&request.boot_of(mode, cpus, request.setup.quantum), observe)?;
        let counted = counted(&ran, Copies::Each, &workload)?;
        Ok::<_, anyhow::Error>(Took { nanoseconds: ran.nanoseconds, counted })
    };
    let free = boot(LockMode::Fine, 1)?;
    Ok(cost(&free, &boot(LockMode::Giant, 1)?, &boot(LockMode::Giant, WAITING_CPUS)?))
}

/// From a copy without a lock, one with it, and several of which one is in the kernel at any time.
fn cost(free: &Took, one: &Took, several: &Took) -> LockCost {
    let entries = |took: &Took| took.counted.taken.sum().max(1) as f64;
    let taking = (one.nanoseconds as f64 - free.nanoseconds as f64) / entries(one);
    let in_kernel = free.counted.kernel.sum() as f64 / entries(free);
    let passing = several.nanoseconds as f64 / entries(several) - in_kernel - taking;
    let whole = |cost: f64| cost.round().max(0.0) as u64;
    LockCost { taking: whole(taking), passing: whole(passing) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::ByPlace;

    #[test]
    fn a_lock_s_cost_is_what_calls_take_longer_with_it() {
        let took = |nanoseconds, calls, in_kernel| {
            let of = |processes| ByPlace { processes, ..ByPlace::default() };
            let counted = Counted { taken: of(calls), kernel: of(in_kernel), ..Counted::default() };
            Took { nanoseconds, counted }
        };
        // 60 in the program and 140 in the kernel.
        let free = took(200_000, 1000, 140_000);
        let one = took(220_000, 1000, 160_000);
        let several = took(4 * 175_000, 4 * 1000, 4 * 170_000);
        assert_eq!(cost(&free, &one, &several), LockCost { taking: 20, passing: 15 });
        // Nothing is less than nothing.
        assert_eq!(cost(&one, &free, &free), LockCost { taking: 0, passing: 60 });
        assert_eq!(cost(&took(0, 0, 0), &took(0, 0, 0), &took(0, 0, 0)), LockCost::default());
    }
}
