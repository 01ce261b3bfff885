//! Which blocks of a function belong together, and which away from them.

use trimtab_program::{Block, RangeSet};

/// Runs of cold bytes up to this length stay between the hot blocks: a branch over a few bytes is
/// short, one to a section of its own takes four bytes more.
const WORTH_A_LONG_BRANCH: u64 = 6;

/// How one function is split in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Numbers of the blocks that stay in the function's own section: the entry, then the others
    /// in the compiler's order.
    pub hot: Vec<u32>,
    /// Bytes of all other blocks.
    pub cold_bytes: u64,
}

/// Splits a function into the blocks that ran and those that did not. `blocks` are all of its
/// blocks, in memory's order, the entry first; `executed` are the bytes that ran.
///
/// The entry block is always hot: a function begins with it. A block without bytes goes with the
/// next, into which it falls: elsewhere it would have to jump. `None` where no block ran, or none
/// would be moved away.
pub fn split(blocks: &[Block], executed: &RangeSet) -> Option<Split> {
    let mut hot = vec![false; blocks.len()];
    let mut next = false;
    for (hot, block) in hot.iter_mut().zip(blocks).rev() {
        if !block.range.is_empty() {
            next = executed.within(block.range).next().is_some();
        }
        *hot = next;
    }
    if !hot.contains(&true) {
        return None;
    }
    let mut split = Split { hot: Vec::new(), cold_bytes: 0 };
    // Blocks since the last hot one.
    let mut cold: Vec<&Block> = Vec::new();
    let mut cold_bytes = 0;
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 && !hot[index] {
            cold_bytes += block.range.length();
            cold.push(block);
            continue;
        }
        if cold_bytes <= WORTH_A_LONG_BRANCH {
            split.hot.extend(cold.iter().map(|block| block.id));
        } else {
            split.cold_bytes += cold_bytes;
        }
        split.hot.push(block.id);
        (cold_bytes, cold) = (0, Vec::new());
    }
    // Behind the last hot block nothing has to be jumped over.
    split.cold_bytes += cold_bytes;
    (split.cold_bytes > 0).then_some(split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trimtab_program::Range;

    fn blocks(lengths: &[u64]) -> Vec<Block> {
        let mut at = 0x1000;
        (0u32..)
            .zip(lengths)
            .map(|(id, length)| {
                let range = Range::with_length(at, *length);
                at += length;
                Block { id, range, falls_through: true }
            })
            .collect()
    }

    #[test]
    fn what_did_not_run_goes_unless_it_is_shorter_than_the_branch_to_it() {
        let blocks = blocks(&[10, 20, 5, 4, 30, 7]);
        let executed = |ids: &[usize]| ids.iter().map(|id| blocks[*id].range).collect::<RangeSet>();
        assert_eq!(
            split(&blocks, &executed(&[0, 2, 4])),
            Some(Split { hot: vec![0, 2, 3, 4], cold_bytes: 27 })
        );
        // The entry stays even if control came in elsewhere.
        assert_eq!(
            split(&blocks, &executed(&[4])),
            Some(Split { hot: vec![0, 4], cold_bytes: 36 })
        );
        assert_eq!(split(&blocks, &executed(&[])), None);
        let empty = self::blocks(&[10, 0, 20, 0, 30, 0]);
        let ran = [empty[0].range, empty[4].range].into_iter().collect();
        assert_eq!(split(&empty, &ran), Some(Split { hot: vec![0, 3, 4], cold_bytes: 20 }));
        assert_eq!(split(&blocks, &executed(&[0, 1, 2, 3, 4, 5])), None);
        assert_eq!(split(&[], &executed(&[0])), None);
    }

    proptest! {
        #[test]
        fn every_block_that_ran_is_hot_and_every_byte_is_accounted_for(
            parts in prop::collection::vec((0u64..40, any::<bool>()), 1..40),
        ) {
            let blocks = blocks(&parts.iter().map(|(length, _)| *length).collect::<Vec<_>>());
            let executed: RangeSet = blocks.iter().zip(&parts).filter(|(_, (_, ran))| *ran)
                .map(|(block, _)| block.range).collect();
            if let Some(split) = split(&blocks, &executed) {
                prop_assert_eq!(split.hot[0], 0);
                prop_assert!(split.hot.windows(2).all(|pair| pair[0] < pair[1]));
                let hot: u64 = split.hot.iter().map(|id| blocks[*id as usize].range.length()).sum();
                prop_assert_eq!(hot + split.cold_bytes, parts.iter().map(|(length, _)| length).sum());
                for (block, (_, ran)) in blocks.iter().zip(&parts) {
                    let ran = *ran && !block.range.is_empty();
                    prop_assert!(!ran || split.hot.contains(&block.id));
                }
            }
        }
    }
}
