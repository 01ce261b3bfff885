//! The chains of blocks that Ext-TSP merges.

use super::{BlockNode, jump_score, length};
use crate::merging::MergeQueue;
use crate::{BlockIndex, Edge};

/// The block that stays first.
const ENTRY: BlockIndex = BlockIndex(0);
/// Chains of more blocks are cut only where a jump leads in or out.
const CUT_ANYWHERE: usize = 128;
/// Gains below this are none.
const EPSILON: f64 = 1e-8;

/// The order of the parts of two chains that are merged. The first one, X, may be cut into X1 and X2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MergeType {
    XY,
    X1YX2,
    YX2X1,
    X2X1Y,
}

#[derive(Default)]
struct Chain {
    blocks: Vec<BlockIndex>,
    bytes: i64,
    count: f64,
    score: f64,
    /// Jumps within the chain.
    own: Vec<u32>,
    /// Chains that jumps lead to or come from, and those jumps.
    neighbours: Vec<(u32, Vec<u32>)>,
}

struct Jump {
    from: BlockIndex,
    to: BlockIndex,
    count: f64,
}

/// How two chains are merged: the number of blocks of the first chain in front of the cut, and the order
/// of the parts.
type MergePoint = (u32, MergeType);

/// The chains of blocks of a function, while they are merged.
pub(super) struct Chains<'a> {
    nodes: &'a [BlockNode],
    jumps: Vec<Jump>,
    into: Vec<Vec<u32>>,
    out_of: Vec<Vec<u32>>,
    chains: Vec<Chain>,
    chain_of: Vec<u32>,
    /// Place of each block in its chain: number of blocks and of bytes in front of it.
    place: Vec<(u32, i64)>,
    /// The block that a block must be followed by.
    forced: Vec<Option<BlockIndex>>,
    queue: MergeQueue<MergePoint>,
}

