//! Sets of addresses, kept as sorted half-open ranges that neither overlap nor touch.

/// A half-open range of addresses `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// First address in the range.
    pub start: u64,
    /// First address after the range; never below `start`.
    pub end: u64,
}

impl Range {
    /// The range of `length` bytes from `start`; cut at the end of the address space.
    pub fn with_length(start: u64, length: u64) -> Self {
        Range { start, end: start.saturating_add(length) }
    }

    /// Bytes in the range.
    pub fn length(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is no address in the range.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether `address` lies in the range.
    pub fn contains(self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// The common part of two ranges; empty where they do not meet.
    pub fn intersection(self, other: Range) -> Range {
        let start = self.start.max(other.start);
        Range { start, end: self.end.min(other.end).max(start) }
    }
}

/// A set of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range>,
}

impl RangeSet {
    /// The set of all addresses that lie in any of `ranges`, which may overlap and come in any order.
    pub fn new(mut ranges: Vec<Range>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable();
        let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        RangeSet { ranges: merged }
    }

    /// The ranges in ascending order; they neither overlap nor touch.
    pub fn as_slice(&self) -> &[Range] {
        &self.ranges
    }

    /// Number of addresses in the set.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.length()).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The parts of the set that lie in `window`, in ascending order.
    pub fn within(&self, window: Range) -> impl Iterator<Item = Range> + '_ {
        let first = self.ranges.partition_point(|range| range.end <= window.start);
        self.ranges[first..]
            .iter()
            .take_while(move |range| !window.is_empty() && range.start < window.end)
            .map(move |range| range.intersection(window))
    }

    /// The set of addresses that lie in this or in `other`.
    pub fn union(&self, other: &RangeSet) -> RangeSet {
        let mut all = self.ranges.clone();
        all.extend_from_slice(&other.ranges);
        RangeSet::new(all)
    }
}

impl FromIterator<Range> for RangeSet {
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Self {
        RangeSet::new(ranges.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn range() -> impl Strategy<Value = Range> {
        (0u64..200, 0u64..20).prop_map(|(start, length)| Range::with_length(start, length))
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_single_addresses(ranges in prop::collection::vec(range(), 0..20), window in range()) {
            let naive: BTreeSet<u64> = ranges.iter().flat_map(|r| r.start..r.end).collect();
            let set = RangeSet::new(ranges);
            let listed: Vec<u64> = set.as_slice().iter().flat_map(|r| r.start..r.end).collect();
            prop_assert_eq!(&listed, &naive.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.bytes(), naive.len() as u64);
            for pair in set.as_slice().windows(2) {
                prop_assert!(pair[0].end < pair[1].start);
            }
            let inside: Vec<u64> = set.within(window).flat_map(|r| r.start..r.end).collect();
            let expected: Vec<u64> = naive.iter().copied().filter(|a| window.contains(*a)).collect();
            prop_assert_eq!(inside, expected);
        }
    }
}
