//! Which blocks of a function belong together, and which away from them.

use petgraph::Direction::Incoming;
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use trimtab_program::decode::Jump;
use trimtab_program::{Block, RangeSet};

/// Runs of cold bytes up to this length stay between the hot blocks: a branch over a few bytes is
/// short, one to a section of its own takes four bytes more.
const LONGEST_COLD_RUN_KEPT: u64 = 6;

/// How one function is split in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotColdSplit {
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
pub fn split(blocks: &[Block], executed: &RangeSet) -> Option<HotColdSplit> {
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
    let mut split = HotColdSplit { hot: Vec::new(), cold_bytes: 0 };
    // Blocks since the last hot one.
    let mut cold: Vec<&Block> = Vec::new();
    let mut cold_bytes = 0;
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 && !hot[index] {
            cold_bytes += block.range.length();
            cold.push(block);
            continue;
        }
        if cold_bytes <= LONGEST_COLD_RUN_KEPT {
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

/// What splitting costs: prices in any unit that all share, and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    /// A byte that did not run and stays with those that did.
    pub idle_byte: u64,
    /// A branch between what is hot and what is cold.
    pub branch: u64,
    /// Bytes by which such a branch is longer than another.
    pub longer: u64,
    /// Bytes of a jump to what was the next block.
    pub jump: u64,
    /// A second part of the function: its symbol, for the greater part.
    pub part: u64,
}

/// Splits a function as [`split`] does, at the lowest price: what did not run stays where it is if
/// moving it would cost more. `jumps` are those between its blocks.
///
/// The cheapest split is a minimum cut: every branch between a hot and a cold block is cut, and so
/// is each block that did not run and stays from where it would not have to be loaded. A block without
/// bytes goes with the next. `None` where it is cheapest to leave the function whole.
///
/// Source: ours; the cut is found with Dinic's algorithm (Dokl. Akad. Nauk SSSR 194, 1970).
pub fn split_by_price(
    blocks: &[Block],
    jumps: &[Jump],
    executed: &RangeSet,
    prices: Prices,
) -> Option<HotColdSplit> {
    let ran: Vec<bool> =
        blocks.iter().map(|block| executed.within(block.range).next().is_some()).collect();
    if !ran.contains(&true) {
        return None;
    }
    let idle = |index: usize| match index == 0 || ran[index] {
        true => 0,
        false => blocks[index].range.length() * prices.idle_byte,
    };
    let whole: u64 = (0..blocks.len()).map(idle).sum();
    // More than any cut.
    let never = whole + 1;
    let mut network = Network::new(blocks.len());
    for (index, ran) in ran.iter().enumerate() {
        match index == 0 || *ran {
            true => network.hot(index, never),
            false => network.idle(index, idle(index)),
        }
    }
    for jump in jumps {
        network.cut(jump.from, jump.to, prices.branch + prices.longer * prices.idle_byte);
        network.cut(jump.to, jump.from, prices.branch);
    }
    for (next, block) in (1..).zip(blocks).take(blocks.len().saturating_sub(1)) {
        if block.range.is_empty() {
            network.cut(next - 1, next, never);
            network.cut(next, next - 1, never);
        } else if block.falls_through {
            network.cut(next - 1, next, prices.branch + prices.jump * prices.idle_byte);
            network.cut(next, next - 1, prices.branch);
        }
    }
    let (price, hot) = network.minimum();
    let is_cold = |index: &usize| !hot[*index];
    let cold_bytes = (0..blocks.len()).filter(is_cold).map(|i| blocks[i].range.length()).sum();
    let hot = (0..blocks.len()).filter(|index| hot[*index]).map(|i| blocks[i].id).collect();
    (cold_bytes > 0 && price + prices.part < whole).then_some(HotColdSplit { hot, cold_bytes })
}

/// A network whose source is what runs and whose sink is what does not.
struct Network {
    graph: DiGraph<(), u64>,
    source: NodeIndex,
    sink: NodeIndex,
    blocks: Vec<NodeIndex>,
}

impl Network {
    fn new(blocks: usize) -> Self {
        let mut graph = DiGraph::new();
        let (source, sink) = (graph.add_node(()), graph.add_node(()));
        let blocks = (0..blocks).map(|_| graph.add_node(())).collect();
        Network { graph, source, sink, blocks }
    }

    /// This block is cold only at this price.
    fn hot(&mut self, block: usize, price: u64) {
        self.graph.add_edge(self.source, self.blocks[block], price);
    }

    /// This block is hot only at this price.
    fn idle(&mut self, block: usize, price: u64) {
        self.graph.add_edge(self.blocks[block], self.sink, price);
    }

    /// The first of these is hot and the second cold only at this price.
    fn cut(&mut self, hot: usize, cold: usize, price: u64) {
        self.graph.add_edge(self.blocks[hot], self.blocks[cold], price);
    }

    /// The lowest price, and which blocks are hot then: of all cuts with it the one with the fewest.
    fn minimum(&self) -> (u64, Vec<bool>) {
        let (price, flows) = dinics(&self.graph, self.source, self.sink);
        let mut reached = vec![false; self.graph.node_count()];
        reached[self.source.index()] = true;
        let mut open = vec![self.source];
        while let Some(node) = open.pop() {
            let ahead =
                self.graph.edges(node).filter(|edge| flows[edge.id().index()] < *edge.weight());
            let back = self.graph.edges_directed(node, Incoming);
            let back = back.filter(|edge| flows[edge.id().index()] > 0);
            for next in ahead.map(|edge| edge.target()).chain(back.map(|edge| edge.source())) {
                if !std::mem::replace(&mut reached[next.index()], true) {
                    open.push(next);
                }
            }
        }
        (price, self.blocks.iter().map(|node| reached[node.index()]).collect())
    }
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
            Some(HotColdSplit { hot: vec![0, 2, 3, 4], cold_bytes: 27 })
        );
        // The entry stays even if control came in elsewhere.
        assert_eq!(
            split(&blocks, &executed(&[4])),
            Some(HotColdSplit { hot: vec![0, 4], cold_bytes: 36 })
        );
        assert_eq!(split(&blocks, &executed(&[])), None);
        let empty = self::blocks(&[10, 0, 20, 0, 30, 0]);
        let ran = [empty[0].range, empty[4].range].into_iter().collect();
        assert_eq!(split(&empty, &ran), Some(HotColdSplit { hot: vec![0, 3, 4], cold_bytes: 20 }));
        assert_eq!(split(&blocks, &executed(&[0, 1, 2, 3, 4, 5])), None);
        assert_eq!(split(&[], &executed(&[0])), None);
    }

    const PRICES: Prices = Prices { idle_byte: 10, branch: 20, longer: 4, jump: 5, part: 100 };

    #[test]
    fn what_costs_more_to_move_than_to_keep_stays() {
        let by_price = |lengths: &[u64], ran: &[usize], jumps: &[(usize, usize)]| {
            let blocks: Vec<Block> = blocks(lengths)
                .into_iter()
                .map(|block| Block { falls_through: false, ..block })
                .collect();
            let executed = ran.iter().map(|id| blocks[*id].range).collect();
            let jumps: Vec<Jump> = jumps.iter().map(|&(from, to)| Jump { from, to }).collect();
            split_by_price(&blocks, &jumps, &executed, PRICES)
        };
        // A part and a branch to it, longer by four bytes, cost as much as 16 bytes that did not run.
        assert_eq!(by_price(&[10, 16], &[0], &[(0, 1)]), None);
        assert_eq!(
            by_price(&[10, 17], &[0], &[(0, 1)]),
            Some(HotColdSplit { hot: vec![0], cold_bytes: 17 })
        );
        // Behind that, a branch and four bytes more for each: 5 bytes stay, 6 go.
        assert_eq!(
            by_price(&[10, 100, 5, 6], &[0], &[(0, 1), (0, 2), (0, 3)]),
            Some(HotColdSplit { hot: vec![0, 2], cold_bytes: 106 })
        );
        // What only cold code leads to goes with it.
        assert_eq!(
            by_price(&[10, 100, 1], &[0], &[(0, 1), (1, 2)]),
            Some(HotColdSplit { hot: vec![0], cold_bytes: 101 })
        );
        assert_eq!(by_price(&[10, 100], &[], &[]), None);
        assert_eq!(by_price(&[10, 100], &[0, 1], &[(0, 1)]), None);
        assert_eq!(by_price(&[], &[], &[]), None);
    }

    /// What a split costs, counted the long way.
    fn price(blocks: &[Block], jumps: &[Jump], hot: &[bool]) -> u64 {
        let mut price = if hot.contains(&false) { PRICES.part } else { 0 };
        for (from, to, bytes) in jumps.iter().map(|jump| (jump.from, jump.to, PRICES.longer)).chain(
            (1..blocks.len())
                .filter(|next| blocks[next - 1].falls_through)
                .map(|i| (i - 1, i, PRICES.jump)),
        ) {
            if hot[from] != hot[to] {
                price += PRICES.branch + u64::from(hot[from]) * bytes * PRICES.idle_byte;
            }
        }
        price
    }

    proptest! {
        #[test]
        fn no_other_split_costs_less(
            parts in prop::collection::vec((1u64..40, any::<bool>(), any::<bool>()), 1..8),
            jumps in prop::collection::vec((0usize..8, 0usize..8), 0..8),
        ) {
            let mut blocks = blocks(&parts.iter().map(|part| part.0).collect::<Vec<_>>());
            for (block, part) in blocks.iter_mut().zip(&parts) {
                block.falls_through = part.2;
            }
            let ran: Vec<bool> = parts.iter().map(|part| part.1).collect();
            let executed: RangeSet = blocks.iter().zip(&ran).filter(|(_, ran)| **ran)
                .map(|(block, _)| block.range).collect();
            let jumps: Vec<Jump> = jumps.into_iter()
                .map(|(from, to)| Jump { from: from % blocks.len(), to: to % blocks.len() })
                .collect();
            let cost = |hot: &[bool]| {
                let kept = (0..blocks.len()).filter(|i| hot[*i] && *i > 0 && !ran[*i]);
                let idle: u64 = kept.map(|i| blocks[i].range.length() * PRICES.idle_byte).sum();
                idle + price(&blocks, &jumps, hot)
            };
            let least = (0..1u32 << blocks.len())
                .map(|bits| (0..blocks.len()).map(|i| bits >> i & 1 == 1).collect::<Vec<bool>>())
                .filter(|hot| (0..blocks.len()).all(|i| hot[i] || (i > 0 && !ran[i])))
                .map(|hot| cost(&hot))
                .min();
            let found = split_by_price(&blocks, &jumps, &executed, PRICES);
            let hot: Vec<bool> = (0..blocks.len() as u32)
                .map(|id| found.as_ref().is_none_or(|split| split.hot.contains(&id)))
                .collect();
            prop_assert!(!ran.contains(&true) || Some(cost(&hot)) == least, "{:?}", found);
            if let Some(split) = found {
                let cold = (0..blocks.len()).filter(|i| !hot[*i]);
                prop_assert_eq!(cold.map(|i| blocks[i].range.length()).sum::<u64>(), split.cold_bytes);
                prop_assert_eq!(split.hot[0], 0);
            }
        }

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