impl<'a> Chains<'a> {
    /// Each block a chain of its own.
    pub fn new(nodes: &'a [BlockNode], edges: &[Edge<BlockIndex>]) -> Self {
        let count = nodes.len();
        let known = |edge: &&Edge<BlockIndex>| {
            edge.from.index() < count && edge.to.index() < count && edge.from != edge.to
        };
        let mut sorted: Vec<Edge<BlockIndex>> =
            edges.iter().filter(known).filter(|edge| edge.count > 0).copied().collect();
        sorted.sort_unstable();
        sorted.dedup_by(|next, kept| {
            let same = (next.from, next.to) == (kept.from, kept.to);
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        let mut chains = Chains {
            nodes,
            jumps: Vec::with_capacity(sorted.len()),
            into: vec![Vec::new(); count],
            out_of: vec![Vec::new(); count],
            chains: Vec::with_capacity(count),
            chain_of: (0..count as u32).collect(),
            place: vec![(0, 0); count],
            forced: vec![None; count],
            queue: MergeQueue::new(count),
        };
        for (block, node) in nodes.iter().enumerate() {
            chains.chains.push(Chain {
                blocks: vec![BlockIndex::at(block)],
                bytes: length(node),
                count: node.count as f64,
                ..Chain::default()
            });
        }
        for (index, edge) in sorted.iter().enumerate() {
            let index = index as u32;
            chains.jumps.push(Jump { from: edge.from, to: edge.to, count: edge.count as f64 });
            chains.out_of[edge.from.index()].push(index);
            chains.into[edge.to.index()].push(index);
            for (a, b) in [(edge.from, edge.to), (edge.to, edge.from)] {
                // Each block is a chain of its own.
                add(&mut chains.chains[a.index()].neighbours, b.0, vec![index]);
            }
        }
        chains
    }

    /// Joins blocks of which one is the only one to follow the other, and follows no other.
    pub fn merge_forced(&mut self) {
        let only = |jumps: &[u32]| if let [jump] = jumps { Some(*jump) } else { None };
        let mut has_forced = vec![false; self.nodes.len()];
        for block in 0..self.nodes.len() {
            let Some(jump) = only(&self.out_of[block]) else { continue };
            let next = self.jumps[jump as usize].to;
            if next != ENTRY && only(&self.into[next.index()]).is_some() {
                self.forced[block] = Some(next);
                has_forced[next.index()] = true;
            }
        }
        // Circles have no head and are left to the gains.
        let heads: Vec<BlockIndex> =
            BlockIndex::all(self.nodes.len()).filter(|block| !has_forced[block.index()]).collect();
        for head in heads {
            let mut at = head;
            while let Some(next) = self.forced[at.index()] {
                self.merge(
                    self.chain_of[head.index()],
                    self.chain_of[next.index()],
                    0,
                    MergeType::XY,
                );
                at = next;
            }
        }
        for block in 0..self.nodes.len() {
            if self.forced[block]
                .is_some_and(|next| self.chain_of[next.index()] != self.chain_of[block])
            {
                self.forced[block] = None;
            }
        }
    }

    /// Merges the two chains that gain most by it, again and again.
    pub fn merge_by_gain(&mut self) {
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
            if !self.queue.is_current(&best) {
                continue;
            }
            let ((x, y), (cut, merge_type)) = (best.pair(), best.how);
            self.merge(x, y, cut as usize, merge_type);
            let neighbours: Vec<u32> =
                self.chains[x as usize].neighbours.iter().map(|(other, _)| *other).collect();
            for other in neighbours {
                self.consider(x, other);
            }
        }
    }

    /// Puts the best merge of two chains on the queue, where one gains anything.
    fn consider(&mut self, a: u32, b: u32) {
        let both = [self.best(a, b), self.best(b, a)].into_iter().flatten();
        let best =
            both.reduce(|first, second| if second.0 > first.0 + EPSILON { second } else { first });
        if let Some((gain, pair, cut)) = best {
            self.queue.push(pair, gain, cut);
        }
    }

    /// The best merge of `y` into `x`, which may be cut: what it gains, the two, and how.
    fn best(&self, x: u32, y: u32) -> Option<(f64, (u32, u32), MergePoint)> {
        let (first, second) = (&self.chains[x as usize], &self.chains[y as usize]);
        let (_, jumps) = first.neighbours.iter().find(|(other, _)| *other == y)?;
        let mut best: Option<(f64, usize, MergeType)> = None;
        let mut try_merge = |cut: usize, merge_type: MergeType| {
            if cut > 0 {
                if cut >= first.blocks.len() {
                    return;
                }
                if self.forced[first.blocks[cut - 1].index()].is_some() {
                    return;
                }
            }
            // The entry stays in front.
            let leads = match merge_type {
                MergeType::XY | MergeType::X1YX2 => first.blocks[0],
                MergeType::YX2X1 => second.blocks[0],
                MergeType::X2X1Y => first.blocks[cut],
            };
            let holds_entry = first.blocks[0] == ENTRY || second.blocks[0] == ENTRY;
            if holds_entry && leads != ENTRY {
                return;
            }
            let gain = self.gain(x, y, jumps, cut, merge_type);
            if gain > EPSILON && best.is_none_or(|(most, _, _)| gain > most + EPSILON) {
                best = Some((gain, cut, merge_type));
            }
        };
        try_merge(0, MergeType::XY);
        if first.blocks.len() <= CUT_ANYWHERE {
            for cut in 1..first.blocks.len() {
                for merge_type in [MergeType::X1YX2, MergeType::YX2X1, MergeType::X2X1Y] {
                    try_merge(cut, merge_type);
                }
            }
        } else {
            let (head, tail) = (second.blocks[0], second.blocks[second.blocks.len() - 1]);
            for &jump in &self.into[head.index()] {
                let from = self.jumps[jump as usize].from;
                if self.chain_of[from.index()] == x {
                    let cut = self.place[from.index()].0 as usize + 1;
                    try_merge(cut, MergeType::X1YX2);
                    try_merge(cut, MergeType::X2X1Y);
                }
            }
            for &jump in &self.out_of[tail.index()] {
                let to = self.jumps[jump as usize].to;
                if self.chain_of[to.index()] == x {
                    let cut = self.place[to.index()].0 as usize;
                    try_merge(cut, MergeType::X1YX2);
                    try_merge(cut, MergeType::YX2X1);
                }
            }
        }
        best.map(|(gain, cut, merge_type)| (gain, (x, y), (cut as u32, merge_type)))
    }

    /// What merging gains in score; `jumps` are those between the chains.
    fn gain(&self, x: u32, y: u32, jumps: &[u32], cut: usize, merge_type: MergeType) -> f64 {
        let (first, second) = (&self.chains[x as usize], &self.chains[y as usize]);
        let front = match first.blocks.get(cut) {
            Some(block) if cut > 0 => self.place[block.index()].1,
            _ => 0,
        };
        let back = first.bytes - front;
        // Where X1, X2 and Y begin, less where they began.
        let (x1, x2, in_y) = match merge_type {
            MergeType::XY => (0, 0, first.bytes),
            MergeType::X1YX2 => (0, second.bytes, front),
            MergeType::YX2X1 => (second.bytes + back, second.bytes - front, 0),
            MergeType::X2X1Y => (back, -front, first.bytes),
        };
        let place = |block: BlockIndex| {
            let (number, address) = self.place[block.index()];
            let shift = match self.chain_of[block.index()] == x {
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
                    let from = place(jump.from) + length(&self.nodes[jump.from.index()]);
                    jump_score(from, place(jump.to), jump.count)
                })
                .sum()
        };
        // Without a cut the jumps within X stay as they are.
        let own = if cut == 0 { 0.0 } else { sum(&first.own) - first.score };
        sum(jumps) + own
    }

