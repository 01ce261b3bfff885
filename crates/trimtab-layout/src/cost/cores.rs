//! The processor cores whose caches, address translation and branch prediction programs and kernels are put through.

use trimtab_program::PAGE_SIZE;

use super::{Geometry, Hierarchy};

/// A core: what it keeps at hand, and what it costs where that is not what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Core {
    /// What it is.
    pub name: &'static str,
    /// What it is called where one is chosen.
    pub id: &'static str,
    /// First-level instruction cache.
    pub l1i: Geometry,
    /// First-level data cache.
    pub l1d: Geometry,
    /// First-level instruction TLB for pages of 4 KiB.
    pub itlb_4k: Geometry,
    /// The same for pages of 2 MiB.
    pub itlb_2m: Geometry,
    /// Branches by which, with its address, one is predicted.
    pub history_bits: u32,
    /// Cycles that a miss of a first-level cache takes: the second level has it.
    pub l1_cycles: u64,
    /// Cycles that a walk of the page tables takes.
    pub walk_cycles: u64,
    /// Cycles that a branch takes that was not predicted.
    pub branch_cycles: u64,
}

/// The one that orders are judged by, too.
const COMMON: Hierarchy = Hierarchy::common(0);

/// The cores: one like Intel's first Atom (24 KiB of data in 6 ways; a history of 12 branches, 13 cycles), and a
/// common one. Nothing hides a miss, so that penalties are upper bounds.
///
/// Source of the sizes and of what a branch takes: A. Fog, "The microarchitecture of Intel, AMD and VIA CPUs",
/// chapters on Atom and on Alder Lake.
pub const CORES: [Core; 2] = [
    Core {
        name: "small in-order core",
        id: "small",
        l1i: Geometry { entries: 512, ways: 8, bytes: 64 },
        l1d: Geometry { entries: 384, ways: 6, bytes: 64 },
        itlb_4k: Geometry { entries: 32, ways: 32, bytes: PAGE_SIZE },
        itlb_2m: Geometry { entries: 8, ways: 8, bytes: 2 << 20 },
        history_bits: 12,
        l1_cycles: 15,
        walk_cycles: 30,
        branch_cycles: 13,
    },
    Core {
        name: "current core",
        id: "current",
        l1i: COMMON.l1i,
        l1d: Geometry { entries: 768, ways: 12, bytes: 64 },
        itlb_4k: COMMON.itlb_4k,
        itlb_2m: COMMON.itlb_2m,
        history_bits: 16,
        l1_cycles: 12,
        walk_cycles: 20,
        branch_cycles: 17,
    },
];

/// What a core executed, and how often it did not have at hand what it needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreCounts {
    /// Instructions.
    pub instructions: u64,
    /// Misses of the first-level instruction cache.
    pub l1i: u64,
    /// Misses of the first-level data cache.
    pub l1d: u64,
    /// Branches that were not predicted.
    pub branches: u64,
}

impl Core {
    /// The one that `id` chooses.
    pub fn of(id: &str) -> Option<Self> {
        CORES.into_iter().find(|core| core.id == id)
    }

    /// Cycles that it takes: one for each instruction, and what it waits.
    pub fn cycles(&self, counts: &CoreCounts) -> u64 {
        let CoreCounts { instructions, l1i, l1d, branches } = counts;
        instructions + (l1i + l1d) * self.l1_cycles + branches * self.branch_cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_takes_a_cycle_for_each_instruction_and_waits() {
        let counts = CoreCounts { instructions: 1000, l1i: 2, l1d: 3, branches: 10 };
        assert_eq!(Core::of("small").map(|core| core.cycles(&counts)), Some(1000 + 75 + 130));
        assert_eq!(Core::of("current").map(|core| core.cycles(&counts)), Some(1000 + 60 + 170));
        assert_eq!(Core::of("large"), None);
    }
}
