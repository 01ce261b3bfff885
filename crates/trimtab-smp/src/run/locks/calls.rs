//! What system calls cost with locks of each kind, with none, and in the same kernel without the patch.

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::calls::{self, CALLS, Costs};
use trimtab_machine::kernel::Feature;

use super::{LocksRequest, boot_arguments, lines};
use crate::feature::GIANT;
use crate::mode::LockMode;
use crate::report::locks::LockedCall;
use crate::run::guest::{Guest, KernelKind, ScaleWorkload};

/// Boots the suite on one CPU: a kernel without the patch, and one with it in each mode, off among them.
pub(super) fn costs(
    request: &LocksRequest,
    patched: &Guest<'_>,
    work: &WorkDir,
    workload: &ScaleWorkload,
    observe: &dyn Observe,
) -> Result<Vec<LockedCall>> {
    const FEATURES: &[&Feature] = &[&CALLS];
    let plain = KernelKind { features: FEATURES, lines: without_patch(), counts: false };
    let plain = Guest::build(work, &request.setup.guest(workload, vec![1], plain), observe)?;
    let boot = |guest: &Guest<'_>, arguments| {
        let ran =
            guest.run(&request.setup.boot_of(1, request.setup.quantum, arguments), observe)?;
        Ok::<Costs, anyhow::Error>(calls::costs(&ran.said, None)?)
    };
    let without = boot(&plain, Vec::new()).context("without the patch")?;
    let off = boot(patched, boot_arguments("off"))?;
    let with = |mode: LockMode| boot(patched, boot_arguments(mode.name()));
    let (fine, coarse, giant) =
        (with(LockMode::Fine)?, with(LockMode::Coarse)?, with(LockMode::Giant)?);
    let row = |(name, &without): (&String, &u64)| {
        let of = |costs: &Costs| {
            let cost = costs.get(name).copied();
            cost.with_context(|| format!("the kernel with the patch does not have the call {name}"))
        };
        Ok(LockedCall {
            name: name.clone(),
            without,
            off: of(&off)?,
            fine: of(&fine)?,
            coarse: of(&coarse)?,
            giant: of(&giant)?,
        })
    };
    without.iter().map(row).collect()
}

/// What the kernel with the patch is configured with, but for the patch.
fn without_patch() -> String {
    let fragments = ["needs", "wants"].into_iter().filter_map(|name| GIANT.fragment(name));
    let all = fragments.flat_map(str::lines).filter(|line| *line != "CONFIG_GIANT_LOCK=y");
    let mut text: String = all.flat_map(|line| [line, "\n"]).collect();
    text.push_str(&lines(false));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_patch_is_missing() {
        let fragment = |name| GIANT.fragment(name).unwrap();
        assert!(fragment("needs").contains("CONFIG_GIANT_LOCK=y\n"));
        let text = without_patch();
        assert!(!text.contains("GIANT"), "{text}");
        for line in lines(false).lines().chain(["CONFIG_JUMP_LABEL=y", "CONFIG_DEBUG_FS=y"]) {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(!text.contains("PROVE_LOCKING") && lines(true).contains("CONFIG_PROVE_LOCKING=y"));
    }
}
