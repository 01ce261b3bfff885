//! A graph of pieces that are merged into pages, the heaviest edge first.

use super::problem::{Occupancy, PageProblem};
use crate::PieceId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};

/// Up to this many edges of one weight are simply looked at again after each merge.
const FEW: usize = 64;

/// A set of pieces that are to share a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub occupancy: Occupancy,
    pub pieces: Vec<PieceId>,
    /// Where its pieces lay in the original program, ascending; resident ones do not count.
    positions: Vec<u64>,
    /// Neighbours with the weight of the edge to them.
    pub edges: FxHashMap<u32, u64>,
}

/// Nodes with undirected, weighted edges.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    /// `None` where the node has become part of another.
    pub nodes: Vec<Option<Node>>,
    pub page: u64,
}

/// Two nodes that have become one.
#[derive(Debug)]
pub(super) struct MergeOutcome {
    /// The one that goes on.
    pub into: u32,
    /// The neighbours to which its edge is new, or weighs more than before.
    pub changed: Vec<u32>,
}

/// What decides between edges of the same weight, more is better: the common weight, then how close
/// the code lay in the original program, then the first.
type Rank = (u64, Reverse<u64>, Reverse<(u32, u32)>);

impl Graph {
    /// One node for each piece, with the same index. Edges from a piece to itself are left out.
    pub fn new(
        problem: &PageProblem<'_>,
        edges: impl IntoIterator<Item = (PieceId, PieceId, u64)>,
    ) -> Self {
        let occupancies = problem.occupancies();
        let node = |(piece, occupancy): (usize, &Occupancy)| {
            let resident = problem.pieces[piece].resident;
            Some(Node {
                occupancy: *occupancy,
                pieces: if resident { Vec::new() } else { vec![PieceId::at(piece)] },
                positions: if resident { Vec::new() } else { vec![problem.pieces[piece].position] },
                edges: FxHashMap::default(),
            })
        };
        let mut graph =
            Graph { nodes: occupancies.iter().enumerate().map(node).collect(), page: problem.page };
        for (a, b, weight) in edges {
            if a != b {
                graph.add(a.0, b.0, weight);
                graph.add(b.0, a.0, weight);
            }
        }
        graph
    }

    fn add(&mut self, from: u32, to: u32, weight: u64) {
        if let Some(Some(node)) = self.nodes.get_mut(from as usize) {
            let sum = node.edges.entry(to).or_default();
            *sum = sum.saturating_add(weight);
        }
    }

    pub fn node(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index as usize)?.as_ref()
    }

    pub fn fits(&self, a: u32, b: u32) -> bool {
        let occupancies = self.node(a).zip(self.node(b)).map(|(a, b)| (a.occupancy, b.occupancy));
        occupancies.is_some_and(|(a, b)| a.with(b, self.page).is_some())
    }

    /// Makes two nodes one; the one with more edges goes on. `None` where they are not two, or do not
    /// fit.
    pub fn merge(&mut self, a: u32, b: u32) -> Option<MergeOutcome> {
        if a == b {
            return None;
        }
        let (one, other) = (self.node(a)?, self.node(b)?);
        let occupancy = one.occupancy.with(other.occupancy, self.page)?;
        let (into, from) = if one.edges.len() >= other.edges.len() { (a, b) } else { (b, a) };
        let gone = self.nodes[from as usize].take()?;
        let changed = gone.edges.keys().copied().filter(|neighbour| *neighbour != into).collect();
        for (&neighbour, &weight) in &gone.edges {
            if let Some(Some(node)) = self.nodes.get_mut(neighbour as usize) {
                node.edges.remove(&from);
            }
            if neighbour != into {
                self.add(into, neighbour, weight);
                self.add(neighbour, into, weight);
            }
        }
        let node = self.nodes[into as usize].as_mut()?;
        node.edges.remove(&from);
        node.occupancy = occupancy;
        node.pieces.extend(gone.pieces);
        node.positions.extend(gone.positions);
        node.positions.sort_unstable();
        Some(MergeOutcome { into, changed })
    }

    /// The groups of pieces that there are now.
    pub fn groups(self) -> Vec<Vec<PieceId>> {
        self.nodes.into_iter().flatten().map(|node| node.pieces).collect()
    }

    /// The sum of the weights that lead from both ends of an edge to the nodes that would still fit
    /// on one page with both.
    fn common_weight(&self, a: u32, b: u32) -> u64 {
        let Some((one, other)) = self.node(a).zip(self.node(b)) else { return 0 };
        let Some(both) = one.occupancy.with(other.occupancy, self.page) else { return 0 };
        let (few, many) =
            if one.edges.len() <= other.edges.len() { (one, other) } else { (other, one) };
        let common = few.edges.iter().filter_map(|(third, weight)| {
            let more = many.edges.get(third)?;
            both.with(self.node(*third)?.occupancy, self.page)?;
            Some(weight.saturating_add(*more))
        });
        common.fold(0, u64::saturating_add)
    }

    /// Bytes between the closest pieces of two nodes in the original program.
    fn distance(&self, a: u32, b: u32) -> u64 {
        let positions = |index| self.node(index).map_or(&[][..], |node| node.positions.as_slice());
        let (mut one, mut other) = (positions(a), positions(b));
        let mut closest = u64::MAX;
        while let (Some((x, more_x)), Some((y, more_y))) = (one.split_first(), other.split_first())
        {
            closest = closest.min(x.abs_diff(*y));
            if x <= y { one = more_x } else { other = more_y }
        }
        closest
    }

    fn rank(&self, (a, b): (u32, u32)) -> Rank {
        (self.common_weight(a, b), Reverse(self.distance(a, b)), Reverse((a, b)))
    }
}

