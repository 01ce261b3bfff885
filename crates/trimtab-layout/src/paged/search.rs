//! Moving pieces between pages as long as that saves page faults.

use super::{Occupancy, PageProblem};
use crate::{PageIndex, PieceId};
use std::collections::BTreeSet;

/// The page of what lies on none.
const NO_PAGE: PageIndex = PageIndex(u32::MAX);
/// No piece.
const NO_PIECE: PieceId = PieceId(u32::MAX);

/// What ran, in a form that is quick to replay.
#[derive(Debug)]
pub(super) struct ReducedTrace {
    /// References to pieces, without most of those that can hardly miss.
    pub runs: Vec<Vec<PieceId>>,
    frames: usize,
}

impl ReducedTrace {
    /// Takes the references of a problem, at most `limit` of them.
    pub fn new(problem: &PageProblem<'_>, frames: usize, limit: usize) -> Self {
        // So few pieces are on at most as many pages, which the cache holds in any placement.
        let depth = (frames / 4).clamp(1, 8);
        let share = limit / problem.references.len().max(1);
        let runs = problem
            .references
            .iter()
            .map(|run| {
                let mut kept = Vec::new();
                let mut recent: Vec<PieceId> = Vec::with_capacity(depth + 1);
                for &piece in run {
                    if let Some(place) = recent.iter().position(|other| *other == piece) {
                        recent[..=place].rotate_right(1);
                        continue;
                    }
                    if kept.len() >= share {
                        break;
                    }
                    kept.push(piece);
                    recent.insert(0, piece);
                    recent.truncate(depth);
                }
                kept
            })
            .collect();
        ReducedTrace { runs, frames: frames.max(1) }
    }

    /// Which of the pieces ran.
    pub fn ran(&self, pieces: usize) -> Vec<bool> {
        let mut ran = vec![false; pieces];
        self.runs.iter().flatten().for_each(|piece| ran[piece.index()] = true);
        ran
    }

    /// Faults of an LRU cache, each run starting with none of its pages.
    pub fn faults_of(&self, groups: &[Vec<PieceId>], problem: &PageProblem<'_>) -> u64 {
        let page_of = pages_of(groups, problem.pieces.len());
        self.replay(&page_of, groups.len(), |_, _, _| {})
    }

    /// Counts faults; `critical` is told of each use of a piece after which as many other pages
    /// were used as there are frames, so that only other pieces can have kept a page in memory:
    /// the piece, whether its page is in memory, and the pages that are.
    fn replay(
        &self,
        page_of: &[PageIndex],
        pages: usize,
        mut critical: impl FnMut(PieceId, bool, &[PageIndex]),
    ) -> u64 {
        let mut faults = 0;
        let mut used = vec![0u64; page_of.len()];
        let mut cache = LruCache::new(pages, self.frames);
        let mut time = 0u64;
        for run in &self.runs {
            cache.clear();
            used.iter_mut().for_each(|used| *used = 0);
            for &piece in run {
                let page = page_of[piece.index()];
                if page == NO_PAGE {
                    continue;
                }
                time += 1;
                let before = used[piece.index()];
                if before == 0 || before < cache.oldest_use() {
                    critical(piece, cache.holds(page), &cache.loaded);
                }
                used[piece.index()] = time;
                faults += u64::from(!cache.use_page(page, time));
            }
        }
        faults
    }
}

/// Pages in memory, by last use.
struct LruCache {
    /// In no order.
    loaded: Vec<PageIndex>,
    frames: usize,
    pages: Vec<Slot>,
    newest: PageIndex,
    oldest: PageIndex,
}

/// A page's place in a list by last use.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Time of last use; 0 where it is not in memory.
    last: u64,
    /// Its index in what is loaded.
    place: u32,
    newer: PageIndex,
    older: PageIndex,
}

impl LruCache {
    fn new(pages: usize, frames: usize) -> Self {
        let slot = Slot { last: 0, place: 0, newer: NO_PAGE, older: NO_PAGE };
        let loaded = Vec::with_capacity(frames.min(pages));
        LruCache { loaded, frames, pages: vec![slot; pages], newest: NO_PAGE, oldest: NO_PAGE }
    }

    fn clear(&mut self) {
        self.loaded.drain(..).for_each(|page| self.pages[page.index()].last = 0);
        (self.newest, self.oldest) = (NO_PAGE, NO_PAGE);
    }

    fn holds(&self, page: PageIndex) -> bool {
        self.pages[page.index()].last > 0
    }

    /// When the page was used last that goes next; 0 while nothing has to go.
    fn oldest_use(&self) -> u64 {
        match self.loaded.len() == self.frames {
            true => self.pages.get(self.oldest.index()).map_or(0, |slot| slot.last),
            false => 0,
        }
    }

