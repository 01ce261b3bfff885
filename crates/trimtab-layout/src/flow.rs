//! How control moved between pieces: what algorithms that look at calls work on.

use crate::{PieceId, Problem};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Control went from one piece to another; or from one block, where `Id` is
/// [`BlockIndex`](crate::BlockIndex).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge<Id = PieceId> {
    /// The one that control left.
    pub from: Id,
    /// The one that it went on in.
    pub to: Id,
    /// How often.
    pub count: u64,
}

#[cfg(test)]
impl<Id: From<u32>> Edge<Id> {
    /// An edge between the ids with these numbers.
    pub(crate) fn of(from: u32, to: u32, count: u64) -> Self {
        Edge { from: from.into(), to: to.into(), count }
    }
}

/// How control moved between the pieces of a [`Problem`], in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flow {
    /// How often each piece was entered, by piece.
    pub counts: Vec<u64>,
    /// Transitions between pieces, ascending, each pair once, none from a piece to itself.
    pub edges: Vec<Edge>,
    /// For each run the pieces in the order in which control entered them, as far as it is known.
    pub sequences: Vec<Vec<PieceId>>,
    /// Whether each transition was observed. Otherwise all is derived from first executions alone,
    /// and says only which pieces ran close to each other when they ran first.
    pub observed: bool,
}

impl Flow {
    /// The flow of runs of which every transition was recorded. Each sequence has the pieces in the
    /// order in which control entered them; ids of `pieces` and above are left out.
    pub fn observed(sequences: Vec<Vec<PieceId>>, pieces: usize) -> Self {
        let sequences = cleaned(sequences, pieces);
        let mut counts = vec![0u64; pieces];
        for &piece in sequences.iter().flatten() {
            counts[piece.index()] += 1;
        }
        let edges = edges(&sequences);
        Flow { counts, edges, sequences, observed: true }
    }

    /// An approximation for runs of which only first executions were recorded: `sequences` has, per
    /// run, the piece of each place in the order of first execution, `counts` how often each piece
    /// was entered (0 counts as 1 for those that ran). Two pieces whose places first ran one
    /// after the other are taken to call each other as often as the one that is entered less: a
    /// guess that is right for code that runs once, and an upper bound for the rest.
    pub fn approximated(sequences: Vec<Vec<PieceId>>, mut counts: Vec<u64>) -> Self {
        let sequences = cleaned(sequences, counts.len());
        for &piece in sequences.iter().flatten() {
            let count = &mut counts[piece.index()];
            *count = (*count).max(1);
        }
        let mut edges = edges(&sequences);
        for edge in &mut edges {
            let (from, to) = (counts[edge.from.index()], counts[edge.to.index()]);
            edge.count = edge.count.max(from.min(to));
        }
        Flow { counts, edges, sequences, observed: false }
    }
}

impl<'a> Problem<'a> {
    /// The flow that was given, or one approximated from the runs.
    pub fn known_flow(&self) -> Cow<'a, Flow> {
        match self.flow {
            Some(flow) if flow.counts.len() == self.pieces.len() => Cow::Borrowed(flow),
            _ => Cow::Owned(Flow::approximated(self.runs.to_vec(), vec![0; self.pieces.len()])),
        }
    }
}

/// Leaves out what is no piece, and repeats of the same piece.
fn cleaned(mut sequences: Vec<Vec<PieceId>>, pieces: usize) -> Vec<Vec<PieceId>> {
    for sequence in &mut sequences {
        sequence.retain(|piece| piece.index() < pieces);
        sequence.dedup();
    }
    sequences
}

fn edges(sequences: &[Vec<PieceId>]) -> Vec<Edge> {
    let mut counts: FxHashMap<(PieceId, PieceId), u64> = FxHashMap::default();
    for pair in sequences.iter().flat_map(|sequence| sequence.windows(2)) {
        let &[from, to] = pair else { continue };
        *counts.entry((from, to)).or_default() += 1;
    }
    let mut edges: Vec<Edge> =
        counts.into_iter().map(|((from, to), count)| Edge { from, to, count }).collect();
    edges.sort_unstable();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;

    fn edge<Id: From<u32>>(from: u32, to: u32, count: u64) -> Edge<Id> {
        Edge::of(from, to, count)
    }

    #[test]
    fn transitions_are_counted_and_repeats_are_none() {
        let flow = Flow::observed(vec![ids([0, 1, 1, 9, 0, 1]), ids([2, 0])], 3);
        assert_eq!(flow.counts, [3, 2, 1]);
        assert_eq!(flow.edges, [edge(0, 1, 2), edge(1, 0, 1), edge(2, 0, 1)]);
        assert!(flow.observed);
    }

    #[test]
    fn first_executions_give_no_more_than_the_rarer_side() {
        let flow = Flow::approximated(vec![ids([0, 1, 2])], vec![100, 7, 0]);
        assert_eq!(flow.counts, [100, 7, 1]);
        assert_eq!(flow.edges, [edge(0, 1, 7), edge(1, 2, 1)]);
        assert!(!flow.observed);
    }
}
