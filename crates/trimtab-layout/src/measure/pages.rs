//! How many pages a run touches, and the least that it must.

use trimtab_program::{PAGE_SIZE, Range, RangeSet};

/// The numbers of the pages that hold any byte of `executed`, ascending, each once.
pub fn touched(executed: &RangeSet) -> Vec<u64> {
    let mut pages: Vec<u64> = Vec::new();
    for range in executed.as_slice() {
        let mut first = range.start / PAGE_SIZE;
        let last = (range.end - 1) / PAGE_SIZE;
        if let Some(&previous) = pages.last() {
            first = first.max(previous + 1);
        }
        pages.extend(first..=last);
    }
    pages
}

/// The fewest pages that hold `bytes` bytes.
pub fn minimum(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_SIZE)
}

/// Pages from the first to the last byte of `range`.
pub fn spanned(range: Range) -> u64 {
    if range.is_empty() {
        return 0;
    }
    (range.end - 1) / PAGE_SIZE - range.start / PAGE_SIZE + 1
}

/// For each page of `range`, how many of its bytes are in `executed`.
pub fn map(range: Range, executed: &RangeSet) -> Vec<u32> {
    let first = range.start / PAGE_SIZE;
    let mut pages = vec![0u32; spanned(range) as usize];
    for part in executed.within(range) {
        let mut start = part.start;
        while start < part.end {
            let page = start / PAGE_SIZE;
            let end = part.end.min((page + 1) * PAGE_SIZE);
            pages[(page - first) as usize] += (end - start) as u32;
            start = end;
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn page_maths_agrees_with_single_bytes(
            ranges in prop::collection::vec((0u64..40_000, 0u64..9_000), 0..12)
        ) {
            let executed: RangeSet =
                ranges.iter().map(|&(start, length)| Range::with_length(start, length)).collect();
            let naive: BTreeSet<u64> = executed
                .as_slice()
                .iter()
                .flat_map(|range| range.start..range.end)
                .map(|byte| byte / PAGE_SIZE)
                .collect();
            let pages = touched(&executed);
            prop_assert_eq!(&pages, &naive.into_iter().collect::<Vec<_>>());
            prop_assert!(minimum(executed.bytes()) <= pages.len() as u64);
            let whole = Range { start: 0, end: 64 * PAGE_SIZE };
            let map = map(whole, &executed);
            prop_assert_eq!(map.len(), 64);
            prop_assert_eq!(map.iter().map(|&b| u64::from(b)).sum::<u64>(), executed.bytes());
            prop_assert_eq!(map.iter().filter(|&&b| b > 0).count(), pages.len());
        }
    }

    #[test]
    fn counts_the_pages_that_a_range_spans() {
        assert_eq!(spanned(Range { start: 4095, end: 4097 }), 2);
        assert_eq!(spanned(Range { start: 4096, end: 8192 }), 1);
        assert_eq!(spanned(Range { start: 5, end: 5 }), 0);
    }
}
