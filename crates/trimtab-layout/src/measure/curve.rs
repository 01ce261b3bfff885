//! The page-fault curve: how many distinct pages a run has touched after each of its events.

use std::collections::HashSet;
use trimtab_program::{PAGE_SIZE, Range};

/// Distinct pages touched after each event; an event is a run of bytes that executes.
pub fn curve(events: impl IntoIterator<Item = Range>) -> Vec<u32> {
    let mut seen = HashSet::new();
    events
        .into_iter()
        .map(|range| {
            if !range.is_empty() {
                seen.extend(range.start / PAGE_SIZE..=(range.end - 1) / PAGE_SIZE);
            }
            seen.len() as u32
        })
        .collect()
}

/// The area under a curve: the sum of its heights, in pages × events. Smaller means that pages
/// are touched later or never.
pub fn area(curve: &[u32]) -> u64 {
    curve.iter().map(|&height| u64::from(height)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_page_once() {
        let events = [(0, 10), (5000, 4000), (20, 1), (4096, 1)]
            .map(|(start, length)| Range::with_length(start, length));
        let curve = curve(events);
        assert_eq!(curve, [1, 3, 3, 3]);
        assert_eq!(area(&curve), 10);
    }
}
