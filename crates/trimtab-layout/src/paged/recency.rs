//! Our placement: by what is used close together in time, judged by the faults that it causes.

use super::fill::{Groups, best_fit};
use super::merge::{Graph, merge_heaviest};
use super::packing::Packing;
use super::pages::Pages;
use super::problem::{Occupancy, PageProblem};
use super::profiled::ProfileBased;
use super::reduced_trace::ReducedTrace;
use super::search::Solution;
use crate::cost::{Policy, faults};
use crate::named::HasName;
use crate::{PageIndex, PieceId};
use rustc_hash::FxHashMap;
use trimtab_program::PAGE_SIZE;

/// Pieces that are missed at about the same time share a page, or those that ran first after each
/// other, or those of the paper's placement by profile, whichever causes the fewest faults; then
/// pieces are moved between pages as long as that saves page faults with this many frames.
///
/// Only pieces that ran are judged so. All others are placed as they lay in the original program,
/// first in what room is left.
///
/// Source: ours. The nearness of pieces is that of D. Ferrari, "Improving locality by critical
/// working sets", CACM 17(11), 1974, with a working set of as many bytes as the frames hold. The
/// search replays what ran with an LRU cache, from which J. E. Smith's, "Two methods for the
/// efficient analysis of memory address trace data", IEEE TSE 3(1), 1977, deletes what can hardly
/// miss. One replay gives the gain of every move at once, so that a round of the search takes time
/// in proportion to the length of what is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Recency {
    /// Page frames of the cache; 0 counts as 1.
    pub frames: usize,
    /// Most rounds of the search.
    pub rounds: usize,
    /// Most references that the search replays; of more, the first of each run.
    pub references: usize,
}

impl Default for Recency {
    fn default() -> Self {
        Recency { frames: 16, rounds: 400, references: 1 << 20 }
    }
}

/// How many pieces that were used before are tied to one that is missed, at most.
const NEIGHBOURS: usize = 24;
/// The same at the least, however long the replay is.
const FEWEST_NEIGHBOURS: usize = 4;
/// Ties that are noted in all, about.
const TIES: usize = 1 << 22;

impl HasName for Recency {
    fn name(&self) -> &'static str {
        "recency"
    }

    fn description(&self) -> &'static str {
        "what is missed together, then moves that save faults"
    }
}

impl Packing for Recency {
    fn depends_on_frames(&self) -> bool {
        true
    }

    fn pack(&self, problem: &PageProblem<'_>) -> Pages {
        let frames = self.frames.max(1);
        let trace = ReducedTrace::new(problem, frames, self.references);
        let ran = trace.ran(problem.pieces.len());
        let (profiled, near) = std::thread::scope(|scope| {
            let profiled = scope.spawn(|| ProfileBased.pack(problem));
            let near = by_nearness(problem, &trace, frames, &ran);
            (profiled.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), near)
        });
        let starts = [near, only(&profiled, &ran), by_first_use(problem, &trace)];
        let found = starts.into_iter().map(|groups| Solution::new(&trace, problem, groups));
        let improved = found.min_by_key(|found| found.faults).map(|mut found| {
            found.improve(&trace, problem, self.rounds);
            with_rest(problem, found.groups, &ran)
        });
        // The search knows LRU only, and leaves out what never ran: what counts in the end is the
        // policy that kernels can have. The first of equals.
        let candidates = improved.into_iter().chain([profiled.clone()]);
        let best = candidates.min_by_key(|pages| nru(problem, pages, frames));
        best.unwrap_or(profiled)
    }
}

/// Faults of all runs with so many frames and replacement of what was not used of late.
fn nru(problem: &PageProblem<'_>, pages: &Pages, frames: usize) -> u64 {
    let mut page_of = vec![PageIndex(0); problem.pieces.len()];
    for (page, group) in pages.groups.iter().enumerate() {
        group.iter().for_each(|piece| page_of[piece.index()] = PageIndex::at(page));
    }
    let count = |run: &Vec<PieceId>| {
        let mut order: Vec<PageIndex> = run.iter().map(|piece| page_of[piece.index()]).collect();
        order.dedup();
        faults(&order, frames, Policy::Nru)
    };
    problem.references.iter().map(count).sum()
}

/// The pieces of each page that ran.
fn only(pages: &Pages, ran: &[bool]) -> Vec<Vec<PieceId>> {
    let groups = pages.groups.iter();
    groups.map(|group| group.iter().copied().filter(|p| ran[p.index()]).collect()).collect()
}

