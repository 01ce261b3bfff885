//! What the model says of a workload, from what one CPU did.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;

use super::{LocksRequest, boot_arguments};
use crate::mode::LockMode;
use crate::recorded::{self, Stretch};
use crate::run::guest::{BootOf, Copies, Guest, OwnWorkload, ScaleWorkload};

/// What one CPU does in its order, for each kind of copies, where the model can make something of it: nothing
/// otherwise.
pub(super) fn records(
    request: &LocksRequest,
    guest: &Guest<'_>,
    observe: &dyn Observe,
) -> Result<Vec<Vec<Stretch>>> {
    if !shares_nothing(request) {
        return Ok(Vec::new());
    }
    // Boots of their own: to keep a stretch takes some instructions, which no other boot is to have.
    let one = |kind| {
        let arguments = boot_arguments(LockMode::Fine.name());
        let boot = request.setup.boot_of(1, request.setup.quantum, arguments);
        let ran = guest.run(&BootOf { records: Some(kind), ..boot }, observe)?;
        let nothing = BTreeMap::new();
        let lines = ran.said.get("record").unwrap_or(&nothing);
        recorded::read(lines).context("the model knows nothing of this workload")
    };
    (0..request.setup.workload.kinds()).map(one).collect()
}

/// Copies that share nothing but the kernel.
fn shares_nothing(request: &LocksRequest) -> bool {
    request.setup.copies == Copies::Each
        && matches!(
            request.setup.workload,
            ScaleWorkload::Own(own) if own.copies() == Copies::Each && own != OwnWorkload::Step
        )
}