/// Edges of one weight, the best first.
#[derive(Debug, Default)]
struct EdgeRanking {
    heap: BinaryHeap<(Rank, (u32, u32))>,
    /// The highest rank with which each edge is in the heap: lower ones need not be noted.
    known: FxHashMap<(u32, u32), Rank>,
}

impl EdgeRanking {
    fn push(&mut self, rank: Rank, edge: (u32, u32)) {
        match self.known.entry(edge) {
            Entry::Occupied(known) if *known.get() >= rank => return,
            Entry::Occupied(mut known) => {
                known.insert(rank);
            }
            Entry::Vacant(free) => {
                free.insert(rank);
            }
        }
        self.heap.push((rank, edge));
    }

    fn pop(&mut self) -> Option<(Rank, (u32, u32))> {
        loop {
            let (rank, edge) = self.heap.pop()?;
            // One that is out of date was noted again, with a higher rank, and is done with.
            if self.known.get(&edge) == Some(&rank) {
                self.known.remove(&edge);
                return Some((rank, edge));
            }
        }
    }
}

/// Edges by weight.
type OpenEdges = BTreeMap<u64, EdgeRanking>;

/// A weight and its edge; what is greater comes first.
type WeightedEdge = (u64, Reverse<(u32, u32)>);

/// Edges that have not been looked at, the heaviest first. Most were there from the start, and sorting
/// them once is much faster than a heap of them.
struct EdgeQueue {
    /// Ascending.
    first: Vec<WeightedEdge>,
    later: BinaryHeap<WeightedEdge>,
}

impl EdgeQueue {
    fn of(graph: &Graph) -> Self {
        let mut first: Vec<WeightedEdge> = Vec::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            let index = index as u32;
            let Some(node) = node else { continue };
            let up = node.edges.iter().filter(|(other, _)| **other > index);
            first.extend(up.map(|(other, weight)| (*weight, Reverse((index, *other)))));
        }
        first.sort_unstable();
        EdgeQueue { first, later: BinaryHeap::new() }
    }

    fn peek(&self) -> Option<WeightedEdge> {
        self.first.last().max(self.later.peek()).copied()
    }

    fn pop(&mut self) -> Option<WeightedEdge> {
        match self.first.last() >= self.later.peek() {
            true => self.first.pop(),
            false => self.later.pop(),
        }
    }

    fn extend(&mut self, edges: impl IntoIterator<Item = WeightedEdge>) {
        self.later.extend(edges);
    }
}

/// Merges along the heaviest edge whose ends fit on a page together, until there is none; of equal
/// ones as [`Rank`] says. `ranked` false leaves common weights out.
///
/// Ranks are computed only once their weight is the heaviest, as only then they matter. From then
/// on a rank that may have risen is computed again at once, and one that may have fallen when it
/// comes first.
pub(super) fn merge_heaviest(graph: &mut Graph, ranked: bool) {
    let mut waiting = EdgeQueue::of(graph);
    if !ranked {
        while let Some((weight, Reverse((a, b)))) = waiting.pop() {
            if is_current(graph, weight, (a, b))
                && let Some(merged) = graph.merge(a, b)
            {
                waiting.extend(changed_edges(graph, &merged));
            }
        }
        return;
    }
    let mut open: OpenEdges = BTreeMap::new();
    loop {
        let opened = open.last_key_value().map_or(0, |(weight, _)| *weight);
        if let Some((top, _)) = waiting.peek().filter(|(top, _)| *top >= opened) {
            while let Some((_, Reverse(edge))) = waiting.peek().filter(|(weight, _)| *weight == top)
            {
                waiting.pop();
                if is_current(graph, top, edge) && graph.fits(edge.0, edge.1) {
                    open.entry(top).or_default().push(graph.rank(edge), edge);
                }
            }
            continue;
        }
        let Some(mut group) = open.last_entry() else { break };
        let weight = *group.key();
        let Some((rank, edge)) = group.get_mut().pop() else {
            group.remove();
            continue;
        };
        if !is_current(graph, weight, edge) || !graph.fits(edge.0, edge.1) {
            continue;
        }
        let now = graph.rank(edge);
        if now < rank {
            group.get_mut().push(now, edge);
            continue;
        }
        if let Some(merged) = graph.merge(edge.0, edge.1) {
            waiting.extend(changed_edges(graph, &merged));
            rank_again(graph, &merged, &mut open);
        }
    }
}

