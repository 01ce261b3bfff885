//! How often code that is not hot is needed again after a cache has evicted it.

use crate::code::{BlockId, Code};
use crate::heat::{Heat, HotBlocks, Run};
use rayon::prelude::*;
use trimtab_program::Range;

/// How often each block comes back to a cache that has forgotten it.
///
/// A share of all instructions, which is how the paper says what is hot, leaves out code that runs
/// seldom but again and again: each time it is a page fault. This counts those times.
///
/// Source: ours; the distance is that of R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger,
/// "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970, in bytes of other
/// code that is not hot.
#[derive(Debug, Clone)]
pub struct Returns {
    counts: Vec<u64>,
}

impl Returns {
    /// Counts, for blocks that are not hot, how often each ran when at least `capacity` bytes of
    /// others had run since it did last. That it ran for the first time does not count. Each run
    /// weighs as much as the longest, as in [`Heat::of`].
    pub fn of(
        code: &Code<'_>,
        runs: &[Run<'_>],
        heat: &Heat,
        hot: &HotBlocks,
        capacity: u64,
    ) -> Self {
        let returned = |run: &Run<'_>| {
            // Of each block of the stream the blocks that it needs.
            let needs: Vec<Vec<BlockId>> = run
                .stream()
                .blocks()
                .iter()
                .map(|block| {
                    let range = Range::with_length(block.start, block.length.into());
                    let cold = code.blocks_in(range).filter(|block| !hot.contains(*block));
                    cold.collect()
                })
                .collect();
            let mut distance = Distance::new(code.blocks().len());
            let mut found = vec![0u64; code.blocks().len()];
            let mut last = None;
            for block in run.executions() {
                for &need in &needs[block as usize] {
                    if last == Some(need) {
                        continue;
                    }
                    last = Some(need);
                    let bytes = code.block(need).range.length();
                    if distance.touch(need.0, bytes).is_some_and(|since| since >= capacity) {
                        found[need.index()] += 1;
                    }
                }
            }
            found
        };
        let found: Vec<Vec<u64>> = runs.par_iter().map(returned).collect();
        let mut counts = vec![0u64; code.blocks().len()];
        for (found, scale) in found.into_iter().zip(heat.scales()) {
            for (count, found) in counts.iter_mut().zip(found) {
                *count = count.saturating_add(scale.apply(found));
            }
        }
        Returns { counts }
    }

    /// How often a block came back.
    pub fn count(&self, block: BlockId) -> u64 {
        self.counts.get(block.index()).copied().unwrap_or(0)
    }

    /// What is hot, and what comes back at least `least` times. 0 is taken for 1: what never came back is
    /// no more hot than before.
    pub fn added_to(&self, hot: &HotBlocks, least: u64) -> HotBlocks {
        hot.with(|block| self.count(block) >= least.max(1))
    }

    /// All counts above 0, each once, ascending.
    pub fn levels(&self) -> Vec<u64> {
        let mut levels: Vec<u64> = self.counts.iter().copied().filter(|count| *count > 0).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }
}

/// Bytes of other blocks that ran since a block did last.
struct Distance {
    /// When each block ran last, from 1; 0 for never.
    last: Vec<u32>,
    /// Bytes of the block that ran at each time and not since, as a tree of partial sums.
    ///
    /// Source: P. M. Fenwick, "A new data structure for cumulative frequency tables", Software:
    /// Practice and Experience 24(3), 1994.
    sums: Vec<u64>,
    /// The block that ran at each time.
    blocks: Vec<u32>,
    bytes: Vec<u64>,
    now: u32,
    /// Bytes of all blocks that ran.
    all: u64,
}

impl Distance {
    fn new(blocks: usize) -> Self {
        // Times are numbered anew when they run out.
        let times = 2 * blocks + 1;
        Distance {
            last: vec![0; blocks],
            sums: vec![0; times + 1],
            blocks: vec![0; times + 1],
            bytes: vec![0; blocks],
            now: 0,
            all: 0,
        }
    }

    /// Runs a block; gives the bytes of others that ran since it did last, `None` if it never did.
    fn touch(&mut self, block: u32, bytes: u64) -> Option<u64> {
        if self.now as usize + 1 >= self.sums.len() {
            self.renumber();
        }
        let before = self.last[block as usize];
        let since = (before > 0).then(|| self.all - self.until(before));
        match since {
            Some(_) => self.add(before, 0u64.wrapping_sub(self.bytes[block as usize])),
            None => self.bytes[block as usize] = bytes,
        }
        self.all = self.all.wrapping_add(if since.is_some() { 0 } else { bytes });
        self.now += 1;
        self.last[block as usize] = self.now;
        self.blocks[self.now as usize] = block;
        self.add(self.now, self.bytes[block as usize]);
        since
    }

    /// Bytes of what ran last at `time` or before.
    fn until(&self, time: u32) -> u64 {
        let mut sum = 0u64;
        let mut at = time as usize;
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }

    fn add(&mut self, time: u32, bytes: u64) {
        let mut at = time as usize;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(bytes);
            at += at & at.wrapping_neg();
        }
    }

    /// Numbers the times at which something ran last from 1 on.
    fn renumber(&mut self) {
        let times = (1..=self.now).filter(|time| {
            let block = self.blocks[*time as usize];
            self.last[block as usize] == *time
        });
        let live: Vec<u32> = times.map(|time| self.blocks[time as usize]).collect();
        self.sums.fill(0);
        self.now = 0;
        for block in live {
            self.now += 1;
            self.last[block as usize] = self.now;
            self.blocks[self.now as usize] = block;
            self.add(self.now, self.bytes[block as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_ran_in_between_is_added_up_once() {
        let mut distance = Distance::new(3);
        assert_eq!(distance.touch(0, 10), None);
        assert_eq!(distance.touch(1, 20), None);
        assert_eq!(distance.touch(2, 40), None);
        assert_eq!(distance.touch(1, 20), Some(40));
        assert_eq!(distance.touch(0, 10), Some(60));
        assert_eq!(distance.touch(0, 10), Some(0));
    }

    proptest! {
        /// As a list of what ran says it, over many renumberings.
        #[test]
        fn distances_are_those_of_a_list(order in prop::collection::vec(0u32..5, 0..200)) {
            let size = |block: u32| u64::from(block) * 7 + 3;
            let mut distance = Distance::new(5);
            let mut recent: Vec<u32> = Vec::new();
            for block in order {
                let place = recent.iter().position(|other| *other == block);
                let since = place.map(|place| recent[..place].iter().map(|b| size(*b)).sum());
                prop_assert_eq!(distance.touch(block, size(block)), since);
                recent.retain(|other| *other != block);
                recent.insert(0, block);
            }
        }
    }
}
