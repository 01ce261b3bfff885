//! Ext-TSP: the order of blocks that makes most jumps short, fall-through most of all.

mod chains;

use crate::{BlockIndex, Edge};
use chains::Chains;
use std::cmp::Ordering;

/// A block, or anything else that is placed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockNode {
    /// Length in bytes.
    pub size: u64,
    /// How often it ran.
    pub count: u64,
}

/// Longest forward jump that scores, in bytes.
const FORWARD: u64 = 1024;
/// Longest backward jump that scores, in bytes.
const BACKWARD: u64 = 640;
/// The score of a jump of no length, where falling through scores 1.
const JUMP: f64 = 0.1;

/// The score of a jump that is taken `count` times from the end of a block at `from` to the start
/// of one at `to`.
fn jump_score(from: i64, to: i64, count: f64) -> f64 {
    let distance = from.abs_diff(to);
    match from.cmp(&to) {
        Ordering::Equal => count,
        Ordering::Less if distance < FORWARD => {
            JUMP * count * (1.0 - distance as f64 / FORWARD as f64)
        }
        Ordering::Greater if distance < BACKWARD => {
            JUMP * count * (1.0 - distance as f64 / BACKWARD as f64)
        }
        _ => 0.0,
    }
}

/// The Ext-TSP score of `order`: the sum over all jumps, where one that falls through scores 1 for each
/// time it is taken, and others less the longer they are. Larger is better. Blocks that are not in
/// `order`, and edges to or from them, count for nothing.
pub fn ext_tsp_score(
    blocks: &[BlockNode],
    edges: &[Edge<BlockIndex>],
    order: &[BlockIndex],
) -> f64 {
    let mut address: Vec<Option<i64>> = vec![None; blocks.len()];
    let mut cursor = 0i64;
    for &block in order {
        if let Some(node) = blocks.get(block.index()) {
            address[block.index()] = Some(cursor);
            cursor = cursor.saturating_add(length(node));
        }
    }
    let place = |block: BlockIndex| address.get(block.index()).copied().flatten();
    edges
        .iter()
        .filter_map(|edge| {
            let from = place(edge.from)? + length(&blocks[edge.from.index()]);
            Some(jump_score(from, place(edge.to)?, edge.count as f64))
        })
        .sum()
}

/// Orders the blocks of a function, so that jumps that are often taken are short or fall through. A
/// [`BlockIndex`] is an index of `blocks`. The first block, the entry, stays first. `edges` are jumps and fall-throughs with how often each
/// was taken; those that name no block are passed over. Blocks that never ran come last, as they
/// are. The result is a permutation, and its [`ext_tsp_score`] is never below that of the order
/// given.
///
/// Chains of blocks are merged, the pair with the largest gain first; of two chains one may be cut
/// in two and the other put between or around the halves.
///
/// Source: A. Newell and S. Pupyrev, "Improved basic block reordering", IEEE Transactions on
/// Computers 69(12), 2020: the score of section 4 with its constants, the merging of section 5. Takes
/// O(*m* log *m*) for *m* edges where chains stay below 128 blocks, and no more than a constant
/// number of cuts is tried for longer ones.
pub fn ext_tsp(blocks: &[BlockNode], edges: &[Edge<BlockIndex>]) -> Vec<BlockIndex> {
    let given: Vec<BlockIndex> = BlockIndex::all(blocks.len()).collect();
    if blocks.len() <= 2 {
        return given;
    }
    let mut chains = Chains::new(blocks, edges);
    chains.merge_forced();
    chains.merge_by_gain();
    let order = chains.finish();
    match ext_tsp_score(blocks, edges, &order) < ext_tsp_score(blocks, edges, &given) {
        true => given,
        false => order,
    }
}

