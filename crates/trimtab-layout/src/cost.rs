//! What an order costs: the models that judge one.
//!
//! [`Execution`] is what ran, in terms of pieces; with a [`Placement`] it becomes a stream of
//! addresses, which [`judge`] puts through all models.

mod area;
mod cache;
mod cores;
mod execution;
mod paging;

pub use crate::ids::SpotId;
pub use area::{FUNCTIONS_PER_PAGE, function_area};
pub use cache::{Cache, Geometry};
pub use cores::{CORES, Core, CoreCounts};
pub use execution::{Execution, Spot};
pub use paging::{Policy, faults};

use crate::curve::{area, curve};
use crate::{PageIndex, Placement};
use std::collections::HashMap;
use trimtab_program::PAGE_SIZE;

// Names of fields and columns say so, here and in reports.
const _: () = assert!(PAGE_SIZE == 4 << 10, "the first-level TLB is for pages of 4 KiB");

/// The memory hierarchy that is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hierarchy {
    /// First-level instruction cache.
    pub l1i: Geometry,
    /// First-level instruction TLB for pages of 4 KiB.
    pub itlb_4k: Geometry,
    /// The same for pages of 2 MiB.
    pub itlb_2m: Geometry,
    /// Pages of code that memory has room for, in the model of demand paging.
    pub frames: usize,
    /// Seed of random replacement.
    pub seed: u64,
}

impl Hierarchy {
    /// A common x86-64 core: 32 KiB of L1I in 8 ways of 64 bytes; 128 entries in 8 ways for pages of
    /// 4 KiB, and 8 entries for pages of 2 MiB.
    pub const fn common(frames: usize) -> Self {
        Hierarchy {
            l1i: Geometry { entries: 512, ways: 8, bytes: 64 },
            itlb_4k: Geometry { entries: 128, ways: 8, bytes: PAGE_SIZE },
            itlb_2m: Geometry { entries: 8, ways: 8, bytes: 2 << 20 },
            frames,
            seed: 0,
        }
    }
}

/// What one run costs in one layout. Each is a count; less is better.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Costs {
    /// Pages of 4 KiB that hold a byte that ran.
    pub touched: u64,
    /// The area under the page-fault curve, in pages times first executions of blocks.
    pub area: u64,
    /// The curve itself: distinct pages touched after each first execution.
    pub curve: Vec<u32>,
    /// Misses of the instruction cache.
    pub l1i: u64,
    /// Misses of the TLB with pages of 4 KiB.
    pub itlb_4k: u64,
    /// Misses of the TLB with pages of 2 MiB.
    pub itlb_2m: u64,
    /// Page faults when memory has room for [`Hierarchy::frames`] pages of code.
    pub paging: PagingFaults,
}

/// Page faults by what is replaced when memory is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PagingFaults {
    /// The page that was used the longest ago.
    pub lru: u64,
    /// The page that was loaded the longest ago.
    pub fifo: u64,
    /// Any page.
    pub random: u64,
    /// A page that was not used of late.
    pub nru: u64,
    /// The page that will be used last: no policy can do better.
    pub optimum: u64,
}

/// Runs `execution` in the layout `placement` on `hierarchy`.
pub fn judge(execution: &Execution, placement: &Placement, hierarchy: &Hierarchy) -> Costs {
    let curve = curve(execution.first_executions(placement));
    let mut l1i = Cache::new(hierarchy.l1i);
    let mut itlb_4k = Cache::new(hierarchy.itlb_4k);
    let mut itlb_2m = Cache::new(hierarchy.itlb_2m);
    let mut numbers: HashMap<u64, PageIndex> = HashMap::new();
    let mut pages: Vec<PageIndex> = Vec::new();
    for range in execution.addresses(placement).filter(|range| !range.is_empty()) {
        l1i.fetch(range);
        itlb_4k.fetch(range);
        itlb_2m.fetch(range);
        for page in range.start / PAGE_SIZE..=(range.end - 1) / PAGE_SIZE {
            let next = PageIndex::at(numbers.len());
            let number = *numbers.entry(page).or_insert(next);
            if pages.last() != Some(&number) {
                pages.push(number);
            }
        }
    }
    let paging = |policy| faults(&pages, hierarchy.frames, policy);
    Costs {
        touched: curve.last().copied().unwrap_or(0).into(),
        area: area(&curve),
        curve,
        l1i: l1i.misses(),
        itlb_4k: itlb_4k.misses(),
        itlb_2m: itlb_2m.misses(),
        paging: PagingFaults {
            lru: paging(Policy::Lru),
            fifo: paging(Policy::Fifo),
            random: paging(Policy::Random { seed: hierarchy.seed }),
            nru: paging(Policy::Nru),
            optimum: paging(Policy::Optimum),
        },
    }
}
