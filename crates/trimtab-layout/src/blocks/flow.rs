//! How control moved between the blocks of a function, and the order that follows from it.

use super::{BlockNode, ext_tsp};
use crate::{BlockIndex, Edge};
use std::collections::HashMap;
use trimtab_profile::{Place, Trace, Transition};
use trimtab_program::{Block, Range};

/// What ran of a linked file, and how control passed on from there.
///
/// A tracer's blocks are not the compiler's: they end at calls, and run on over the beginning of a
/// block into which the one before falls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockFlow {
    /// What the tracer saw run as a whole, and how often, by its start.
    runs: Vec<(Range, u64)>,
    /// By where control left.
    transitions: Vec<Transition>,
}

impl BlockFlow {
    /// What `traces` say, with the transitions that were recorded with them, both at the addresses
    /// for which the file is linked. All is added up.
    pub fn new<'a>(
        traces: impl IntoIterator<Item = &'a Trace>,
        transitions: Vec<Transition>,
    ) -> Self {
        let mut runs: Vec<(Range, u64)> = Vec::new();
        for event in traces.into_iter().flat_map(Trace::events) {
            if let Place::Block { start, length } = event.place {
                runs.push((Range::with_length(start, u64::from(length)), event.count));
            }
        }
        BlockFlow { runs, transitions }.sorted()
    }

    /// All of several flows, added up.
    pub fn sum<'a>(flows: impl IntoIterator<Item = &'a BlockFlow>) -> Self {
        let mut sum = BlockFlow::default();
        for flow in flows {
            sum.runs.extend(&flow.runs);
            sum.transitions.extend(&flow.transitions);
        }
        sum.sorted()
    }

    /// How often control went on elsewhere than at the next byte: by jumps, calls and returns within
    /// the file. `None` where no transitions are known.
    pub fn jumps_taken(&self) -> Option<u64> {
        let taken = |passed: &&Transition| passed.next != passed.last.wrapping_add(1);
        let all = self.transitions.iter().filter(taken);
        let sum = all.fold(0, |sum: u64, passed| sum.saturating_add(passed.count));
        (!self.transitions.is_empty()).then_some(sum)
    }

    fn sorted(mut self) -> Self {
        self.runs.sort_unstable_by_key(|(range, _)| (range.start, range.end));
        self.transitions.sort_unstable();
        self
    }

    /// How often each of a function's `blocks`, which are in memory's order, ran, and how often control
    /// passed from one to another. A block without bytes never runs; control passes to the next.
    ///
    /// What a block that falls through does not pass on in any way that was seen went through calls
    /// that it ends with, and came back to the next. No edge leads to the entry, which stays first in
    /// any order: that is how a function looks that calls itself.
    pub fn of(&self, blocks: &[Block]) -> (Vec<u64>, Vec<Edge<BlockIndex>>) {
        // Long: counts and edges come from one pass over what ran.
        let mut counts = vec![0u64; blocks.len()];
        let mut edges: HashMap<(usize, usize), u64> = HashMap::new();
        let mut filled: Vec<usize> =
            (0..blocks.len()).filter(|index| !blocks[*index].range.is_empty()).collect();
        // As they should be: then what is looked up is found.
        filled.sort_by_key(|index| blocks[*index].range.start);
        let (Some(first), Some(last)) = (filled.first(), filled.last()) else {
            return (counts, Vec::new());
        };
        let whole = Range { start: blocks[*first].range.start, end: blocks[*last].range.end };
        // Which of the filled ones holds an address, or follows the padding that does.
        let at = |address: u64| {
            let behind = filled.partition_point(|i| blocks[*i].range.end <= address);
            behind.min(filled.len() - 1)
        };
        let begins = |place: usize, address: u64| address <= blocks[filled[place]].range.start;
        let mut pass = |from: usize, to: usize, count: u64| {
            let passed = edges.entry((filled[from], filled[to])).or_default();
            *passed = passed.saturating_add(count);
        };

        let from = self.runs.partition_point(|(range, _)| range.start < whole.start);
        for (run, count) in &self.runs[from..] {
            if run.start >= whole.end {
                break;
            }
            let mut place = at(run.start);
            if begins(place, run.start) {
                let ran = &mut counts[filled[place]];
                *ran = ran.saturating_add(*count);
            }
            while place + 1 < filled.len() && blocks[filled[place + 1]].range.start < run.end {
                pass(place, place + 1, *count);
                place += 1;
                let ran = &mut counts[filled[place]];
                *ran = ran.saturating_add(*count);
            }
        }
        let from = self.transitions.partition_point(|passed| passed.last < whole.start);
        for passed in &self.transitions[from..] {
            if passed.last >= whole.end {
                break;
            }
            if !whole.contains(passed.next) {
                continue;
            }
            let to = at(passed.next);
            // Behind a call control goes on within the block.
            if to > 0 && begins(to, passed.next) {
                pass(at(passed.last), to, passed.count);
            }
        }

        fall_through(blocks, &filled, &counts, &mut edges);
        let mut edges: Vec<Edge<BlockIndex>> = edges
            .into_iter()
            .map(|((from, to), count)| Edge {
                from: BlockIndex::at(from),
                to: BlockIndex::at(to),
                count,
            })
            .collect();
        edges.sort_unstable();
        (counts, edges)
    }

    /// The same blocks as `hot`, the numbers of some of a function's `blocks` with the entry first, so
    /// that jumps between them that are often taken are short or fall through: see [`ext_tsp`].
    /// Numbers that no block has are left out. A block without bytes stays in front of the next.
    pub fn order(&self, blocks: &[Block], hot: &[u32]) -> Vec<u32> {
        let (counts, edges) = self.of(blocks);
        let index: HashMap<u32, usize> =
            blocks.iter().zip(0..).map(|(block, index)| (block.id, index)).collect();
        // What is moved as a whole, and which of them each block is in.
        let mut moved: Vec<Vec<usize>> = Vec::new();
        let mut part_of: Vec<Option<BlockIndex>> = vec![None; blocks.len()];
        let mut open = false;
        for &at in hot.iter().filter_map(|id| index.get(id)) {
            let before = at.checked_sub(1).and_then(|before| part_of[before]);
            let falls_into = open && before.map(BlockIndex::index) == moved.len().checked_sub(1);
            match moved.last_mut() {
                Some(last) if falls_into => last.push(at),
                _ => moved.push(vec![at]),
            }
            part_of[at] = Some(BlockIndex::at(moved.len() - 1));
            open = blocks[at].range.is_empty();
        }
        let nodes: Vec<BlockNode> = moved
            .iter()
            .map(|parts| BlockNode {
                size: parts.iter().map(|at| blocks[*at].range.length()).sum(),
                count: parts.iter().map(|at| counts[*at]).max().unwrap_or(0),
            })
            .collect();
        let between: Vec<Edge<BlockIndex>> = edges
            .iter()
            .filter_map(|edge| {
                let (from, to) = (part_of[edge.from.index()]?, part_of[edge.to.index()]?);
                Some(Edge { from, to, count: edge.count })
            })
            .collect();
        let order = ext_tsp(&nodes, &between);
        order.iter().flat_map(|part| &moved[part.index()]).map(|at| blocks[*at].id).collect()
    }
}

