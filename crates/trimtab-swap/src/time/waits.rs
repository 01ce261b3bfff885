//! How long cores wait for the code of a boot.

use serde::{Deserialize, Serialize};
use trimtab_layout::cost::{Cache, Core};
use trimtab_program::{Program, Range};

/// Bytes that a large page covers.
const LARGE: u64 = 2 << 20;

/// Cycles that one of [the cores](trimtab_layout::cost::CORES) waits for code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// For lines of the instruction cache.
    pub cache: u64,
    /// For address translation.
    pub translation: u64,
}

/// A core that executes.
pub(crate) struct CoreState {
    core: Core,
    l1i: Cache,
    itlb_4k: Cache,
    itlb_2m: Cache,
    /// What is mapped by small pages.
    small: Range,
}

impl CoreState {
    /// A core that has fetched nothing.
    pub fn new(core: Core, small: Range) -> Self {
        CoreState {
            core,
            l1i: Cache::new(core.l1i),
            itlb_4k: Cache::new(core.itlb_4k),
            itlb_2m: Cache::new(core.itlb_2m),
            small,
        }
    }

    /// Executes a block.
    pub fn execute(&mut self, block: Range) {
        self.l1i.fetch(block);
        match self.small.contains(block.start) {
            true => self.itlb_4k.fetch(block),
            false => self.itlb_2m.fetch(block),
        }
    }

    /// How long it waited.
    pub fn waits(&self) -> Waits {
        let walks = self.itlb_4k.misses() + self.itlb_2m.misses();
        Waits {
            cache: self.l1i.misses() * self.core.l1_cycles,
            translation: walks * self.core.walk_cycles,
        }
    }
}

/// The text of a kernel that swapping maps by small pages: all large pages that hold some of what is
/// swapped.
pub(crate) fn small_pages(program: &Program<'_>) -> Range {
    let address = |name| program.address_of(name).unwrap_or(0);
    let (start, end) = (address("__coldswap_start"), address("__coldswap_end"));
    let gap = address("__coldswap_gap");
    match start < end {
        true => Range { start: gap / LARGE * LARGE, end: end.div_ceil(LARGE) * LARGE },
        false => Range { start: 0, end: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_layout::cost::CORES;
    use trimtab_program::PAGE_SIZE;

    #[test]
    fn code_that_fits_waits_once_and_code_that_does_not_waits_again() {
        let none = Range { start: 0, end: 0 };
        let block = |at: u64| Range::with_length(at * 64, 64);
        let mut core = CoreState::new(CORES[0], none);
        for at in (0..512).chain(0..512) {
            core.execute(block(at));
        }
        assert_eq!(core.waits(), Waits { cache: 512 * 15, translation: 30 });
        let mut core = CoreState::new(CORES[0], none);
        for at in (0..1024).chain(0..1024) {
            core.execute(block(at));
        }
        assert_eq!(core.waits(), Waits { cache: 2048 * 15, translation: 30 });
    }

    #[test]
    fn small_pages_are_translated_one_by_one() {
        let small = Range { start: 0, end: 64 * PAGE_SIZE };
        let mut core = CoreState::new(CORES[0], small);
        for page in (0..64).chain(0..64) {
            core.execute(Range::with_length(page * PAGE_SIZE, 16));
        }
        assert_eq!(core.waits().translation, 128 * 30);
    }
}
