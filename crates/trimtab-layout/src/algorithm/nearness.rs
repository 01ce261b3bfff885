//! Clustering by how near pieces are to each other in time: the algorithms for paged memory.

use super::interface::{Algorithm, Needs};
use crate::merging::Contraction;
use crate::named::HasName;
use crate::{Order, PieceId, Problem};
use rustc_hash::FxHashMap;
use trimtab_program::PAGE_SIZE;

/// Pages are filled with pieces between which control passes often: a nearness matrix counts how
/// often each follows each other, and the two nearest clusters are made one as long as both
/// together fit into a page.
///
/// Source: D. J. Hatfield and J. Gerald, "Program restructuring for virtual memory", IBM Systems
/// Journal 10(3), 1971 (the nearness matrix); D. Ferrari, "Improving locality by critical working
/// sets", CACM 17(11), 1974 (the clustering). Pages follow each other as their pieces ran first.
/// Takes O(*m* log² *n*) for *m* entries of the matrix that are not zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nearness;

impl HasName for Nearness {
    fn name(&self) -> &'static str {
        "nearness"
    }

    fn description(&self) -> &'static str {
        "nearness matrix, clustered into pages (Hatfield, Gerald 1971)"
    }
}

impl Algorithm for Nearness {
    fn needs(&self) -> Needs {
        Needs::Transitions
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let flow = problem.known_flow();
        cluster(problem, flow.edges.iter().map(|edge| (edge.from, edge.to, edge.count)))
    }
}

/// Pages are filled with pieces of which one is likely in memory when another is needed and is
/// not: for each entry of a piece that is outside of the working set, the piece gets nearer to each
/// member of that set.
///
/// Source: D. Ferrari, "Improving locality by critical working sets", CACM 17(11), 1974. The
/// working set here is the last `window` pieces that were entered, each counted once. Takes
/// O(*e* · *w*) for *e* entries, of which only the first of each run are looked at, and a window of
/// *w*, and clusters as [`Nearness`] does.
#[derive(Debug, Clone, Copy)]
pub struct CriticalWorkingSet {
    /// Pieces in the working set.
    pub window: usize,
    /// Entries of each run that are looked at.
    pub entries: usize,
}

impl Default for CriticalWorkingSet {
    fn default() -> Self {
        CriticalWorkingSet { window: 16, entries: 1 << 20 }
    }
}

impl HasName for CriticalWorkingSet {
    fn name(&self) -> &'static str {
        "critical-set"
    }

    fn description(&self) -> &'static str {
        "critical working sets, clustered into pages (Ferrari 1974)"
    }
}

impl Algorithm for CriticalWorkingSet {
    fn needs(&self) -> Needs {
        Needs::Sequence
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let flow = problem.known_flow();
        let mut nearness: FxHashMap<(PieceId, PieceId), u64> = FxHashMap::default();
        for sequence in &flow.sequences {
            // The most recent one last.
            let mut set: Vec<PieceId> = Vec::with_capacity(self.window + 1);
            for &piece in sequence.iter().take(self.entries) {
                match set.iter().position(|member| *member == piece) {
                    Some(place) => {
                        set.remove(place);
                    }
                    None => {
                        for &member in &set {
                            let pair = (piece.min(member), piece.max(member));
                            *nearness.entry(pair).or_default() += 1;
                        }
                    }
                }
                set.push(piece);
                if set.len() > self.window {
                    set.remove(0);
                }
            }
        }
        cluster(problem, nearness.into_iter().map(|((a, b), weight)| (a, b, weight)))
    }
}

/// Ferrari's clustering: the nearest two clusters become one where they fit into a page.
fn cluster(
    problem: &Problem<'_>,
    nearness: impl IntoIterator<Item = (PieceId, PieceId, u64)>,
) -> Order {
    let count = problem.pieces.len();
    // Each piece is a cluster of its own.
    let edges = nearness.into_iter().map(|(a, b, weight)| (a.0, b.0, weight));
    let mut graph = Contraction::new(count, edges);
    let mut clusters: Vec<Vec<PieceId>> = PieceId::all(count).map(|piece| vec![piece]).collect();
    let mut bytes: Vec<u64> = problem.pieces.iter().map(|piece| piece.size).collect();
    let mut cluster_of: Vec<u32> = (0..count as u32).collect();
    while let Some((a, b, _)) = graph.heaviest() {
        let both = bytes[a as usize].saturating_add(bytes[b as usize]);
        if both > PAGE_SIZE {
            continue;
        }
        let (into, from) = graph.merge(a, b);
        bytes[into as usize] = both;
        let moved = std::mem::take(&mut clusters[from as usize]);
        for &piece in &moved {
            cluster_of[piece.index()] = into;
        }
        clusters[into as usize].extend(moved);
    }
    let executed = problem.executed();
    let mut rank = vec![u32::MAX; count];
    for (place, piece) in executed.iter().enumerate() {
        rank[piece.index()] = place as u32;
    }
    let mut listed = Vec::with_capacity(executed.len());
    for piece in executed {
        let mut cluster = std::mem::take(&mut clusters[cluster_of[piece.index()] as usize]);
        cluster.sort_by_key(|piece| rank[piece.index()]);
        listed.extend(cluster);
    }
    Order::leading(listed, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use crate::{Flow, Piece};

    #[test]
    fn near_pieces_share_a_page_and_pages_are_not_overfilled() {
        let pieces = vec![Piece { size: 2000, alignment: 16, ..Piece::default() }; 5];
        let sequence = ids([0, 1, 2, 0, 2, 0, 2, 3, 4, 3, 4]);
        let flow = Flow::observed(vec![sequence], 5);
        let runs = [ids([0, 1, 2, 3, 4])];
        let problem = Problem { pieces: &pieces, runs: &runs, flow: Some(&flow), start: 0 };
        assert_eq!(Nearness.order(&problem).listed(), [0, 2, 1, 3, 4]);
    }

    #[test]
    fn what_is_missed_together_is_near() {
        let pieces = vec![Piece { size: 2000, alignment: 16, ..Piece::default() }; 4];
        // Control passes most often between 1 and 3, but when it does both are there already.
        let flow = Flow::observed(vec![ids([0, 1, 2, 3, 1, 3, 1, 0, 2])], 4);
        let runs = [ids([0, 1, 2, 3])];
        let problem = Problem { pieces: &pieces, runs: &runs, flow: Some(&flow), start: 0 };
        let order = CriticalWorkingSet { window: 2, ..Default::default() }.order(&problem);
        let place = |piece| order.listed().iter().position(|other| *other == piece).unwrap();
        assert_eq!(place(1).abs_diff(place(2)), 1, "{order:?}");
        let place = |piece| {
            let order = Nearness.order(&problem);
            order.listed().iter().position(|other| *other == piece).unwrap()
        };
        assert_eq!(place(1).abs_diff(place(3)), 1);
    }
}
