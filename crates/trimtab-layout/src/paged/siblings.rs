//! Merging nodes that are not tied to each other but to a common third one.

use super::merge::Graph;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A pair of siblings: the sum of the weights to their parent, the parent, the two.
type Candidate = (u64, Reverse<u32>, u32, u32);

/// Merges the siblings whose edges to their common parent weigh most, until no two fit.
///
/// Nodes that are tied to each other and fit are taken to be merged already.
pub(super) fn merge_siblings(graph: &mut Graph) {
    let count = graph.nodes.len() as u32;
    let mut families: Vec<Family> = (0..count).map(|parent| Family::of(graph, parent)).collect();
    let mut heap: BinaryHeap<Candidate> =
        (0..count).filter_map(|parent| families[parent as usize].best(graph, parent)).collect();
    while let Some(candidate) = heap.pop() {
        let (_, Reverse(parent), a, b) = candidate;
        let now = families[parent as usize].best(graph, parent);
        if now != Some(candidate) {
            // It has changed since it was noted.
            heap.extend(now);
            continue;
        }
        let edges = |node: u32| graph.node(node).map(|node| node.edges.clone()).unwrap_or_default();
        let occupancy = |node: u32| graph.node(node).map_or(0, |node| node.occupancy.bytes);
        let old = [(a, edges(a), occupancy(a)), (b, edges(b), occupancy(b))];
        let Some(merged) = graph.merge(a, b).map(|merged| merged.into) else { continue };
        for (child, edges, occupancy) in &old {
            for (parent, weight) in edges {
                families[*parent as usize].remove(*child, *weight, *occupancy);
            }
        }
        let gone = if merged == a { b } else { a };
        families[gone as usize] = Family::default();
        families[merged as usize] = Family::of(graph, merged);
        heap.extend(families[merged as usize].best(graph, merged));
        let Some(node) = graph.node(merged) else { continue };
        for (parent, weight) in &node.edges {
            families[*parent as usize].insert(merged, *weight, node.occupancy.bytes);
            // Where both were children, the edge now weighs more than what was noted.
            if old.iter().all(|(_, edges, _)| edges.contains_key(parent)) {
                heap.extend(families[*parent as usize].best(graph, *parent));
            }
        }
    }
}

/// The children of a node that may still be merged.
#[derive(Debug, Default)]
struct Family {
    /// The heaviest first.
    order: BTreeSet<(Reverse<u64>, u32)>,
    /// How many there are of each size.
    sizes: BTreeMap<u64, u32>,
}

impl Family {
    fn of(graph: &Graph, parent: u32) -> Self {
        let mut family = Family::default();
        let edges = graph.node(parent).into_iter().flat_map(|node| &node.edges);
        for (child, weight) in edges {
            if let Some(node) = graph.node(*child).filter(|node| !node.pieces.is_empty()) {
                family.insert(*child, *weight, node.occupancy.bytes);
            }
        }
        family
    }

    fn insert(&mut self, child: u32, weight: u64, size: u64) {
        if self.order.insert((Reverse(weight), child)) {
            *self.sizes.entry(size).or_default() += 1;
        }
    }

    fn remove(&mut self, child: u32, weight: u64, size: u64) {
        if self.order.remove(&(Reverse(weight), child))
            && let Some(count) = self.sizes.get_mut(&size)
        {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&size);
            }
        }
    }

    /// The pair that weighs most. Children with which none fits any more are dropped: what is left
    /// only grows.
    fn best(&mut self, graph: &Graph, parent: u32) -> Option<Candidate> {
        let smallest = self.sizes.first_key_value().map_or(0, |(size, _)| *size);
        let mut best: Option<Candidate> = None;
        let mut closed = Vec::new();
        let mut order = self.order.iter();
        while let Some(&(Reverse(weight), a)) = order.next() {
            let found = best.map_or(0, |best| best.0);
            let next = order.clone().next().map_or(0, |(Reverse(next), _)| *next);
            if next == 0 || weight.saturating_add(next) <= found {
                break;
            }
            let size = graph.node(a).map_or(u64::MAX, |node| node.occupancy.bytes);
            if size.saturating_add(smallest) > graph.page {
                closed.push((a, weight, size));
                continue;
            }
            let partner = order
                .clone()
                .take_while(|(Reverse(other), _)| weight.saturating_add(*other) > found)
                .find(|(_, b)| graph.fits(a, *b));
            if let Some(&(Reverse(other), b)) = partner {
                best = Some((weight.saturating_add(other), Reverse(parent), a, b));
            }
        }
        for (child, weight, size) in closed {
            self.remove(child, weight, size);
        }
        best
    }
}