/// Adds to `edges` what of the `counts` of blocks that fall through leaves them in no way that was seen:
/// it went on to the next of the `filled` ones.
fn fall_through(
    blocks: &[Block],
    filled: &[usize],
    counts: &[u64],
    edges: &mut HashMap<(usize, usize), u64>,
) {
    let mut left = counts.to_vec();
    for ((from, _), count) in edges.iter() {
        left[*from] = left[*from].saturating_sub(*count);
    }
    for pair in filled.windows(2) {
        let &[from, to] = pair else { continue };
        if blocks[from].falls_through && left[from] > 0 {
            let passed = edges.entry((from, to)).or_default();
            *passed = passed.saturating_add(left[from]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trimtab_profile::Source;

    /// Blocks from 0x1000 on: number, length, whether it falls through.
    fn blocks(described: &[(u32, u64, bool)]) -> Vec<Block> {
        let mut at = 0x1000;
        described
            .iter()
            .map(|&(id, length, falls_through)| {
                let range = Range::with_length(at, length);
                at += length;
                Block { id, range, falls_through }
            })
            .collect()
    }

    fn flow(runs: &[(u64, u32, u64)], transitions: &[(u64, u64, u64)]) -> BlockFlow {
        let mut trace = Trace::new(Source::QemuPlugin);
        for &(start, length, count) in runs {
            trace.record(Place::Block { start, length }, None, count);
        }
        let passed = |&(last, next, count): &(u64, u64, u64)| Transition { last, next, count };
        BlockFlow::new([&trace], transitions.iter().map(passed).collect())
    }

    fn edge<Id: From<u32>>(from: u32, to: u32, count: u64) -> Edge<Id> {
        Edge::of(from, to, count)
    }

    #[test]
    fn runs_of_a_tracer_are_blocks_of_the_compiler() {
        // An entry that is cut at a call, a branch, its two sides, and what both come to.
        let blocks =
            blocks(&[(0, 16, true), (1, 8, false), (2, 8, true), (3, 0, true), (4, 8, false)]);
        let flow = flow(
            &[(0x1000, 8, 10), (0x1008, 8, 10), (0x1010, 8, 1), (0x1018, 16, 9), (0x1020, 8, 1)],
            &[
                (0xfff, 0x1000, 10),
                (0x100f, 0x1010, 1),
                (0x100f, 0x1018, 9),
                (0x1017, 0x1020, 1),
                // To a function that is called, back from it, and a function that calls itself.
                (0x1007, 0x2000, 10),
                (0x2007, 0x1008, 10),
                (0x1007, 0x1000, 3),
                (0x1027, 0x9000, 10),
            ],
        );
        let expected = vec![edge(0, 1, 1), edge(0, 2, 9), edge(1, 4, 1), edge(2, 4, 9)];
        assert_eq!(flow.of(&blocks), (vec![10, 1, 9, 0, 10], expected));
        // The empty block stays in front of what it falls into.
        assert_eq!(flow.order(&blocks, &[0, 1, 2, 3, 4]), [0, 2, 3, 4, 1]);
        // Of those that are hot only; what no block has is passed over.
        assert_eq!(flow.order(&blocks, &[0, 1, 3, 4, 77]), [0, 1, 3, 4]);
        assert_eq!(flow.jumps_taken(), Some(43));
        assert_eq!(BlockFlow::default().jumps_taken(), None);
        let twice = BlockFlow::sum([&flow, &flow]);
        assert_eq!(twice.of(&blocks).0, [20, 2, 18, 0, 20]);
        assert_eq!(BlockFlow::default().of(&blocks), (vec![0; 5], vec![]));
        assert_eq!(BlockFlow::default().order(&blocks, &[0, 2, 4]), [0, 2, 4]);
        assert_eq!(flow.order(&[], &[0]), Vec::<u32>::new());
    }

    #[test]
    fn blocks_that_are_not_in_order_do_no_harm() {
        let mut blocks = blocks(&[(0, 8, true), (1, 8, true), (2, 8, true)]);
        blocks.swap(0, 2);
        blocks[1].range.end = 0x2000;
        let runs = flow(&[(0x1000, 24, 2), (0x1017, 9, 1)], &[(0x1007, 0x1010, 2)]);
        assert_eq!(runs.order(&blocks, &[2, 1, 0]).len(), 3);
        assert_eq!(runs.order(&blocks, &[0, 0, 2]).len(), 3);
    }

    #[test]
    fn a_call_at_the_end_of_a_block_comes_back_to_the_next() {
        let falls = blocks(&[(0, 8, true), (1, 8, false)]);
        let runs = flow(&[(0x1000, 8, 5), (0x1008, 8, 5)], &[(0x1007, 0x2000, 5)]);
        assert_eq!(runs.of(&falls).1, [edge(0, 1, 5)]);
        let ends = blocks(&[(0, 8, false), (1, 8, false)]);
        assert_eq!(runs.of(&ends).1, []);
    }

    #[test]
    fn control_that_enters_by_padding_enters_the_block_behind_it() {
        let mut blocks = blocks(&[(0, 8, true), (1, 8, true)]);
        blocks[1].range = Range::with_length(0x1010, 8);
        let runs = flow(
            &[(0x1000, 8, 2), (0x1008, 16, 2), (0x1010, 8, 7)],
            &[(0x1007, 0x1008, 2), (0x1017, 0x1010, 7)],
        );
        assert_eq!(runs.of(&blocks), (vec![2, 9], vec![edge(0, 1, 2), edge(1, 1, 7)]));
    }

    proptest! {
        #[test]
        fn an_order_has_the_same_blocks_and_begins_with_the_entry(
            parts in prop::collection::vec((0u64..20, any::<bool>(), any::<bool>()), 1..30),
            runs in prop::collection::vec((0u64..400, 0u32..60, 0u64..u64::MAX), 0..30),
            passed in prop::collection::vec((0u64..400, 0u64..400, 0u64..u64::MAX), 0..30),
        ) {
            let described: Vec<_> = (0..).zip(&parts).map(|(id, part)| (id, part.0, part.1)).collect();
            let blocks = blocks(&described);
            let runs: Vec<_> = runs.iter().map(|run| (0xfd0 + run.0, run.1, run.2)).collect();
            let passed: Vec<_> =
                passed.iter().map(|p| (0xfd0 + p.0, 0xfd0 + p.1, p.2)).collect();
            let flow = flow(&runs, &passed);
            let hot: Vec<u32> = (0..).zip(&parts).filter(|(id, part)| *id == 0 || part.2)
                .map(|(id, _)| id).collect();
            let order = flow.order(&blocks, &hot);
            prop_assert_eq!(order[0], 0);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, hot);
        }
    }
}
