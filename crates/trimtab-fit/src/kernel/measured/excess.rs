//! Where the pages come from that a boot touches above a minimum, in whole pages that add up.

use crate::report::ByteExcess;
use anyhow::{Context, Result};
use trimtab_layout::{Excess, ExcessOverBytes, functions_run};
use trimtab_program::{PAGE_SIZE, RangeSet};

use super::Evidence;

/// The excess over the function-level minimum by cause, in whole pages that add up.
pub(super) fn excess(m: &Evidence<'_>, touched: u32, minimum: u32) -> crate::report::Excess {
    let kernel = m.after.kernel;
    let ran = functions_run(&kernel.program, kernel.text, m.after.profile);
    let parts = Excess::account(
        &kernel.program,
        &kernel.fragments,
        m.after.profile.executed(),
        &ran,
        |fragment| kernel.movable(fragment),
    );
    // What was split off functions is cold code of theirs that has gone elsewhere.
    let before = m.before.kernel;
    let ran_before = functions_run(&before.program, before.text, m.before.profile);
    let gone = match m.split {
        None => 0.0,
        Some(_) => (ran.bytes() as f64 - ran_before.bytes() as f64) / PAGE_SIZE as f64,
    };
    // The minimum is that of the first kernel's boot, and no two boots run quite the same: what is
    // left is other.
    let total = i64::from(touched) - i64::from(minimum);
    let [alignment, pinned_sections, sharing, cold_parts, other] = whole(
        [parts.alignment, parts.pinned_sections, parts.sharing, parts.cold_parts + gone, 0.0],
        total,
    );
    crate::report::Excess { alignment, pinned_sections, sharing, cold_parts, other }
}

/// The excess over the executed bytes by cause, in whole pages that add up.
pub(super) fn byte_excess(m: &Evidence<'_>, touched: u32, minimum: u32) -> Result<ByteExcess> {
    let kernel = m.after.kernel;
    let map = m.block_map.context("a split kernel has a map of its blocks")?;
    let executed: RangeSet = m.after.profile.executed().within(kernel.range()).collect();
    let parts =
        ExcessOverBytes::account(&kernel.program, &kernel.fragments, map, &executed, |fragment| {
            kernel.movable(fragment)
        });
    let before: RangeSet = m.before.profile.executed().within(m.before.kernel.range()).collect();
    let longer = (executed.bytes() as f64 - before.bytes() as f64) / PAGE_SIZE as f64;
    let total = i64::from(touched) - i64::from(minimum);
    let [alignment, pinned_sections, assembly, entry_blocks, sharing, longer_code, other] = whole(
        [
            parts.alignment,
            parts.pinned_sections,
            parts.assembly,
            parts.entry_blocks,
            parts.sharing,
            longer,
            0.0,
        ],
        total,
    );
    Ok(ByteExcess {
        alignment,
        pinned_sections,
        assembly,
        entry_blocks,
        sharing,
        longer_code,
        other,
    })
}

/// Parts in whole numbers that add up to `total`: the last takes what the others leave.
fn whole<const N: usize>(mut parts: [f64; N], total: i64) -> [i64; N] {
    let sum: f64 = parts.iter().sum();
    if let Some(last) = parts.last_mut() {
        *last += total as f64 - sum;
    }
    apportion(parts, total)
}

/// Rounds parts that add up to `total` to whole numbers that do: each down, then as many up as are
/// missing, those with the largest remainders (Hamilton's method).
fn apportion<const N: usize>(parts: [f64; N], total: i64) -> [i64; N] {
    let mut whole = parts.map(|part| part.floor() as i64);
    let mut by_remainder: Vec<usize> = (0..N).collect();
    let remainder = |index: &usize| parts[*index] - parts[*index].floor();
    by_remainder.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let missing = usize::try_from(total - whole.iter().sum::<i64>()).unwrap_or(0);
    for index in by_remainder.into_iter().take(missing) {
        whole[index] += 1;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_whole_numbers_add_up() {
        assert_eq!(apportion([0.5, 0.5, 1.5, 0.25, 0.25], 3), [1, 1, 1, 0, 0]);
        assert_eq!(apportion([2.0, -1.0, 0.0], 1), [2, -1, 0]);
        assert_eq!(apportion([-0.4, -0.6, 3.0], 2), [0, -1, 3]);
        assert_eq!(apportion([0.9999999, 1.0000001], 2), [1, 1]);
        assert_eq!(apportion([0.0; 5], 0), [0; 5]);
    }
}
