//! Where the pages come from that a run touches above the least that it must.

use super::pages;
use trimtab_program::{BlockMap, Fragment, Fragments, PAGE_SIZE, Program, Range, RangeSet};

/// Where the pages come from that a run touches above the function-level minimum.
///
/// All figures are in pages, with fractions; they add up to the pages touched less the minimum.
/// Each byte of a touched page belongs to one cause; the functions that ran account for the
/// minimum itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Excess {
    /// Padding between fragments.
    pub alignment: f64,
    /// Functions that did not run, in fragments that the kernel pins.
    pub pinned_sections: f64,
    /// Functions that did not run, in movable fragments on touched pages.
    pub sharing: f64,
    /// Below zero: parts of functions that ran which lie on pages that were not touched.
    pub cold_parts: f64,
    /// The rest: the minimum's own rounding up, and bytes outside of any fragment.
    pub other: f64,
}

impl Excess {
    /// Accounts for the pages of `section` that `executed` touches. `ran` is what
    /// [`functions_run`](super::functions_run) gives.
    pub fn account(
        program: &Program<'_>,
        fragments: &Fragments<'_>,
        executed: &RangeSet,
        ran: &RangeSet,
        movable: impl Fn(&Fragment<'_>) -> bool,
    ) -> Excess {
        let section = program.section(fragments.section()).range;
        let executed: RangeSet = executed.within(section).collect();
        let numbers = pages::touched(&executed);
        let touched: RangeSet =
            numbers.iter().map(|page| Range::with_length(page * PAGE_SIZE, PAGE_SIZE)).collect();
        let mut sums = Sums::default();
        let mut last_end = section.start;
        for fragment in fragments.as_slice() {
            sums.padding +=
                touched_bytes(&touched, Range { start: last_end, end: fragment.range.start });
            last_end = last_end.max(fragment.range.end);
            let all = touched_bytes(&touched, fragment.range);
            let hot: u64 =
                ran.within(fragment.range).map(|range| touched_bytes(&touched, range)).sum();
            sums.hot += hot;
            if movable(fragment) {
                sums.sharing += all - hot;
            } else {
                sums.pinned += all - hot;
            }
        }
        let ran_bytes: u64 = ran.within(section).map(Range::length).sum();
        let minimum = pages::minimum(ran_bytes);
        let excess = numbers.len() as f64 - minimum as f64;
        let in_pages = |bytes: u64| bytes as f64 / PAGE_SIZE as f64;
        let mut parts = Excess {
            alignment: in_pages(sums.padding),
            pinned_sections: in_pages(sums.pinned),
            sharing: in_pages(sums.sharing),
            cold_parts: in_pages(sums.hot) - in_pages(ran_bytes),
            other: 0.0,
        };
        parts.other =
            excess - parts.alignment - parts.pinned_sections - parts.sharing - parts.cold_parts;
        parts
    }
}

/// Which bytes that did not run lie on the pages that a run touches.
///
/// All figures are in pages, with fractions; each byte of a touched page that did not run belongs
/// to one cause, but for those outside of any fragment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExcessOverBytes {
    /// Padding between fragments.
    pub alignment: f64,
    /// In fragments that the kernel pins.
    pub pinned_sections: f64,
    /// In fragments without blocks that the compiler knows: written in assembly.
    pub assembly: f64,
    /// In entry blocks of functions.
    pub entry_blocks: f64,
    /// In other blocks.
    pub sharing: f64,
}

impl ExcessOverBytes {
    /// Accounts for the pages of the fragments' section that `executed` touches. `blocks` are those
    /// of the program.
    pub fn account(
        program: &Program<'_>,
        fragments: &Fragments<'_>,
        blocks: &BlockMap,
        executed: &RangeSet,
        movable: impl Fn(&Fragment<'_>) -> bool,
    ) -> ExcessOverBytes {
        let section = program.section(fragments.section()).range;
        let touched: RangeSet = pages::touched(executed)
            .iter()
            .map(|page| Range::with_length(page * PAGE_SIZE, PAGE_SIZE))
            .collect();
        let idle = |range: Range| {
            let ran: u64 = executed.within(range).map(Range::length).sum();
            (touched_bytes(&touched, range) - ran) as f64 / PAGE_SIZE as f64
        };
        let mut parts = ExcessOverBytes::default();
        let mut last_end = section.start;
        for fragment in fragments.as_slice() {
            parts.alignment += idle(Range { start: last_end, end: fragment.range.start });
            last_end = last_end.max(fragment.range.end);
            let all = idle(fragment.range);
            let known = |id| blocks.function(program.function(id).range.start);
            let entries: f64 = fragment
                .functions()
                .filter_map(|id| Some(known(id)?.first()?.range))
                .map(|entry| idle(entry.intersection(fragment.range)))
                .sum();
            if !movable(fragment) {
                parts.pinned_sections += all;
            } else if fragment.functions().next().is_some()
                && !fragment.functions().any(|id| known(id).is_some())
                && !fragment.name.ends_with(".cold")
            {
                parts.assembly += all;
            } else {
                parts.entry_blocks += entries;
                parts.sharing += all - entries;
            }
        }
        parts
    }
}

#[derive(Default)]
struct Sums {
    padding: u64,
    hot: u64,
    sharing: u64,
    pinned: u64,
}

fn touched_bytes(touched: &RangeSet, range: Range) -> u64 {
    touched.within(range).map(Range::length).sum()
}