    /// Uses a page now; whether it was in memory.
    fn use_page(&mut self, page: PageIndex, time: u64) -> bool {
        let present = self.holds(page);
        if present {
            self.unlink(page);
        } else {
            if self.loaded.len() == self.frames {
                let victim = self.oldest;
                self.unlink(victim);
                self.pages[victim.index()].last = 0;
                let place = self.pages[victim.index()].place;
                self.loaded.swap_remove(place as usize);
                if let Some(moved) = self.loaded.get(place as usize) {
                    self.pages[moved.index()].place = place;
                }
            }
            self.pages[page.index()].place = self.loaded.len() as u32;
            self.loaded.push(page);
        }
        let older = self.newest;
        let slot = &mut self.pages[page.index()];
        (slot.last, slot.newer, slot.older) = (time, NO_PAGE, older);
        match self.pages.get_mut(older.index()) {
            Some(slot) => slot.newer = page,
            None => self.oldest = page,
        }
        self.newest = page;
        present
    }

    fn unlink(&mut self, page: PageIndex) {
        let Slot { newer, older, .. } = self.pages[page.index()];
        match self.pages.get_mut(newer.index()) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.pages.get_mut(older.index()) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }
}

fn pages_of(groups: &[Vec<PieceId>], pieces: usize) -> Vec<PageIndex> {
    let mut page_of = vec![NO_PAGE; pieces];
    for (page, group) in groups.iter().enumerate() {
        group.iter().for_each(|piece| page_of[piece.index()] = PageIndex::at(page));
    }
    page_of
}

/// A placement of the pieces that ran.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub groups: Vec<Vec<PieceId>>,
    /// Faults that it causes.
    pub faults: u64,
}

/// For each piece the pages that were in memory when it was called for, ascending, and how often.
struct Residency(Vec<Vec<(PageIndex, u32)>>);

impl Residency {
    fn of(replay: &ReducedTrace, page_of: &[PageIndex], pages: usize) -> Self {
        let mut found: Vec<Vec<PageIndex>> = vec![Vec::new(); page_of.len()];
        replay.replay(page_of, pages, |piece, _, loaded| {
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
        replay: &ReducedTrace,
        problem: &PageProblem<'_>,
        mut groups: Vec<Vec<PieceId>>,
    ) -> Self {
        groups.retain(|group| !group.is_empty());
        let faults = replay.faults_of(&groups, problem);
        Solution { groups, faults }
    }

    /// Moves pieces, the best moves first and many at once, and keeps what saves faults. Where many
    /// together do not, fewer are tried; moves that failed alone are not tried again. The longer what
    /// is replayed, the fewer rounds there are.
    pub fn improve(&mut self, replay: &ReducedTrace, problem: &PageProblem<'_>, rounds: usize) {
        let occupancies = problem.occupancies();
        let length: usize = replay.runs.iter().map(Vec::len).sum();
        let rounds = rounds.min(REPLAYED / length.max(1)).max(1);
        let mut batch = BATCH;
        let mut failed = 0;
        let mut forbidden: BTreeSet<(PieceId, PageIndex, PieceId)> = BTreeSet::new();
        let mut moves: Option<Vec<Move>> = None;
        for _ in 0..rounds {
            let candidates = match moves.take() {
                Some(candidates) => candidates,
                None => self.moves(replay, problem, &occupancies),
            };
            let mut next = self.clone();
            let taken = next.apply(&candidates, batch, &occupancies, problem, &forbidden);
            if taken.is_empty() {
                break;
            }
            next.faults = replay.faults_of(&next.groups, problem);
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
        replay: &ReducedTrace,
        problem: &PageProblem<'_>,
        occupancies: &[Occupancy],
    ) -> Vec<Move> {
        let pages = self.groups.len();
        let page_of = pages_of(&self.groups, problem.pieces.len());
        let present = Residency::of(replay, &page_of, pages);
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
        let replay = ReducedTrace::new(&problem, 2, 1000);
        let start = vec![ids([0, 1]), ids([2, 3]), ids([4, 5])];
        let mut found = Solution::new(&replay, &problem, start);
        let before = found.faults;
        found.improve(&replay, &problem, 100);
        assert!(found.faults < before, "{found:?}");
        assert_eq!(found.faults, replay.faults_of(&found.groups, &problem));
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
            let replay = ReducedTrace::new(&problem, frames, 1000);
            let groups: Vec<Vec<PieceId>> = (0..6).map(|page| ids([page * 2, page * 2 + 1])).collect();
            let pages: Vec<PageIndex> = references[0].iter().map(|piece| PageIndex(piece.0 / 2)).collect();
            let exact = faults(&pages, frames, Policy::Lru);
            let counted = replay.faults_of(&groups, &problem);
            // What was deleted hits anyhow; it may only have kept another page longer or shorter.
            if frames < 4 {
                prop_assert_eq!(counted, exact);
            } else {
                prop_assert!(counted.abs_diff(exact) * 10 <= exact.max(10));
            }
        }
    }
}
