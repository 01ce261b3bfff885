//! The paper's placement by profile.

use super::fill::{best_fit, defragment};
use super::merge::{Graph, merge_heaviest};
use super::packing::Packing;
use super::pages::Pages;
use super::problem::PageProblem;
use super::siblings::merge_siblings;
use crate::named::HasName;

/// Pieces between which control passes often share a page: the heaviest edge is merged first, of
/// equal ones that with the largest common weight; then siblings; then what is left of each
/// connected part is packed by best fit.
///
/// Source: D. Chanet, J. Cabezas, E. Morancho, N. Navarro, K. De Bosschere, "Linux Kernel Compaction
/// through Cold Code Swapping", Transactions on HiPEAC II, section 3.2, "The profile-based
/// algorithm" and "Reducing fragmentation". Pieces that are resident take part with size 0, as
/// there. Where the paper leaves a choice open (equal siblings) the piece that lay first comes
/// first.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProfileBased;

impl HasName for ProfileBased {
    fn name(&self) -> &'static str {
        "profile-based"
    }

    fn description(&self) -> &'static str {
        "heaviest edges, siblings, best fit per subgraph (Chanet et al. 3.2)"
    }
}

impl Packing for ProfileBased {
    fn pack(&self, problem: &PageProblem<'_>) -> Pages {
        let edges =
            problem.edges.iter().map(|edge| (edge.from, edge.to, edge.count.saturating_add(1)));
        let mut graph = Graph::new(problem, edges);
        merge_heaviest(&mut graph, true);
        merge_siblings(&mut graph);
        let parts = connected(&graph);
        let groups = parts.into_iter().flat_map(|part| {
            let nodes = part.into_iter().filter_map(|index| graph.node(index));
            best_fit(
                nodes.map(|node| (node.occupancy, node.pieces.clone())).collect(),
                problem.page,
            )
        });
        defragment(problem, groups.map(|(_, pieces)| pieces).collect())
    }
}

/// The nodes of each connected part of the graph.
fn connected(graph: &Graph) -> Vec<Vec<u32>> {
    let mut seen = vec![false; graph.nodes.len()];
    let mut parts = Vec::new();
    for start in 0..graph.nodes.len() as u32 {
        if graph.node(start).is_none() || seen[start as usize] {
            continue;
        }
        seen[start as usize] = true;
        let mut part = vec![start];
        let mut next = 0;
        while let Some(node) = part.get(next).and_then(|index| graph.node(*index)) {
            next += 1;
            for &neighbour in node.edges.keys() {
                if !std::mem::replace(&mut seen[neighbour as usize], true) {
                    part.push(neighbour);
                }
            }
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::PagedPiece;
    use super::*;
    use crate::Edge;
    use crate::PieceId;

    fn piece(size: u64, position: u64) -> PagedPiece {
        PagedPiece { size, alignment: 1, position, resident: false, entry: false }
    }

    fn edge<Id: From<u32>>(from: u32, to: u32, count: u64) -> Edge<Id> {
        Edge::of(from, to, count)
    }

    fn pack(pieces: &[PagedPiece], edges: &[Edge]) -> Vec<Vec<PieceId>> {
        let problem = PageProblem { pieces, edges, references: &[], page: 100 };
        ProfileBased.pack(&problem).groups
    }

    fn together(groups: &[Vec<PieceId>], a: u32, b: u32) -> bool {
        groups.iter().any(|group| group.contains(&PieceId(a)) && group.contains(&PieceId(b)))
    }

    #[test]
    fn the_heaviest_edge_is_merged_first() {
        let pieces: Vec<_> = (0..3).map(|at| piece(50, at)).collect();
        let groups = pack(&pieces, &[edge(0, 1, 4), edge(1, 2, 5)]);
        assert!(together(&groups, 1, 2), "{groups:?}");
        // Two calls that were never made weigh more than one that was made not at all.
        let groups = pack(&pieces, &[edge(0, 1, 0), edge(1, 0, 0), edge(1, 2, 0)]);
        assert!(together(&groups, 0, 1), "{groups:?}");
    }

    #[test]
    fn of_equal_edges_the_common_weight_decides() {
        // 0-1 and 0-2 weigh the same; 0 and 2 both lead to 3, which fits with both.
        let pieces = [piece(40, 0), piece(40, 1), piece(40, 900), piece(20, 50)];
        let edges = [edge(0, 1, 9), edge(0, 2, 9), edge(0, 3, 1), edge(2, 3, 1)];
        assert!(together(&pack(&pieces, &edges), 0, 2));
        // Where 3 does not fit with both it decides nothing; how close they lay does.
        let pieces = [piece(40, 0), piece(40, 1), piece(40, 900), piece(30, 50)];
        assert!(together(&pack(&pieces, &edges), 0, 1));
    }

    #[test]
    fn a_prologue_and_an_epilogue_around_hot_code_share_a_page() {
        let hot = PagedPiece { resident: true, ..piece(4000, 500) };
        let other = piece(60, 3);
        let pieces = [piece(50, 0), hot, piece(50, 1000), other];
        let groups = pack(&pieces, &[edge(0, 1, 3), edge(1, 2, 3), edge(3, 0, 1)]);
        assert!(together(&groups, 0, 2), "{groups:?}");
    }

    #[test]
    fn siblings_share_a_page_where_their_parent_has_no_room() {
        // 0 fills a page; 1 and 2 are its heavy children, 3 its light one.
        let pieces = [piece(100, 0), piece(50, 10), piece(50, 5000), piece(50, 11)];
        let groups = pack(&pieces, &[edge(0, 1, 7), edge(0, 2, 8), edge(0, 3, 1)]);
        assert!(together(&groups, 1, 2), "{groups:?}");
    }

    #[test]
    fn what_nothing_ties_is_packed_by_where_it_lay() {
        let pieces = [piece(30, 0), piece(30, 1 << 20), piece(30, 40), piece(30, 1 << 21)];
        let groups = pack(&pieces, &[]);
        assert!(together(&groups, 0, 2), "{groups:?}");
        assert_eq!(groups.len(), 2);
    }
}
