//! Moving pieces between pages as long as that saves page faults.

use super::problem::{Occupancy, PageProblem};
use super::reduced_trace::{ReducedTrace, pages_of};
use crate::{PageIndex, PieceId};
use std::collections::BTreeSet;

/// No piece.
const NO_PIECE: PieceId = PieceId(u32::MAX);

/// A placement of the pieces that ran.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub groups: Vec<Vec<PieceId>>,
    /// Faults that it causes.
    pub faults: u64,
}

/// For each piece the pages that were in memory when it was needed, ascending, and how often.
struct Residency(Vec<Vec<(PageIndex, u32)>>);

impl Residency {
    fn of(trace: &ReducedTrace, page_of: &[PageIndex], pages: usize) -> Self {
        let mut found: Vec<Vec<PageIndex>> = vec![Vec::new(); page_of.len()];
        trace.replay(page_of, pages, |piece, _, loaded| {
            found[piece.index()].extend_from_slice(loaded);
        });
        let count = |mut pages: Vec<PageIndex>| {
            pages.sort_unstable();
            let same = pages.chunk_by(|one, other| one == other);
            same.filter_map(|same| Some((*same.first()?, same.len() as u32))).collect()
        };
        Residency(found.into_iter().map(count).collect())
    }

    fn row(&self, piece: PieceId) -> impl Iterator<Item = (PageIndex, i64)> + '_ {
        self.0[piece.index()].iter().map(|(page, count)| (*page, i64::from(*count)))
    }

    fn count(&self, piece: PieceId, page: PageIndex) -> i64 {
        let row = &self.0[piece.index()];
        let found = row.binary_search_by_key(&page, |(page, _)| *page);
        found.map_or(0, |place| i64::from(row[place].1))
    }
}

/// What would be saved by moving a piece to a page, or by exchanging it with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    gain: i64,
    piece: PieceId,
    to: PageIndex,
    /// The piece that comes back; [`NO_PIECE`] for a mere move.
    back: PieceId,
}

/// Pages whose pieces are looked at for an exchange.
const PARTNERS: usize = 4;
/// Moves of one round, at most.
const BATCH: usize = 64;
/// References that are replayed in all, about: some seconds.
const REPLAYED: usize = 1 << 21;
/// Rounds without success after which the search ends.
const PATIENCE: usize = 12;

impl Solution {
    pub fn new(
        trace: &ReducedTrace,
        problem: &PageProblem<'_>,
        mut groups: Vec<Vec<PieceId>>,
    ) -> Self {
        groups.retain(|group| !group.is_empty());
        let faults = trace.faults_of(&groups, problem);
        Solution { groups, faults }
    }

    /// Moves pieces, the best moves first and many at once, and keeps what saves faults. Where many
    /// together do not, fewer are tried; moves that failed alone are not tried again. The longer what
    /// is replayed, the fewer rounds there are.
    pub fn improve(&mut self, trace: &ReducedTrace, problem: &PageProblem<'_>, rounds: usize) {
        let occupancies = problem.occupancies();
        let length: usize = trace.runs.iter().map(Vec::len).sum();
        let rounds = rounds.min(REPLAYED / length.max(1)).max(1);
        let mut batch = BATCH;
        let mut failed = 0;
        let mut forbidden: BTreeSet<(PieceId, PageIndex, PieceId)> = BTreeSet::new();
        let mut moves: Option<Vec<Move>> = None;
        for _ in 0..rounds {
            let candidates = match moves.take() {
                Some(candidates) => candidates,
                None => self.moves(trace, problem, &occupancies),
            };
            let mut next = self.clone();
            let taken = next.apply(&candidates, batch, &occupancies, problem, &forbidden);
            if taken.is_empty() {
                break;
            }
            next.faults = trace.faults_of(&next.groups, problem);
            if next.faults < self.faults {
                next.groups.retain(|group| !group.is_empty());
                *self = next;
                batch = (batch * 2).min(BATCH);
                failed = 0;
                continue;
            }
            if taken.len() == 1 {
                let tried = taken[0];
                forbidden.insert((tried.piece, tried.to, tried.back));
                failed += 1;
                if failed >= PATIENCE {
                    break;
                }
            }
            batch = (taken.len() / 4).max(1);
            moves = Some(candidates);
        }
    }