/// Whether an edge still is what it was when it was noted.
fn is_current(graph: &Graph, weight: u64, (a, b): (u32, u32)) -> bool {
    graph.node(a).and_then(|node| node.edges.get(&b)) == Some(&weight) && graph.node(b).is_some()
}

fn changed_edges(graph: &Graph, merged: &MergeOutcome) -> Vec<WeightedEdge> {
    let into = merged.into;
    let Some(node) = graph.node(into) else { return Vec::new() };
    let changed = merged.changed.iter().filter_map(|other| Some((*other, *node.edges.get(other)?)));
    changed.map(|(other, weight)| (weight, Reverse(sorted(into, other)))).collect()
}

fn sorted(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Ranks again what may have risen: edges of the node, and those between its neighbours to which it
/// is tied more than before on one side at least.
fn rank_again(graph: &Graph, MergeOutcome { into, changed }: &MergeOutcome, open: &mut OpenEdges) {
    let entries: usize = open.values().map(|group| group.known.len()).sum();
    if entries <= FEW {
        for (weight, group) in open.iter_mut() {
            let edges = std::mem::take(group).known.into_keys();
            for edge in edges.filter(|edge| is_current(graph, *weight, *edge)) {
                group.push(graph.rank(edge), edge);
            }
        }
        open.retain(|_, group| !group.known.is_empty());
        return;
    }
    let Some(node) = graph.node(*into) else { return };
    for (&other, weight) in &node.edges {
        let edge = sorted(*into, other);
        if let Some(group) = open.get_mut(weight)
            && graph.fits(edge.0, edge.1)
        {
            group.push(graph.rank(edge), edge);
        }
    }
    // A node that is full adds to no common weight.
    if node.occupancy.bytes.saturating_add(2) > graph.page {
        return;
    }
    for &a in changed {
        let Some(neighbour) = graph.node(a) else { continue };
        // One that everything calls has neighbours without end.
        let (few, many) = if neighbour.edges.len() <= node.edges.len() {
            (&neighbour.edges, &node.edges)
        } else {
            (&node.edges, &neighbour.edges)
        };
        for b in few.keys().filter(|b| many.contains_key(b)) {
            if let Some(weight) = neighbour.edges.get(b)
                && let Some(group) = open.get_mut(weight)
            {
                let edge = sorted(a, *b);
                group.push(graph.rank(edge), edge);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PagedPiece;
    use super::*;
    use proptest::prelude::*;

    /// All edges looked at before each merge.
    fn merge_slowly(graph: &mut Graph, ranked: bool) {
        loop {
            let mut best = None;
            for (index, node) in graph.nodes.iter().enumerate() {
                let Some(node) = node else { continue };
                for (&other, &weight) in node.edges.iter().filter(|(to, _)| **to > index as u32) {
                    let edge = (index as u32, other);
                    let rank = match ranked {
                        true => graph.rank(edge),
                        false => (0, Reverse(0), Reverse(edge)),
                    };
                    if graph.fits(edge.0, edge.1) {
                        best = best.max(Some((weight, rank, edge)));
                    }
                }
            }
            let Some((_, _, (a, b))) = best else { break };
            graph.merge(a, b);
        }
    }

    fn sets(graph: Graph) -> Vec<Vec<PieceId>> {
        let mut groups = graph.groups();
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups.sort_unstable();
        groups
    }

    proptest! {
        #[test]
        fn the_heaviest_edge_of_all_is_merged_at_each_step(
            sizes in prop::collection::vec((1u64..25, 0u64..10_000, 0u8..8), 60),
            edges in prop::collection::vec((0u32..60, 0u32..60, 1u64..3), 0..800),
            ranked: bool,
        ) {
            let piece = |&(size, position, resident): &(u64, u64, u8)| PagedPiece {
                size,
                alignment: 1,
                position,
                resident: resident == 0,
                entry: false,
            };
            let pieces: Vec<PagedPiece> = sizes.iter().map(piece).collect();
            let problem = PageProblem { pieces: &pieces, edges: &[], references: &[], page: 100 };
            let mut fast = Graph::new(&problem, edges.iter().map(|(a, b, weight)| (PieceId(*a), PieceId(*b), *weight)));
            let mut slow = fast.clone();
            merge_heaviest(&mut fast, ranked);
            merge_slowly(&mut slow, ranked);
            prop_assert_eq!(sets(fast), sets(slow));
        }
    }
}