/// Clusters by how often two pieces are needed at the same time and one of them is missing.
fn by_nearness(
    problem: &PageProblem<'_>,
    trace: &ReducedTrace,
    frames: usize,
    ran: &[bool],
) -> Vec<Vec<PieceId>> {
    let mut nearness: FxHashMap<(PieceId, PieceId), u64> = FxHashMap::default();
    let capacity = problem.page.saturating_mul(frames as u64);
    let length: usize = trace.runs.iter().map(Vec::len).sum();
    let neighbours = (TIES / length.max(1)).clamp(FEWEST_NEIGHBOURS, NEIGHBOURS);
    for run in &trace.runs {
        let mut recent: UseHistory = UseHistory::new(problem.pieces.len());
        for &piece in run {
            if recent.bytes_since(piece, capacity, problem) {
                for (distance, other) in recent.latest().take(neighbours).enumerate() {
                    let pair = (piece.min(other), piece.max(other));
                    *nearness.entry(pair).or_default() += (neighbours - distance) as u64;
                }
            }
            recent.touch(piece);
        }
    }
    let mut edges: Vec<(PieceId, PieceId, u64)> =
        nearness.into_iter().map(|((a, b), weight)| (a, b, weight)).collect();
    edges.sort_unstable();
    let mut graph = Graph::new(problem, edges);
    merge_heaviest(&mut graph, false);
    let groups: Vec<Vec<PieceId>> = graph.groups();
    let kept = |group: Vec<PieceId>| group.into_iter().filter(|p| ran[p.index()]).collect();
    pack_groups(problem, groups.into_iter().map(kept).collect())
}

/// Pages filled in the order in which pieces ran first.
fn by_first_use(problem: &PageProblem<'_>, trace: &ReducedTrace) -> Vec<Vec<PieceId>> {
    let occupancies = problem.occupancies();
    let mut seen = vec![false; problem.pieces.len()];
    let mut groups: Vec<(Occupancy, Vec<PieceId>)> = Vec::new();
    for &piece in trace.runs.iter().flatten() {
        if std::mem::replace(&mut seen[piece.index()], true) {
            continue;
        }
        let occupancy = occupancies[piece.index()];
        match groups.last_mut().and_then(|last| Some((last.0.with(occupancy, problem.page)?, last)))
        {
            Some((both, last)) => {
                last.0 = both;
                last.1.push(piece);
            }
            None => groups.push((occupancy, vec![piece])),
        }
    }
    groups.into_iter().map(|(_, pieces)| pieces).collect()
}

fn pack_groups(problem: &PageProblem<'_>, groups: Vec<Vec<PieceId>>) -> Vec<Vec<PieceId>> {
    let occupancies = problem.occupancies();
    let sized: Groups =
        groups.into_iter().map(|group| (sum(&occupancies, &group), group)).collect();
    best_fit(sized, problem.page).into_iter().map(|(_, pieces)| pieces).collect()
}

fn sum(occupancies: &[Occupancy], group: &[PieceId]) -> Occupancy {
    group.iter().fold(Occupancy::default(), |sum, piece| {
        let occupancy = occupancies[piece.index()];
        Occupancy { bytes: sum.bytes + occupancy.bytes, long: sum.long || occupancy.long }
    })
}

/// The pages found, with all that never ran behind and between.
fn with_rest(problem: &PageProblem<'_>, groups: Vec<Vec<PieceId>>, ran: &[bool]) -> Pages {
    let occupancies = problem.occupancies();
    let mut pages: Groups =
        groups.into_iter().map(|group| (sum(&occupancies, &group), group)).collect();
    pages.retain(|(_, group)| !group.is_empty());
    let mut rest: Vec<PieceId> = PieceId::all(problem.pieces.len())
        .filter(|piece| !problem.pieces[piece.index()].resident && !ran[piece.index()])
        .collect();
    rest.sort_by_key(|piece| (problem.pieces[piece.index()].position, *piece));
    // What room is left goes to the code that lay closest behind the code of the page.
    for (occupancy, group) in &mut pages {
        let here = group.iter().map(|piece| problem.pieces[piece.index()].position).min();
        let at = rest
            .partition_point(|piece| problem.pieces[piece.index()].position < here.unwrap_or(0));
        let window = at..rest.len().min(at + LOOK_AHEAD);
        let mut taken = Vec::new();
        for place in window {
            let piece = rest[place];
            if let Some(both) = occupancy.with(occupancies[piece.index()], problem.page) {
                *occupancy = both;
                group.push(piece);
                taken.push(place);
            }
        }
        for place in taken.into_iter().rev() {
            rest.remove(place);
        }
    }
    // What never ran lies as it lay: one file's functions share pages.
    let mut open: Option<(Occupancy, Vec<PieceId>)> = None;
    let mut cold: Vec<Vec<PieceId>> = Vec::new();
    for piece in rest {
        let occupancy = occupancies[piece.index()];
        open = match open.take() {
            Some((before, mut group)) => match before.with(occupancy, problem.page) {
                Some(both) => {
                    group.push(piece);
                    Some((both, group))
                }
                None => {
                    cold.push(group);
                    Some((occupancy, vec![piece]))
                }
            },
            None => Some((occupancy, vec![piece])),
        };
    }
    cold.extend(open.map(|(_, group)| group));
    // What is left over of either fills the room of the other.
    pages.extend(cold.into_iter().map(|group| (sum(&occupancies, &group), group)));
    let filled = best_fit(pages, problem.page);
    Pages::new(problem, filled.into_iter().map(|(_, group)| group))
}

