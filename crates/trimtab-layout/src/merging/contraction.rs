//! Merging the nodes of a weighted graph two at a time, the heaviest edge first: what most
//! algorithms that cluster code have in common.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An undirected weighted graph of clusters. At first each node is a cluster of its own.
///
/// Merging costs as much as the cluster with fewer neighbours has of them, so all merges together
/// cost O(*m* log *n*) for *m* edges and *n* nodes, and the queue another factor of log *n*.
pub(crate) struct Contraction {
    /// For each cluster its neighbours and the weight of the edge to each.
    neighbours: Vec<FxHashMap<u32, u64>>,
    /// Weight and clusters of every edge, and of some that are no more.
    queue: BinaryHeap<(u64, Reverse<(u32, u32)>)>,
}

impl Contraction {
    /// The graph of `nodes` nodes. The weights of edges between the same two nodes, in either
    /// direction, add up; an edge from a node to itself counts for nothing.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (u32, u32, u64)>) -> Self {
        let mut neighbours: Vec<FxHashMap<u32, u64>> = vec![FxHashMap::default(); nodes];
        for (a, b, weight) in edges {
            if a != b && weight > 0 {
                for (a, b) in [(a, b), (b, a)] {
                    let sum = neighbours[a as usize].entry(b).or_default();
                    *sum = sum.saturating_add(weight);
                }
            }
        }
        let queue = neighbours
            .iter()
            .enumerate()
            .flat_map(|(a, all)| all.iter().map(move |(b, weight)| (a as u32, *b, *weight)))
            .filter(|(a, b, _)| a < b)
            .map(|(a, b, weight)| (weight, Reverse((a, b))))
            .collect::<Vec<_>>()
            .into();
        Contraction { neighbours, queue }
    }

    /// Takes the heaviest edge off the queue, of equals the one between the clusters with the lowest
    /// numbers: two clusters and the weight. The caller merges them, or leaves them apart for good.
    pub fn heaviest(&mut self) -> Option<(u32, u32, u64)> {
        while let Some((weight, Reverse((a, b)))) = self.queue.pop() {
            if self.neighbours[a as usize].get(&b) == Some(&weight) {
                return Some((a, b, weight));
            }
        }
        None
    }

    /// Makes one cluster of two. Returns the one whose number stays, and the one that is no more.
    pub fn merge(&mut self, a: u32, b: u32) -> (u32, u32) {
        let degree = |cluster: u32| self.neighbours[cluster as usize].len();
        let (into, from) = if degree(a) >= degree(b) { (a, b) } else { (b, a) };
        let moved = std::mem::take(&mut self.neighbours[from as usize]);
        self.neighbours[into as usize].remove(&from);
        for (neighbour, weight) in moved {
            if neighbour == into {
                continue;
            }
            let sum = self.neighbours[into as usize].entry(neighbour).or_default();
            *sum = sum.saturating_add(weight);
            let sum = *sum;
            let theirs = &mut self.neighbours[neighbour as usize];
            theirs.remove(&from);
            theirs.insert(into, sum);
            self.queue.push((sum, Reverse((into.min(neighbour), into.max(neighbour)))));
        }
        (into, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_edges_add_up() {
        let mut graph = Contraction::new(
            4,
            [(0, 1, 5), (1, 0, 5), (1, 2, 4), (0, 2, 7), (2, 3, 10), (3, 3, 99)],
        );
        assert_eq!(graph.heaviest(), Some((0, 1, 10)));
        let (into, _) = graph.merge(0, 1);
        assert_eq!(graph.heaviest(), Some((into, 2, 11)));
        graph.merge(into, 2);
        let (_, b, weight) = graph.heaviest().unwrap();
        assert_eq!((b, weight), (3, 10));
    }
}
