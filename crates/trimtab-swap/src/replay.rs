//! What a run needs of the swappable code, and how often a placement makes it wait for that.

use crate::code::Code;
use crate::heat::Run;
use crate::units::{Class, Units};
use rayon::prelude::*;
use std::collections::HashMap;
use trimtab_layout::cost::{Policy, faults};
use trimtab_layout::paged::Places;
use trimtab_layout::{PageIndex, PieceId};
use trimtab_program::{PAGE_SIZE, Range};

/// The swappable code that a run needs, in order.
///
/// A unit that is not longer than a page lies on one page in every placement; of a longer one each
/// page counts alone. So what is kept are *parts* of units, of a page at most.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// Each part: unit, and how many pages it lies behind the unit's start.
    parts: Vec<(PieceId, u32)>,
    /// Parts in the order in which control entered them; no two equal ones follow each other.
    order: Vec<u32>,
    /// Instructions that ran in all, in swappable and other code.
    instructions: u64,
}

impl Replay {
    /// Of each run.
    pub fn all(code: &Code<'_>, units: &Units, runs: &[Run<'_>]) -> Vec<Self> {
        runs.par_iter().map(|run| Self::of(code, units, run)).collect()
    }

    /// Takes from a run what is swappable. Takes time in proportion to the run's length.
    pub fn of(code: &Code<'_>, units: &Units, run: &Run<'_>) -> Self {
        let mut replay = Replay::default();
        let mut numbers: HashMap<(PieceId, u32), u32> = HashMap::new();
        // Of each block of the stream the parts that it needs.
        let mut spots: Vec<u32> = Vec::new();
        let blocks: Vec<(u32, u32, u32)> = run
            .stream()
            .blocks()
            .iter()
            .map(|block| {
                let first = spots.len() as u32;
                let range = Range::with_length(block.start, block.length.into());
                for (unit, offset, length) in units.within(range) {
                    if units.as_slice()[unit.index()].class != Class::Swappable {
                        continue;
                    }
                    for page in offset / PAGE_SIZE..=(offset + length - 1) / PAGE_SIZE {
                        let next = numbers.len() as u32;
                        let part = (unit, page as u32);
                        let number = *numbers.entry(part).or_insert_with(|| {
                            replay.parts.push(part);
                            next
                        });
                        if spots.len() as u32 == first || spots.last() != Some(&number) {
                            spots.push(number);
                        }
                    }
                }
                (first, spots.len() as u32, instructions(code, range))
            })
            .collect();
        for block in run.executions() {
            let (first, end, instructions) = blocks[block as usize];
            replay.instructions += u64::from(instructions);
            for spot in &spots[first as usize..end as usize] {
                if replay.order.last() != Some(spot) {
                    replay.order.push(*spot);
                }
            }
        }
        replay
    }

    /// Instructions of the kernel that ran.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// How often control entered a part of swappable code.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no swappable code ran.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The units that ran, in the order in which control entered them.
    pub fn references(&self) -> Vec<PieceId> {
        let mut units: Vec<PieceId> =
            self.order.iter().map(|part| self.parts[*part as usize].0).collect();
        units.dedup();
        units
    }

    /// The swappable pages that ran in a placement, in order, no two equal ones behind each other.
    pub fn pages(&self, places: &Places) -> Vec<PageIndex> {
        let page_of: Vec<PageIndex> = self
            .parts
            .iter()
            .map(|(unit, page)| {
                let offset = places.offsets.get(unit.index()).copied().flatten().unwrap_or(0);
                PageIndex((offset / PAGE_SIZE) as u32 + page)
            })
            .collect();
        let mut pages: Vec<PageIndex> =
            self.order.iter().map(|part| page_of[*part as usize]).collect();
        pages.dedup();
        pages
    }

    /// Page faults of a placement with so many frames, none of which holds a page at first.
    pub fn faults(&self, places: &Places, frames: usize, policy: Policy) -> u64 {
        faults(&self.pages(places), frames, policy)
    }
}

/// Instructions that begin in a range.
fn instructions(code: &Code<'_>, range: Range) -> u32 {
    trimtab_program::references::instructions(code.program(), range).count() as u32
}
