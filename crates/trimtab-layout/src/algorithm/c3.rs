//! Call-chain clustering, which HFSort does.

use super::interface::{Algorithm, Needs};
use crate::named::HasName;
use crate::{Order, PieceId, Problem};
use trimtab_program::PAGE_SIZE;

/// Call-chain clustering (C³): each function, the hottest first, is put behind the cluster of the
/// function that calls it most, as long as the two fit into a page; clusters are then placed by
/// density, the executions per byte.
///
/// Source: G. Ottoni and B. Maher, "Optimizing function placement for large-scale data-center
/// applications", CGO 2017, section 4; known as HFSort. Here control that returns counts as a
/// transition too, where the flow does not tell calls apart. Takes O(*m* log *m*) for *m*
/// transitions.
#[derive(Debug, Clone, Copy)]
pub struct CallChain {
    /// Clusters that would be larger than this many bytes are not merged.
    pub cluster_limit: u64,
}

impl Default for CallChain {
    fn default() -> Self {
        CallChain { cluster_limit: PAGE_SIZE }
    }
}

impl HasName for CallChain {
    fn name(&self) -> &'static str {
        "c3"
    }

    fn description(&self) -> &'static str {
        "call-chain clustering, HFSort: callers before callees (CGO 2017)"
    }
}

impl Algorithm for CallChain {
    fn needs(&self) -> Needs {
        Needs::Transitions
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let count = problem.pieces.len();
        let flow = problem.known_flow();
        let executed = problem.executed();
        // The one that calls each most; of equals the one with the lowest number.
        let mut caller: Vec<Option<(u64, PieceId)>> = vec![None; count];
        for edge in &flow.edges {
            let caller = &mut caller[edge.to.index()];
            if caller.is_none_or(|(most, _)| edge.count > most) {
                *caller = Some((edge.count, edge.from));
            }
        }
        let mut hottest = executed.clone();
        hottest.sort_by_key(|piece| std::cmp::Reverse(flow.counts[piece.index()]));

        let mut clusters: Vec<Cluster> = problem
            .pieces
            .iter()
            .zip(&flow.counts)
            .enumerate()
            .map(|(piece, (size, hits))| Cluster {
                pieces: vec![PieceId::at(piece)],
                bytes: size.size,
                hits: *hits,
            })
            .collect();
        let mut cluster_of: Vec<u32> = (0..count as u32).collect();
        for &piece in &hottest {
            let Some((_, caller)) = caller[piece.index()] else { continue };
            let (into, from) = (cluster_of[caller.index()], cluster_of[piece.index()]);
            let bytes = clusters[into as usize].bytes.saturating_add(clusters[from as usize].bytes);
            if into == from || bytes > self.cluster_limit {
                continue;
            }
            let moved = std::mem::take(&mut clusters[from as usize]);
            for &piece in &moved.pieces {
                cluster_of[piece.index()] = into;
            }
            let cluster = &mut clusters[into as usize];
            cluster.pieces.extend(moved.pieces);
            cluster.bytes = bytes;
            cluster.hits = cluster.hits.saturating_add(moved.hits);
        }
        let mut seen = vec![false; count];
        let mut densest: Vec<u32> = executed
            .iter()
            .map(|piece| cluster_of[piece.index()])
            .filter(|cluster| !std::mem::replace(&mut seen[*cluster as usize], true))
            .collect();
        densest.sort_by(|a, b| {
            clusters[*b as usize].density().total_cmp(&clusters[*a as usize].density())
        });
        let listed = densest.iter().flat_map(|cluster| &clusters[*cluster as usize].pieces);
        Order::leading(listed.copied(), count)
    }
}

#[derive(Default)]
struct Cluster {
    pieces: Vec<PieceId>,
    bytes: u64,
    hits: u64,
}

impl Cluster {
    fn density(&self) -> f64 {
        self.hits as f64 / self.bytes.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use crate::{Edge, Flow, Piece};

    fn order(sizes: [u64; 4]) -> Vec<PieceId> {
        let pieces = sizes.map(|size| Piece { size, alignment: 1, ..Piece::default() });
        let edge = Edge::of;
        let flow = Flow {
            counts: vec![1, 30, 20, 100],
            edges: vec![edge(0, 1, 20), edge(0, 2, 10), edge(1, 3, 90), edge(2, 3, 10)],
            ..Flow::default()
        };
        let runs = [ids([0, 1, 3, 2])];
        let problem = Problem { pieces: &pieces, runs: &runs, flow: Some(&flow), start: 0 };
        CallChain::default().order(&problem).listed().to_vec()
    }

    #[test]
    fn callees_follow_who_calls_them_most() {
        assert_eq!(order([100; 4]), [0, 1, 3, 2]);
    }

    #[test]
    fn clusters_end_at_a_page_and_the_densest_comes_first() {
        assert_eq!(order([2000, 2000, 2000, 2000]), [1, 3, 0, 2]);
    }
}
