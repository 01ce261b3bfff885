//! Ext-TSP: the order of blocks that makes most jumps short, fall-through most of all.

use crate::Edge;
use crate::merging::Gain;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A block, or anything else that is placed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockNode {
    /// Length in bytes.
    pub size: u64,
    /// How often it ran.
    pub count: u64,
}

/// Longest forward jump that is worth anything, in bytes.
const FORWARD: u64 = 1024;
/// Longest backward jump that is worth anything, in bytes.
const BACKWARD: u64 = 640;
/// What a jump of no length is worth, where falling through is worth 1.
const JUMP: f64 = 0.1;
/// Chains of more blocks are split only where a jump leads in or out.
const SPLIT_ANYWHERE: usize = 128;
/// Gains below this are none.
const EPSILON: f64 = 1e-8;

/// The worth of a jump that is taken `count` times from the end of a block at `from` to the start
/// of one at `to`.
fn worth(from: i64, to: i64, count: f64) -> f64 {
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

/// The Ext-TSP score of `order`: the worth of all jumps, where one that falls through is worth 1
/// for each time it is taken, and others less the longer they are. Larger is better. Blocks that
/// are not in `order`, and edges to or from them, count for nothing.
pub fn ext_tsp_score(blocks: &[BlockNode], edges: &[Edge], order: &[u32]) -> f64 {
    let mut address: Vec<Option<i64>> = vec![None; blocks.len()];
    let mut cursor = 0i64;
    for &block in order {
        if let Some(node) = blocks.get(block as usize) {
            address[block as usize] = Some(cursor);
            cursor = cursor.saturating_add(length(node));
        }
    }
    let place = |block: u32| address.get(block as usize).copied().flatten();
    edges
        .iter()
        .filter_map(|edge| {
            let from = place(edge.from)? + length(&blocks[edge.from as usize]);
            Some(worth(from, place(edge.to)?, edge.count as f64))
        })
        .sum()
}

/// Orders the blocks of a function, so that jumps that are often taken are short or fall through.
/// The first block, the entry, stays first. `edges` are jumps and fall-throughs with how often each
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
pub fn ext_tsp(blocks: &[BlockNode], edges: &[Edge]) -> Vec<u32> {
    let given: Vec<u32> = (0..blocks.len() as u32).collect();
    if blocks.len() <= 2 {
        return given;
    }
    let mut layout = Layout::new(blocks, edges);
    layout.merge_forced();
    layout.merge_by_gain();
    let order = layout.finish();
    match ext_tsp_score(blocks, edges, &order) < ext_tsp_score(blocks, edges, &given) {
        true => given,
        false => order,
    }
}

/// A block's length for distances: no program has more, and no sum of them overflows.
fn length(node: &BlockNode) -> i64 {
    node.size.min(1 << 32) as i64
}

/// Where the parts of two chains go when they are merged. The first one, X, may be cut into X1 and
/// X2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    XY,
    X1YX2,
    YX2X1,
    X2X1Y,
}

#[derive(Default)]
struct Chain {
    blocks: Vec<u32>,
    bytes: i64,
    count: f64,
    score: f64,
    version: u32,
    /// Jumps within the chain.
    own: Vec<u32>,
    /// Chains that jumps lead to or come from, and those jumps.
    neighbours: Vec<(u32, Vec<u32>)>,
}

struct Jump {
    from: u32,
    to: u32,
    count: f64,
}

/// A merge of two chains that gains something. Compares by its gain; of the same gain, the lower pair
/// is the greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    gain: Gain,
    pair: Reverse<(u32, u32)>,
    versions: (u32, u32),
    /// Blocks of the first chain in front of the cut.
    cut: u32,
    way: Way,
}

struct Layout<'a> {
    nodes: &'a [BlockNode],
    jumps: Vec<Jump>,
    into: Vec<Vec<u32>>,
    out_of: Vec<Vec<u32>>,
    chains: Vec<Chain>,
    chain_of: Vec<u32>,
    /// Place of each block in its chain: number of blocks and of bytes in front of it.
    place: Vec<(u32, i64)>,
    /// The block that a block must be followed by.
    forced: Vec<Option<u32>>,
    queue: BinaryHeap<Candidate>,
}