    /// All moves that promise to save faults, the best first.
    fn moves(
        &self,
        trace: &ReducedTrace,
        problem: &PageProblem<'_>,
        occupancies: &[Occupancy],
    ) -> Vec<Move> {
        let pages = self.groups.len();
        let page_of = pages_of(&self.groups, problem.pieces.len());
        let present = Residency::of(trace, &page_of, pages);
        let hits = |piece: PieceId, page: PageIndex| present.count(piece, page);
        let gain =
            |piece: PieceId, to: PageIndex| hits(piece, to) - hits(piece, page_of[piece.index()]);
        let occupancy = |group: &[PieceId]| {
            group.iter().map(|piece| occupancies[piece.index()].bytes).sum::<u64>()
        };
        let filled: Vec<u64> = self.groups.iter().map(|group| occupancy(group)).collect();
        let mut moves = Vec::new();
        for &piece in self.groups.iter().flatten() {
            let own = occupancies[piece.index()];
            if own.long {
                continue;
            }
            // Where the page was never in memory there is nothing to gain.
            let here = hits(piece, page_of[piece.index()]);
            let mut best: Vec<(i64, PageIndex)> = present
                .row(piece)
                .filter(|(page, _)| *page != page_of[piece.index()])
                .map(|(page, count)| (count - here, page))
                .filter(|(gain, _)| *gain > 0)
                .collect();
            best.sort_unstable_by_key(|(gain, page)| (std::cmp::Reverse(*gain), *page));
            for (gained, to) in best.into_iter().take(PARTNERS) {
                if filled[to.index()] + own.bytes <= problem.page {
                    moves.push(Move { gain: gained, piece, to, back: NO_PIECE });
                    continue;
                }
                let here = page_of[piece.index()];
                let exchange = self.groups[to.index()].iter().filter_map(|other| {
                    let theirs = occupancies[other.index()];
                    let fits = !theirs.long
                        && filled[to.index()] + own.bytes - theirs.bytes <= problem.page
                        && filled[here.index()] + theirs.bytes - own.bytes <= problem.page;
                    let gain = gained + gain(*other, here);
                    (fits && gain > 0).then_some(Move { gain, piece, to, back: *other })
                });
                moves.extend(exchange.max());
            }
        }
        moves.sort_unstable_by(|a, b| b.cmp(a));
        moves
    }

    /// Does the first moves that concern different pieces and pages and still fit. Gives those done.
    fn apply(
        &mut self,
        moves: &[Move],
        most: usize,
        occupancies: &[Occupancy],
        problem: &PageProblem<'_>,
        forbidden: &BTreeSet<(PieceId, PageIndex, PieceId)>,
    ) -> Vec<Move> {
        let page_of = pages_of(&self.groups, problem.pieces.len());
        let mut touched = vec![false; self.groups.len()];
        let mut done = Vec::new();
        for one in moves {
            if done.len() >= most {
                break;
            }
            let from = page_of[one.piece.index()].index();
            let to = one.to.index();
            if touched[from] || touched[to] || forbidden.contains(&(one.piece, one.to, one.back)) {
                continue;
            }
            (touched[from], touched[to]) = (true, true);
            self.groups[from].retain(|piece| *piece != one.piece);
            self.groups[to].push(one.piece);
            if one.back != NO_PIECE {
                self.groups[to].retain(|piece| *piece != one.back);
                self.groups[from].push(one.back);
            }
            done.push(*one);
        }
        debug_assert!(self.groups.iter().all(|group| {
            group.iter().map(|piece| occupancies[piece.index()].bytes).sum::<u64>() <= problem.page
        }));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::PagedPiece;
    use super::*;
    use crate::cost::{Policy, faults};
    use crate::ids::ids;
    use proptest::prelude::*;

    fn problem<'a>(pieces: &'a [PagedPiece], references: &'a [Vec<PieceId>]) -> PageProblem<'a> {
        PageProblem { pieces, edges: &[], references, page: 100 }
    }

    #[test]
    fn moves_save_faults() {
        let pieces = vec![PagedPiece { size: 40, alignment: 1, ..PagedPiece::default() }; 6];
        let references: Vec<PieceId> = (0..40)
            .flat_map(|round| if round % 2 == 0 { [0, 3, 0, 3] } else { [1, 2, 4, 5] })
            .map(PieceId)
            .collect();
        let references = [references];
        let problem = problem(&pieces, &references);
        let trace = ReducedTrace::new(&problem, 2, 1000);
        let start = vec![ids([0, 1]), ids([2, 3]), ids([4, 5])];
        let mut found = Solution::new(&trace, &problem, start);
        let before = found.faults;
        found.improve(&trace, &problem, 100);
        assert!(found.faults < before, "{found:?}");
        assert_eq!(found.faults, trace.faults_of(&found.groups, &problem));
    }

    proptest! {
        #[test]
        fn it_counts_the_faults_of_lru(
            picks in prop::collection::vec((0u32..12).prop_map(PieceId), 1..300),
            frames in 1usize..5,
        ) {
            let pieces = vec![PagedPiece { size: 40, alignment: 1, ..PagedPiece::default() }; 12];
            let references = [picks];
            let problem = problem(&pieces, &references);
            let trace = ReducedTrace::new(&problem, frames, 1000);
            let groups: Vec<Vec<PieceId>> = (0..6).map(|page| ids([page * 2, page * 2 + 1])).collect();
            let pages: Vec<PageIndex> = references[0].iter().map(|piece| PageIndex(piece.0 / 2)).collect();
            let exact = faults(&pages, frames, Policy::Lru);
            let counted = trace.faults_of(&groups, &problem);
            // What was deleted hits anyhow; it may only have kept another page longer or shorter.
            if frames < 4 {
                prop_assert_eq!(counted, exact);
            } else {
                prop_assert!(counted.abs_diff(exact) * 10 <= exact.max(10));
            }
        }
    }
}