    fn merge(&mut self, x: u32, y: u32, cut: usize, merge_type: MergeType) {
        let second = std::mem::take(&mut self.chains[y as usize]);
        self.queue.changed(x);
        self.queue.changed(y);
        let first = &mut self.chains[x as usize];
        let mut x1 = std::mem::take(&mut first.blocks);
        let mut merged = Vec::with_capacity(x1.len() + second.blocks.len());
        match merge_type {
            MergeType::XY => {
                // In place: long chains grow at their end.
                merged = x1;
                merged.extend(&second.blocks);
            }
            MergeType::X1YX2 => {
                let x2 = x1.split_off(cut);
                merged.extend(x1.into_iter().chain(second.blocks.iter().copied()).chain(x2));
            }
            MergeType::YX2X1 => {
                let x2 = x1.split_off(cut);
                merged.extend(second.blocks.iter().copied().chain(x2).chain(x1));
            }
            MergeType::X2X1Y => {
                let x2 = x1.split_off(cut);
                merged.extend(x2.into_iter().chain(x1).chain(second.blocks.iter().copied()));
            }
        }
        first.blocks = merged;
        first.count += second.count;
        first.own.extend(second.own);
        let unchanged =
            if merge_type == MergeType::XY { first.blocks.len() - second.blocks.len() } else { 0 };
        let mut address = if merge_type == MergeType::XY { first.bytes } else { 0 };
        first.bytes += second.bytes;
        for (number, &block) in first.blocks.iter().enumerate().skip(unchanged) {
            self.place[block.index()] = (number as u32, address);
            self.chain_of[block.index()] = x;
            address += length(&self.nodes[block.index()]);
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

    /// The score of the jumps within a chain.
    fn score(&self, chain: u32) -> f64 {
        let own = self.chains[chain as usize].own.iter();
        own.map(|jump| {
            let jump = &self.jumps[*jump as usize];
            let (from, to) = (jump.from.index(), jump.to.index());
            jump_score(self.place[from].1 + length(&self.nodes[from]), self.place[to].1, jump.count)
        })
        .sum()
    }

    /// All blocks: the entry's chain, then the others by executions per byte, of equals by number.
    pub fn finish(self) -> Vec<BlockIndex> {
        let mut chains: Vec<&Chain> =
            self.chains.iter().filter(|chain| !chain.blocks.is_empty()).collect();
        let density = |chain: &Chain| chain.count / chain.bytes.max(1) as f64;
        chains.sort_by(|a, b| {
            let entry = |chain: &Chain| chain.blocks[0] != ENTRY;
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