impl<'a> Layout<'a> {
    fn new(nodes: &'a [BlockNode], edges: &[Edge]) -> Self {
        let count = nodes.len();
        let known = |edge: &&Edge| {
            (edge.from as usize) < count && (edge.to as usize) < count && edge.from != edge.to
        };
        let mut sorted: Vec<Edge> =
            edges.iter().filter(known).filter(|edge| edge.count > 0).copied().collect();
        sorted.sort_unstable();
        sorted.dedup_by(|next, kept| {
            let same = (next.from, next.to) == (kept.from, kept.to);
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        let mut layout = Layout {
            nodes,
            jumps: Vec::with_capacity(sorted.len()),
            into: vec![Vec::new(); count],
            out_of: vec![Vec::new(); count],
            chains: Vec::with_capacity(count),
            chain_of: (0..count as u32).collect(),
            place: vec![(0, 0); count],
            forced: vec![None; count],
            queue: BinaryHeap::new(),
        };
        for (block, node) in nodes.iter().enumerate() {
            layout.chains.push(Chain {
                blocks: vec![block as u32],
                bytes: length(node),
                count: node.count as f64,
                ..Chain::default()
            });
        }
        for (index, edge) in sorted.iter().enumerate() {
            let index = index as u32;
            layout.jumps.push(Jump { from: edge.from, to: edge.to, count: edge.count as f64 });
            layout.out_of[edge.from as usize].push(index);
            layout.into[edge.to as usize].push(index);
            for (a, b) in [(edge.from, edge.to), (edge.to, edge.from)] {
                add(&mut layout.chains[a as usize].neighbours, b, vec![index]);
            }
        }
        layout
    }

    /// Joins blocks of which one is the only one to follow the other, and follows no other.
    fn merge_forced(&mut self) {
        let only = |jumps: &[u32]| if let [jump] = jumps { Some(*jump) } else { None };
        let mut has_forced = vec![false; self.nodes.len()];
        for block in 0..self.nodes.len() {
            let Some(jump) = only(&self.out_of[block]) else { continue };
            let next = self.jumps[jump as usize].to;
            if next != 0 && only(&self.into[next as usize]).is_some() {
                self.forced[block] = Some(next);
                has_forced[next as usize] = true;
            }
        }
        // Circles have no head and are left to the gains.
        let heads: Vec<u32> =
            (0..self.nodes.len() as u32).filter(|block| !has_forced[*block as usize]).collect();
        for head in heads {
            let mut at = head;
            while let Some(next) = self.forced[at as usize] {
                self.merge(self.chain_of[head as usize], next, 0, Way::XY);
                at = next;
            }
        }
        for block in 0..self.nodes.len() {
            if self.forced[block]
                .is_some_and(|next| self.chain_of[next as usize] != self.chain_of[block])
            {
                self.forced[block] = None;
            }
        }
    }

    fn merge_by_gain(&mut self) {
        for chain in 0..self.chains.len() as u32 {
            let later: Vec<u32> = self.chains[chain as usize]
                .neighbours
                .iter()
                .map(|(other, _)| *other)
                .filter(|other| *other > chain)
                .collect();
            for other in later {
                self.consider(chain, other);
            }
        }
        while let Some(best) = self.queue.pop() {
            let version = |chain: u32| self.chains[chain as usize].version;
            let Reverse((x, y)) = best.pair;
            if best.versions != (version(x), version(y)) {
                continue;
            }
            self.merge(x, y, best.cut as usize, best.way);
            let neighbours: Vec<u32> =
                self.chains[x as usize].neighbours.iter().map(|(other, _)| *other).collect();
            for other in neighbours {
                self.consider(x, other);
            }
        }
    }

    /// Puts the best way to merge two chains on the queue, where one gains anything.
    fn consider(&mut self, a: u32, b: u32) {
        let ways = [self.best(a, b), self.best(b, a)];
        let Some(best) = ways.into_iter().flatten().reduce(|first, second| {
            if second.gain.0 > first.gain.0 + EPSILON { second } else { first }
        }) else {
            return;
        };
        self.queue.push(best);
    }

    /// The best way to merge `y` into `x`, of which `x` may be cut.
    fn best(&self, x: u32, y: u32) -> Option<Candidate> {
        let (first, second) = (&self.chains[x as usize], &self.chains[y as usize]);
        let (_, jumps) = first.neighbours.iter().find(|(other, _)| *other == y)?;
        let mut best: Option<(f64, usize, Way)> = None;
        let mut try_way = |cut: usize, way: Way| {
            if cut > 0 {
                if cut >= first.blocks.len() {
                    return;
                }
                if self.forced[first.blocks[cut - 1] as usize].is_some() {
                    return;
                }
            }
            // The entry stays in front.
            let leads = match way {
                Way::XY | Way::X1YX2 => first.blocks[0],
                Way::YX2X1 => second.blocks[0],
                Way::X2X1Y => first.blocks[cut],
            };
            let holds_entry = first.blocks[0] == 0 || second.blocks[0] == 0;
            if holds_entry && leads != 0 {
                return;
            }
            let gain = self.gain(x, y, jumps, cut, way);
            if gain > EPSILON && best.is_none_or(|(most, _, _)| gain > most + EPSILON) {
                best = Some((gain, cut, way));
            }
        };
        try_way(0, Way::XY);
        if first.blocks.len() <= SPLIT_ANYWHERE {
            for cut in 1..first.blocks.len() {
                for way in [Way::X1YX2, Way::YX2X1, Way::X2X1Y] {
                    try_way(cut, way);
                }
            }
        } else {
            let (head, tail) = (second.blocks[0], second.blocks[second.blocks.len() - 1]);
            for &jump in &self.into[head as usize] {
                let from = self.jumps[jump as usize].from;
                if self.chain_of[from as usize] == x {
                    let cut = self.place[from as usize].0 as usize + 1;
                    try_way(cut, Way::X1YX2);
                    try_way(cut, Way::X2X1Y);
                }
            }
            for &jump in &self.out_of[tail as usize] {
                let to = self.jumps[jump as usize].to;
                if self.chain_of[to as usize] == x {
                    let cut = self.place[to as usize].0 as usize;
                    try_way(cut, Way::X1YX2);
                    try_way(cut, Way::YX2X1);
                }
            }
        }
        best.map(|(gain, cut, way)| Candidate {
            gain: Gain(gain),
            pair: Reverse((x, y)),
            versions: (first.version, second.version),
            cut: cut as u32,
            way,
        })
    }

    /// What merging gains in score; `jumps` are those between the chains.
    fn gain(&self, x: u32, y: u32, jumps: &[u32], cut: usize, way: Way) -> f64 {
        let (first, second) = (&self.chains[x as usize], &self.chains[y as usize]);
        let front = match first.blocks.get(cut) {
            Some(block) if cut > 0 => self.place[*block as usize].1,
            _ => 0,
        };
        let back = first.bytes - front;
        // Where X1, X2 and Y begin, less where they began.
        let (x1, x2, in_y) = match way {
            Way::XY => (0, 0, first.bytes),
            Way::X1YX2 => (0, second.bytes, front),
            Way::YX2X1 => (second.bytes + back, second.bytes - front, 0),
            Way::X2X1Y => (back, -front, first.bytes),
        };
        let place = |block: u32| {
            let (number, address) = self.place[block as usize];
            let shift = match self.chain_of[block as usize] == x {
                false => in_y,
                true if (number as usize) < cut => x1,
                true => x2,
            };
            address + shift
        };
        let sum = |jumps: &[u32]| -> f64 {
            jumps
                .iter()
                .map(|jump| {
                    let jump = &self.jumps[*jump as usize];
                    let from = place(jump.from) + length(&self.nodes[jump.from as usize]);
                    worth(from, place(jump.to), jump.count)
                })
                .sum()
        };
        // Without a cut the jumps within X stay as they are.
        let own = if cut == 0 { 0.0 } else { sum(&first.own) - first.score };
        sum(jumps) + own
    }

    fn merge(&mut self, x: u32, y: u32, cut: usize, way: Way) {
        let second = std::mem::take(&mut self.chains[y as usize]);
        self.chains[y as usize].version = second.version + 1;
        let first = &mut self.chains[x as usize];
        let mut x1 = std::mem::take(&mut first.blocks);
        let mut merged = Vec::with_capacity(x1.len() + second.blocks.len());
        match way {
            Way::XY => {
                // In place: long chains grow at their end.
                merged = x1;
                merged.extend(&second.blocks);
            }
            Way::X1YX2 => {
                let x2 = x1.split_off(cut);
                merged.extend(x1.into_iter().chain(second.blocks.iter().copied()).chain(x2));
            }
            Way::YX2X1 => {
                let x2 = x1.split_off(cut);
                merged.extend(second.blocks.iter().copied().chain(x2).chain(x1));
            }
            Way::X2X1Y => {
                let x2 = x1.split_off(cut);
                merged.extend(x2.into_iter().chain(x1).chain(second.blocks.iter().copied()));
            }
        }
        first.blocks = merged;
        first.version += 1;
        first.count += second.count;
        first.own.extend(second.own);
        let unchanged = if way == Way::XY { first.blocks.len() - second.blocks.len() } else { 0 };
        let mut address = if way == Way::XY { first.bytes } else { 0 };
        first.bytes += second.bytes;
        for (number, &block) in first.blocks.iter().enumerate().skip(unchanged) {
            self.place[block as usize] = (number as u32, address);
            self.chain_of[block as usize] = x;
            address += length(&self.nodes[block as usize]);
        }
        for (other, jumps) in second.neighbours {
            let first = &mut self.chains[x as usize];
            if other == x {
                first.neighbours.retain(|(chain, _)| *chain != y);
                first.own.extend(jumps);
                continue;
            }
            add(&mut first.neighbours, other, jumps.clone());
            let theirs = &mut self.chains[other as usize].neighbours;
            theirs.retain(|(chain, _)| *chain != y);
            add(theirs, x, jumps);
        }
        self.chains[x as usize].score = self.score(x);
    }

    /// The worth of the jumps within a chain.
    fn score(&self, chain: u32) -> f64 {
        let own = self.chains[chain as usize].own.iter();
        own.map(|jump| {
            let jump = &self.jumps[*jump as usize];
            let (from, to) = (jump.from as usize, jump.to as usize);
            worth(self.place[from].1 + length(&self.nodes[from]), self.place[to].1, jump.count)
        })
        .sum()
    }

    /// All blocks: the entry's chain, then the others by executions per byte, of equals by number.
    fn finish(self) -> Vec<u32> {
        let mut chains: Vec<&Chain> =
            self.chains.iter().filter(|chain| !chain.blocks.is_empty()).collect();
        let density = |chain: &Chain| chain.count / chain.bytes.max(1) as f64;
        chains.sort_by(|a, b| {
            let entry = |chain: &Chain| chain.blocks[0] != 0;
            let number = |chain: &Chain| chain.blocks.iter().min().copied();
            entry(a)
                .cmp(&entry(b))
                .then_with(|| density(b).total_cmp(&density(a)))
                .then_with(|| number(a).cmp(&number(b)))
        });
        chains.into_iter().flat_map(|chain| chain.blocks.iter().copied()).collect()
    }
}

/// Adds jumps to those with `chain`.
fn add(neighbours: &mut Vec<(u32, Vec<u32>)>, chain: u32, jumps: Vec<u32>) {
    match neighbours.iter_mut().find(|(other, _)| *other == chain) {
        Some((_, all)) => all.extend(jumps),
        None => neighbours.push((chain, jumps)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge(from: u32, to: u32, count: u64) -> Edge {
        Edge { from, to, count }
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
        assert_eq!(ext_tsp_score(&nodes, &edges, &[0, 2, 1]), 10.0);
        let far = ext_tsp_score(&nodes, &edges, &[0, 1, 2]);
        assert!((far - 0.1 * 10.0 * (1.0 - 1000.0 / 1024.0)).abs() < 1e-9);
        assert_eq!(ext_tsp_score(&nodes, &edges, &[2, 1, 0]), 0.0);
    }

    #[test]
    fn nonsense_does_no_harm() {
        let nodes = blocks(&[(u64::MAX, u64::MAX), (0, 0), (u64::MAX, 3), (0, u64::MAX)]);
        let edges = [edge(0, 9, 3), edge(9, 0, 3), edge(1, 1, u64::MAX), edge(3, 2, u64::MAX)];
        let order = ext_tsp(&nodes, &edges);
        assert_eq!(order.len(), 4);
        assert_eq!(ext_tsp(&[], &edges), Vec::<u32>::new());
    }

    type Graph = (Vec<BlockNode>, Vec<Edge>);

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
            let given: Vec<u32> = (0..nodes.len() as u32).collect();
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
        use rand::{Rng, SeedableRng};
        let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let (mut found, mut best) = (0.0, 0.0);
        for _ in 0..300 {
            let count = chance.random_range(3..8u32);
            let nodes: Vec<BlockNode> = (0..count)
                .map(|_| BlockNode { size: chance.random_range(1..80), count: 1 })
                .collect();
            let mut any = || chance.random_range(0..count);
            let ends: Vec<(u32, u32)> = (0..count * 2).map(|_| (any(), any())).collect();
            let edges: Vec<Edge> = ends
                .into_iter()
                .map(|(from, to)| edge(from, to, chance.random_range(0..100)))
                .collect();
            found += ext_tsp_score(&nodes, &edges, &ext_tsp(&nodes, &edges));
            let mut optimum = 0.0f64;
            permutations(&mut (1..count).collect(), 0, &mut |rest| {
                let order: Vec<u32> = std::iter::once(0).chain(rest.iter().copied()).collect();
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