/// How many pieces that never ran are looked at for the room that is left on a page.
const LOOK_AHEAD: usize = 64;

/// Pieces by when they were used last.
struct UseHistory {
    /// Time of last use of each piece, from 1; 0 for never.
    last: Vec<u64>,
    /// Uses, the latest last; out of date where `last` says otherwise.
    uses: std::collections::VecDeque<(u64, PieceId)>,
    time: u64,
}

impl UseHistory {
    fn new(pieces: usize) -> Self {
        UseHistory { last: vec![0; pieces], uses: Default::default(), time: 0 }
    }

    fn touch(&mut self, piece: PieceId) {
        self.time += 1;
        self.last[piece.index()] = self.time;
        self.uses.push_back((self.time, piece));
        while let Some((time, piece)) = self.uses.front()
            && (self.last[piece.index()] != *time || self.uses.len() > KEPT)
        {
            self.uses.pop_front();
        }
    }

    /// Other pieces, the latest first, each once.
    fn latest(&self) -> impl Iterator<Item = PieceId> + '_ {
        let all = self.uses.iter().rev();
        all.filter(|(time, piece)| self.last[piece.index()] == *time).map(|(_, piece)| *piece)
    }

    /// Whether at least so many bytes of other pieces were used since `piece`, or it never was.
    fn bytes_since(&self, piece: PieceId, bytes: u64, problem: &PageProblem<'_>) -> bool {
        let since = self.last[piece.index()];
        if since == 0 {
            return true;
        }
        let mut sum = 0;
        for other in self.latest() {
            if self.last[other.index()] <= since {
                return false;
            }
            sum += problem.pieces[other.index()].size.min(PAGE_SIZE);
            if sum >= bytes {
                return true;
            }
        }
        // It has been forgotten.
        true
    }
}

/// Uses that are remembered.
const KEPT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::super::{PagedPiece, packings};
    use super::*;
    use crate::Edge;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn pieces(sizes: &[u64]) -> Vec<PagedPiece> {
        let piece = |(at, size): (usize, &u64)| PagedPiece {
            size: *size,
            alignment: 1,
            position: at as u64 * 1000,
            ..PagedPiece::default()
        };
        sizes.iter().enumerate().map(piece).collect()
    }

    #[test]
    fn pieces_of_one_phase_share_pages() {
        let pieces = pieces(&[100; 8]);
        // Two phases: even pieces, then odd ones.
        let phase = |odd: u32| (0..200u32).map(move |step| PieceId((step % 4) * 2 + odd));
        let references: Vec<PieceId> = (0..20).flat_map(|round| phase(round % 2)).collect();
        let problem =
            PageProblem { pieces: &pieces, edges: &[], references: &[references], page: 200 };
        let pages = Recency { frames: 2, ..Recency::default() }.pack(&problem);
        for group in &pages.groups {
            assert!(group.iter().all(|piece| piece.0 % 2 == group[0].0 % 2), "{pages:?}");
        }
    }

    /// Programs of phases, with edges counted as a profile would: ours is never behind.
    #[test]
    fn it_causes_no_more_faults_than_the_papers_placements() {
        for seed in 0..6 {
            let mut chance = ChaCha8Rng::seed_from_u64(seed);
            let sizes: Vec<u64> = (0..120).map(|_| chance.random_range(20..900)).collect();
            let pieces = pieces(&sizes);
            let mut references = Vec::new();
            for _ in 0..60 {
                let first = chance.random_range(0..100u32);
                let stride = chance.random_range(1..9u32);
                for step in 0..chance.random_range(20..200u32) {
                    references.push(PieceId((first + (step % 12) * stride) % 120));
                }
            }
            let edges: Vec<Edge> = references
                .windows(2)
                .map(|pair| Edge { from: pair[0], to: pair[1], count: 1 })
                .collect();
            let references = [references];
            let problem =
                PageProblem { pieces: &pieces, edges: &edges, references: &references, page: 4096 };
            for frames in [2, 4, 8] {
                let found: Vec<u64> = packings(frames)
                    .iter()
                    .map(|packing| {
                        let places = packing.pack(&problem).places(&problem);
                        let pages: Vec<PageIndex> = references[0]
                            .iter()
                            .map(|piece| places.offsets[piece.index()].unwrap() / 4096)
                            .map(|page| PageIndex(page as u32))
                            .collect();
                        faults(&pages, frames, Policy::Nru)
                    })
                    .collect();
                assert!(found[0] <= found[1] && found[0] <= found[2], "{seed} {frames}: {found:?}");
            }
        }
    }
}
