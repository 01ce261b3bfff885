//! What the model says of a workload, from what one CPU did.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;

use super::{LocksRequest, boot_arguments};
use crate::extrapolate;
use crate::mode::LockMode;
use crate::recorded::{self, Stretch};
use crate::report::locks::LEAST_RECORDED;
use crate::run::guest::{BootOf, Copies, Guest, OwnWorkload, ScaleWorkload};

/// What the model goes by.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Records {
    /// What one CPU does in its order, for each kind of copies.
    stretches: Vec<Vec<Stretch>>,
    /// Which share of the time of such a boot its record covers, of the kind with the least; none where nothing
    /// was recorded.
    pub(super) covered: Option<f64>,
}

impl Records {
    /// Those of boots, each with the nanoseconds that its workload took. A cycle is a nanosecond.
    fn of(boots: Vec<(u64, Vec<Stretch>)>) -> Self {
        let share = |(nanoseconds, record): &(u64, Vec<Stretch>)| {
            let recorded: u64 = record.iter().map(|stretch| stretch.cycles).sum();
            recorded as f64 / (*nanoseconds).max(1) as f64
        };
        let covered = boots.iter().map(share).min_by(f64::total_cmp);
        Self { stretches: boots.into_iter().map(|(_, record)| record).collect(), covered }
    }

    /// How many times as fast as on one CPU without locks a copy on each CPU would be; none where too little was
    /// recorded.
    pub(super) fn speedup(&self, mode: LockMode, cpus: u32) -> Option<f64> {
        self.covered.filter(|&covered| covered >= LEAST_RECORDED)?;
        extrapolate::speedup(&self.stretches, mode, cpus)
    }
}

/// What one CPU does, where the model can make something of it: nothing otherwise.
pub(super) fn records(
    request: &LocksRequest,
    guest: &Guest<'_>,
    observe: &dyn Observe,
) -> Result<Records> {
    if !shares_nothing(request) {
        return Ok(Records::default());
    }
    // Boots of their own: to keep a stretch takes some instructions, which no other boot is to have.
    let one = |kind| {
        let arguments = boot_arguments(LockMode::Fine.name());
        let boot = request.setup.boot_of(1, request.setup.quantum, arguments);
        let ran = guest.run(&BootOf { records: Some(kind), ..boot }, observe)?;
        let nothing = BTreeMap::new();
        let lines = ran.said.get("record").unwrap_or(&nothing);
        let record = recorded::read(lines).context("the model knows nothing of this workload")?;
        Ok((ran.nanoseconds, record))
    };
    let boots: Result<_> = (0..request.setup.workload.kinds()).map(one).collect();
    boots.map(Records::of)
}

/// Copies that share nothing but the kernel.
fn shares_nothing(request: &LocksRequest) -> bool {
    request.setup.copies == Copies::Each
        && matches!(
            request.setup.workload,
            ScaleWorkload::Own(own) if own.copies() == Copies::Each && own != OwnWorkload::Step
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::Doing;

    #[test]
    fn a_record_that_was_cut_says_nothing() {
        let boot =
            |nanoseconds, cycles| (nanoseconds, vec![Stretch { doing: Doing::User, cycles }; 10]);
        let whole = Records::of(vec![boot(1000, 99), boot(2000, 200)]);
        assert_eq!(whole.covered, Some(0.99));
        assert_eq!(whole.speedup(LockMode::Fine, 1), Some(1.0));
        let cut = Records::of(vec![boot(1000, 100), boot(1000, 97)]);
        assert_eq!(cut.covered, Some(0.97));
        assert_eq!(cut.speedup(LockMode::Fine, 1), None);
        assert_eq!(Records::default().speedup(LockMode::Fine, 1), None);
    }
}