/// A block's length for distances: no program has more, and no sum of them overflows.
fn length(node: &BlockNode) -> i64 {
    node.size.min(1 << 32) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge<Id: From<u32>>(from: u32, to: u32, count: u64) -> Edge<Id> {
        Edge::of(from, to, count)
    }

    fn blocks(sizes: &[(u64, u64)]) -> Vec<BlockNode> {
        sizes.iter().map(|&(size, count)| BlockNode { size, count }).collect()
    }

    #[test]
    fn the_hot_side_of_a_branch_falls_through() {
        let blocks = blocks(&[(10, 100), (10, 1), (10, 99), (10, 100)]);
        let edges = [edge(0, 1, 1), edge(0, 2, 99), edge(1, 3, 1), edge(2, 3, 99)];
        assert_eq!(ext_tsp(&blocks, &edges), [0, 2, 3, 1]);
    }

    #[test]
    fn a_loop_is_put_where_the_chain_has_its_place() {
        // 0 -> 1 -> 3, with 2 between 1 and 3 most of the time: the chain is cut open for it.
        let blocks = blocks(&[(16, 10), (16, 1000), (16, 990), (16, 10)]);
        let edges = [edge(0, 1, 10), edge(1, 3, 10), edge(1, 2, 990), edge(2, 1, 990)];
        let order = ext_tsp(&blocks, &edges);
        assert_eq!(order[0], 0);
        assert!(ext_tsp_score(&blocks, &edges, &order) >= 1000.0, "{order:?}");
    }

    #[test]
    fn blocks_that_never_ran_come_last() {
        let blocks = blocks(&[(10, 5), (10, 0), (10, 5), (10, 0), (10, 5)]);
        let edges = [edge(0, 2, 5), edge(2, 4, 5), edge(0, 1, 0), edge(1, 2, 0)];
        assert_eq!(ext_tsp(&blocks, &edges), [0, 2, 4, 1, 3]);
    }

    #[test]
    fn the_score_falls_with_distance() {
        let nodes = blocks(&[(10, 1), (1000, 0), (10, 1)]);
        let edges = [edge(0, 2, 10)];
        assert_eq!(ext_tsp_score(&nodes, &edges, &[0, 2, 1].map(BlockIndex)), 10.0);
        let far = ext_tsp_score(&nodes, &edges, &[0, 1, 2].map(BlockIndex));
        assert!((far - 0.1 * 10.0 * (1.0 - 1000.0 / 1024.0)).abs() < 1e-9);
        assert_eq!(ext_tsp_score(&nodes, &edges, &[2, 1, 0].map(BlockIndex)), 0.0);
    }

    #[test]
    fn nonsense_does_no_harm() {
        let nodes = blocks(&[(u64::MAX, u64::MAX), (0, 0), (u64::MAX, 3), (0, u64::MAX)]);
        let edges = [edge(0, 9, 3), edge(9, 0, 3), edge(1, 1, u64::MAX), edge(3, 2, u64::MAX)];
        let order = ext_tsp(&nodes, &edges);
        assert_eq!(order.len(), 4);
        assert_eq!(ext_tsp(&[], &edges), Vec::<u32>::new());
    }

    type Graph = (Vec<BlockNode>, Vec<Edge<BlockIndex>>);

    fn graph(most: usize) -> impl Strategy<Value = Graph> {
        let nodes = prop::collection::vec((0u64..80, 0u64..50), 1..most);
        let edges = prop::collection::vec((any::<u32>(), any::<u32>(), 0u64..100), 0..most * 2);
        (nodes, edges).prop_map(|(nodes, edges)| {
            let count = nodes.len() as u32;
            let edges = edges.into_iter().map(|(a, b, n)| edge(a % count, b % count, n)).collect();
            (blocks(&nodes), edges)
        })
    }

    proptest! {
        #[test]
        fn a_permutation_that_is_never_worse((nodes, edges) in graph(40)) {
            let order = ext_tsp(&nodes, &edges);
            let given: Vec<BlockIndex> = BlockIndex::all(nodes.len()).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(&sorted, &given);
            prop_assert_eq!(order[0], 0);
            prop_assert!(
                ext_tsp_score(&nodes, &edges, &order) >= ext_tsp_score(&nodes, &edges, &given)
            );
            prop_assert_eq!(order, ext_tsp(&nodes, &edges));
        }
    }

    #[test]
    fn small_ones_are_near_the_optimum() {
        use rand::{RngExt, SeedableRng};
        let mut chance = rand::rngs::ChaCha8Rng::seed_from_u64(1);
        let (mut found, mut best) = (0.0, 0.0);
        for _ in 0..300 {
            let count = chance.random_range(3..8u32);
            let nodes: Vec<BlockNode> = (0..count)
                .map(|_| BlockNode { size: chance.random_range(1..80), count: 1 })
                .collect();
            let mut any = || chance.random_range(0..count);
            let ends: Vec<(u32, u32)> = (0..count * 2).map(|_| (any(), any())).collect();
            let edges: Vec<Edge<BlockIndex>> = ends
                .into_iter()
                .map(|(from, to)| edge(from, to, chance.random_range(0..100)))
                .collect();
            found += ext_tsp_score(&nodes, &edges, &ext_tsp(&nodes, &edges));
            let mut optimum = 0.0f64;
            permutations(&mut (1..count).collect(), 0, &mut |rest| {
                let order: Vec<BlockIndex> =
                    std::iter::once(0).chain(rest.iter().copied()).map(BlockIndex).collect();
                optimum = optimum.max(ext_tsp_score(&nodes, &edges, &order));
            });
            best += optimum;
        }
        assert!(found > 0.95 * best, "{found} of {best}");
    }

    fn permutations(rest: &mut Vec<u32>, from: usize, visit: &mut impl FnMut(&[u32])) {
        if from == rest.len() {
            return visit(rest);
        }
        for other in from..rest.len() {
            rest.swap(from, other);
            permutations(rest, from + 1, visit);
            rest.swap(from, other);
        }
    }
}
