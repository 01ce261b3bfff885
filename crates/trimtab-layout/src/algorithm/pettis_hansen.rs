//! Pettis and Hansen's placement of procedures.

use super::interface::{Algorithm, Needs};
use crate::merging::Contraction;
use crate::named::HasName;
use crate::{Order, PieceId, Problem};
use rustc_hash::FxHashMap;

/// "Closest is best": the two clusters of functions that call each other most become neighbours,
/// then the next two, and so on. Of the four ways to join two chains the one is taken that brings
/// those ends together which call each other most.
///
/// Source: K. Pettis and R. C. Hansen, "Profile guided code positioning", PLDI 1990, section 3
/// (procedure positioning). Chains that never call each other follow in the order in which they
/// ran first. Takes O(*m* log² *n*) for *m* transitions between *n* pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct PettisHansen;

impl HasName for PettisHansen {
    fn name(&self) -> &'static str {
        "pettis-hansen"
    }

    fn description(&self) -> &'static str {
        "closest is best: chains joined by the heaviest calls (PLDI 1990)"
    }
}

impl Algorithm for PettisHansen {
    fn needs(&self) -> Needs {
        Needs::Transitions
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let count = problem.pieces.len();
        let flow = problem.known_flow();
        // Each piece is a cluster of its own.
        let edges = flow.edges.iter().map(|edge| (edge.from.0, edge.to.0, edge.count));
        let mut calls: FxHashMap<(PieceId, PieceId), u64> = FxHashMap::default();
        for edge in &flow.edges {
            let pair = (edge.from.min(edge.to), edge.from.max(edge.to));
            *calls.entry(pair).or_default() += edge.count;
        }
        let mut graph = Contraction::new(count, edges);
        let mut chains = Chains::new(count);
        while let Some((a, b, _)) = graph.heaviest() {
            chains.join(a, b, |x, y| calls.get(&(x.min(y), x.max(y))).copied().unwrap_or(0));
            let (into, from) = graph.merge(a, b);
            chains.rename(into, from);
        }
        let mut listed = Vec::new();
        let mut placed = vec![false; count];
        for piece in problem.executed() {
            chains.walk(piece, &mut placed, &mut listed);
        }
        Order::leading(listed, count)
    }
}

/// Absent neighbour in a chain.
const NONE: PieceId = PieceId(u32::MAX);

/// Chains of pieces, joined at either end in constant time.
struct Chains {
    /// The up to two neighbours of each piece in its chain.
    links: Vec<[PieceId; 2]>,
    /// The two ends of the chain of each cluster.
    ends: Vec<[PieceId; 2]>,
}

impl Chains {
    fn new(count: usize) -> Self {
        Chains {
            links: vec![[NONE; 2]; count],
            ends: PieceId::all(count).map(|piece| [piece; 2]).collect(),
        }
    }

    /// Joins the chains of clusters `a` and `b` at those ends that call each other most.
    fn join(&mut self, a: u32, b: u32, calls: impl Fn(PieceId, PieceId) -> u64) {
        let (ours, theirs) = (self.ends[a as usize], self.ends[b as usize]);
        // Behind each other as they are, where it makes no difference.
        let ways = [(1, 0), (0, 0), (1, 1), (0, 1)];
        let mut best = ways[0];
        for way in ways {
            let weight = |(i, j): (usize, usize)| calls(ours[i], theirs[j]);
            if weight(way) > weight(best) {
                best = way;
            }
        }
        let (x, y) = (ours[best.0], theirs[best.1]);
        for (x, y) in [(x, y), (y, x)] {
            let links = &mut self.links[x.index()];
            let free = usize::from(links[0] != NONE);
            links[free] = y;
        }
        let joined = [ours[1 - best.0], theirs[1 - best.1]];
        self.ends[a as usize] = joined;
        self.ends[b as usize] = joined;
    }

    fn rename(&mut self, into: u32, from: u32) {
        self.ends[into as usize] = self.ends[from as usize];
    }

    /// Lists the chain that holds `piece`, from the end that is nearer to it.
    fn walk(&self, piece: PieceId, placed: &mut [bool], listed: &mut Vec<PieceId>) {
        if placed[piece.index()] {
            return;
        }
        let mut ways = self.links[piece.index()].map(|next| (piece, next));
        let end = loop {
            if let Some((at, _)) = ways.iter().find(|(_, next)| *next == NONE) {
                break *at;
            }
            for (last, next) in &mut ways {
                let further = self.next(*next, *last);
                (*last, *next) = (*next, further);
            }
        };
        let (mut last, mut at) = (NONE, end);
        while at != NONE {
            placed[at.index()] = true;
            listed.push(at);
            (last, at) = (at, self.next(at, last));
        }
    }

    /// The neighbour of `piece` that is not `last`.
    fn next(&self, piece: PieceId, last: PieceId) -> PieceId {
        let [a, b] = self.links[piece.index()];
        if a == last { b } else { a }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use crate::{Edge, Flow, Piece};

    #[test]
    fn those_that_call_each_other_most_are_neighbours() {
        let pieces = vec![Piece { size: 16, alignment: 16, ..Piece::default() }; 5];
        let edge = Edge::of;
        let flow = Flow {
            counts: vec![1; 5],
            edges: vec![edge(0, 3, 10), edge(1, 3, 8), edge(2, 4, 9), edge(4, 1, 7)],
            ..Flow::default()
        };
        let runs = [ids([0, 1, 2, 3, 4])];
        let problem = Problem { pieces: &pieces, runs: &runs, flow: Some(&flow), start: 0 };
        assert_eq!(PettisHansen.order(&problem).listed(), [0, 3, 1, 4, 2]);
    }
}
