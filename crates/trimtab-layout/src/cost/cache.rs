//! A set-associative cache, or TLB, of which misses are counted.

use trimtab_program::Range;

/// Size and shape of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Entries in all.
    pub entries: usize,
    /// Entries that compete for the same addresses.
    pub ways: usize,
    /// Bytes that an entry covers.
    pub bytes: u64,
}

/// A cache whose sets each replace the entry that was used the longest ago.
#[derive(Debug, Clone)]
pub struct Cache {
    ways: usize,
    bytes: u64,
    sets: u64,
    /// The entries, set by set, the most recently used first.
    tags: Vec<u64>,
    /// The entry that was used last: fetching on costs nothing.
    last: u64,
    misses: u64,
}

/// The tag of an empty entry: no address has it.
const EMPTY: u64 = u64::MAX;

impl Cache {
    /// An empty cache. Entries that do not fill a set are left out; there is at least one.
    pub fn new(geometry: Geometry) -> Self {
        let ways = geometry.ways.clamp(1, geometry.entries.max(1));
        let sets = (geometry.entries / ways).max(1);
        Cache {
            ways,
            bytes: geometry.bytes.max(2),
            sets: sets as u64,
            tags: vec![EMPTY; sets * ways],
            last: EMPTY,
            misses: 0,
        }
    }

    /// Fetches all bytes of `range`.
    pub fn fetch(&mut self, range: Range) {
        if range.is_empty() {
            return;
        }
        for tag in range.start / self.bytes..=(range.end - 1) / self.bytes {
            if tag != self.last {
                self.last = tag;
                self.fetch_entry(tag);
            }
        }
    }

    fn fetch_entry(&mut self, tag: u64) {
        let first = (tag % self.sets) as usize * self.ways;
        let set = &mut self.tags[first..first + self.ways];
        let place = match set.iter().position(|other| *other == tag) {
            Some(place) => place,
            None => {
                self.misses += 1;
                set.len() - 1
            }
        };
        set[..=place].rotate_right(1);
        set[0] = tag;
    }

    /// Fetches so far that did not find their entry.
    pub fn misses(&self) -> u64 {
        self.misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn misses(geometry: Geometry, addresses: &[u64]) -> u64 {
        let mut cache = Cache::new(geometry);
        for &address in addresses {
            cache.fetch(Range::with_length(address, 1));
        }
        cache.misses()
    }

    #[test]
    fn the_longest_unused_entry_goes() {
        let geometry = Geometry { entries: 2, ways: 2, bytes: 64 };
        assert_eq!(misses(geometry, &[0, 64, 0, 128, 0, 64]), 4);
        let direct = Geometry { entries: 2, ways: 1, bytes: 64 };
        assert_eq!(misses(direct, &[0, 128, 0, 128, 64, 64]), 5);
    }

    #[test]
    fn a_range_fetches_each_of_its_lines() {
        let mut cache = Cache::new(Geometry { entries: 8, ways: 8, bytes: 64 });
        cache.fetch(Range { start: 60, end: 130 });
        cache.fetch(Range { start: 128, end: 129 });
        cache.fetch(Range { start: 5, end: 5 });
        assert_eq!(cache.misses(), 3);
    }

    proptest! {
        #[test]
        fn a_larger_cache_never_misses_more(addresses in prop::collection::vec(0u64..4096, 0..200)) {
            // LRU within one set keeps what a smaller one keeps.
            let full = |ways| Geometry { entries: ways, ways, bytes: 64 };
            let lines: BTreeSet<u64> = addresses.iter().map(|address| address / 64).collect();
            let (small, large) = (misses(full(4), &addresses), misses(full(8), &addresses));
            prop_assert!(large <= small && lines.len() as u64 <= large);
            prop_assert_eq!(misses(full(64), &addresses), lines.len() as u64);
        }
    }
}
