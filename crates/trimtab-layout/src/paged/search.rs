//! Moving pieces between pages as long as that saves page faults.

use super::{PageProblem, Room};
use std::collections::BTreeSet;

/// No piece or page.
const NONE: u32 = u32::MAX;

/// What ran, in a form that is quick to replay.
#[derive(Debug)]
pub(super) struct Replay {
    /// References to pieces, without most of those that can hardly miss.
    pub runs: Vec<Vec<u32>>,
    frames: usize,
}

impl Replay {
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
                let mut recent: Vec<u32> = Vec::with_capacity(depth + 1);
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
        Replay { runs, frames: frames.max(1) }
    }

    /// Which of the pieces ran.
    pub fn ran(&self, pieces: usize) -> Vec<bool> {
        let mut ran = vec![false; pieces];
        self.runs.iter().flatten().for_each(|piece| ran[*piece as usize] = true);
        ran
    }

    /// Faults of an LRU cache, each run starting with none of its pages.
    pub fn faults_of(&self, groups: &[Vec<u32>], problem: &PageProblem<'_>) -> u64 {
        let page_of = pages_of(groups, problem.pieces.len());
        self.replay(&page_of, groups.len(), |_, _, _| {})
    }

    /// Counts faults; `critical` is told of each use of a piece after which as many other pages
    /// were used as there are frames, so that only other pieces can have kept a page in memory:
    /// the piece, whether its page is in memory, and the pages that are.
    fn replay(
        &self,
        page_of: &[u32],
        pages: usize,
        mut critical: impl FnMut(u32, bool, &[u32]),
    ) -> u64 {
        let mut faults = 0;
        let mut used = vec![0u64; page_of.len()];
        let mut cache = Cache::new(pages, self.frames);
        let mut time = 0u64;
        for run in &self.runs {
            cache.clear();
            used.iter_mut().for_each(|used| *used = 0);
            for &piece in run {
                let page = page_of[piece as usize];
                if page == NONE {
                    continue;
                }
                time += 1;
                let before = used[piece as usize];
                if before == 0 || before < cache.oldest_use() {
                    critical(piece, cache.holds(page), &cache.loaded);
                }
                used[piece as usize] = time;
                faults += u64::from(!cache.use_page(page, time));
            }
        }
        faults
    }
}

/// Pages in memory, by last use.
struct Cache {
    /// In no order.
    loaded: Vec<u32>,
    frames: usize,
    pages: Vec<Slot>,
    newest: u32,
    oldest: u32,
}

/// A page's place in a list by last use.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Time of last use; 0 where it is not in memory.
    last: u64,
    /// Its index in what is loaded.
    place: u32,
    newer: u32,
    older: u32,
}

impl Cache {
    fn new(pages: usize, frames: usize) -> Self {
        let slot = Slot { last: 0, place: 0, newer: NONE, older: NONE };
        let loaded = Vec::with_capacity(frames.min(pages));
        Cache { loaded, frames, pages: vec![slot; pages], newest: NONE, oldest: NONE }
    }

    fn clear(&mut self) {
        self.loaded.drain(..).for_each(|page| self.pages[page as usize].last = 0);
        (self.newest, self.oldest) = (NONE, NONE);
    }

    fn holds(&self, page: u32) -> bool {
        self.pages[page as usize].last > 0
    }

    /// When the page was used last that goes next; 0 while nothing has to go.
    fn oldest_use(&self) -> u64 {
        match self.loaded.len() == self.frames {
            true => self.pages.get(self.oldest as usize).map_or(0, |slot| slot.last),
            false => 0,
        }
    }

    /// Uses a page now; whether it was in memory.
    fn use_page(&mut self, page: u32, time: u64) -> bool {
        let present = self.holds(page);
        if present {
            self.unlink(page);
        } else {
            if self.loaded.len() == self.frames {
                let victim = self.oldest;
                self.unlink(victim);
                self.pages[victim as usize].last = 0;
                let place = self.pages[victim as usize].place;
                self.loaded.swap_remove(place as usize);
                if let Some(moved) = self.loaded.get(place as usize) {
                    self.pages[*moved as usize].place = place;
                }
            }
            self.pages[page as usize].place = self.loaded.len() as u32;
            self.loaded.push(page);
        }
        let older = self.newest;
        let slot = &mut self.pages[page as usize];
        (slot.last, slot.newer, slot.older) = (time, NONE, older);
        match self.pages.get_mut(older as usize) {
            Some(slot) => slot.newer = page,
            None => self.oldest = page,
        }
        self.newest = page;
        present
    }

    fn unlink(&mut self, page: u32) {
        let Slot { newer, older, .. } = self.pages[page as usize];
        match self.pages.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.pages.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }
}

fn pages_of(groups: &[Vec<u32>], pieces: usize) -> Vec<u32> {
    let mut page_of = vec![NONE; pieces];
    for (page, group) in groups.iter().enumerate() {
        group.iter().for_each(|piece| page_of[*piece as usize] = page as u32);
    }
    page_of
}

/// A placement of the pieces that ran.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub groups: Vec<Vec<u32>>,
    /// Faults that it causes.
    pub faults: u64,
}

/// For each piece the pages that were in memory when it was called for, ascending, and how often.
struct Present(Vec<Vec<(u32, u32)>>);

impl Present {
    fn of(replay: &Replay, page_of: &[u32], pages: usize) -> Self {
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); page_of.len()];
        replay.replay(page_of, pages, |piece, _, loaded| {
            found[piece as usize].extend_from_slice(loaded);
        });
        let count = |mut pages: Vec<u32>| {
            pages.sort_unstable();
            let same = pages.chunk_by(|one, other| one == other);
            same.filter_map(|same| Some((*same.first()?, same.len() as u32))).collect()
        };
        Present(found.into_iter().map(count).collect())
    }

    fn row(&self, piece: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.0[piece as usize].iter().map(|(page, count)| (*page, i64::from(*count)))
    }

    fn count(&self, piece: u32, page: u32) -> i64 {
        let row = &self.0[piece as usize];
        let found = row.binary_search_by_key(&page, |(page, _)| *page);
        found.map_or(0, |place| i64::from(row[place].1))
    }
}

/// What would be saved by moving a piece to a page, or by exchanging it with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    gain: i64,
    piece: u32,
    to: u32,
    /// The piece that comes back; [`NONE`] for a mere move.
    back: u32,
}

/// Pages whose pieces are looked at for an exchange.
const PARTNERS: usize = 4;
/// Moves of one round, at most.
const BATCH: usize = 64;
/// References that are replayed in all, about: some seconds.
const REPLAYED: usize = 1 << 21;
/// Rounds without success after which the search ends.
const PATIENCE: usize = 12;

impl Found {
    pub fn new(replay: &Replay, problem: &PageProblem<'_>, mut groups: Vec<Vec<u32>>) -> Self {
        groups.retain(|group| !group.is_empty());
        let faults = replay.faults_of(&groups, problem);
        Found { groups, faults }
    }

    /// Moves pieces, the best moves first and many at once, and keeps what saves faults. Where many
    /// together do not, fewer are tried; moves that failed alone are not tried again. The longer what
    /// is replayed, the fewer rounds there are.
    pub fn improve(&mut self, replay: &Replay, problem: &PageProblem<'_>, rounds: usize) {
        let rooms = problem.rooms();
        let length: usize = replay.runs.iter().map(Vec::len).sum();
        let rounds = rounds.min(REPLAYED / length.max(1)).max(1);
        let mut batch = BATCH;
        let mut failed = 0;
        let mut forbidden: BTreeSet<(u32, u32, u32)> = BTreeSet::new();
        let mut moves: Option<Vec<Move>> = None;
        for _ in 0..rounds {
            let candidates = match moves.take() {
                Some(candidates) => candidates,
                None => self.moves(replay, problem, &rooms),
            };
            let mut next = self.clone();
            let taken = next.apply(&candidates, batch, &rooms, problem, &forbidden);
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
    fn moves(&self, replay: &Replay, problem: &PageProblem<'_>, rooms: &[Room]) -> Vec<Move> {
        let pages = self.groups.len();
        let page_of = pages_of(&self.groups, problem.pieces.len());
        let present = Present::of(replay, &page_of, pages);
        let worth = |piece: u32, page: u32| present.count(piece, page);
        let gain = |piece: u32, to: u32| worth(piece, to) - worth(piece, page_of[piece as usize]);
        let room =
            |group: &[u32]| group.iter().map(|piece| rooms[*piece as usize].bytes).sum::<u64>();
        let filled: Vec<u64> = self.groups.iter().map(|group| room(group)).collect();
        let mut moves = Vec::new();
        for &piece in self.groups.iter().flatten() {
            let own = rooms[piece as usize];
            if own.long {
                continue;
            }
            // Where the page was never in memory there is nothing to gain.
            let here = worth(piece, page_of[piece as usize]);
            let mut best: Vec<(i64, u32)> = present
                .row(piece)
                .filter(|(page, _)| *page != page_of[piece as usize])
                .map(|(page, count)| (count - here, page))
                .filter(|(gain, _)| *gain > 0)
                .collect();
            best.sort_unstable_by_key(|(gain, page)| (std::cmp::Reverse(*gain), *page));
            for (gained, to) in best.into_iter().take(PARTNERS) {
                if filled[to as usize] + own.bytes <= problem.page {
                    moves.push(Move { gain: gained, piece, to, back: NONE });
                    continue;
                }
                let here = page_of[piece as usize];
                let exchange = self.groups[to as usize].iter().filter_map(|other| {
                    let theirs = rooms[*other as usize];
                    let fits = !theirs.long
                        && filled[to as usize] + own.bytes - theirs.bytes <= problem.page
                        && filled[here as usize] + theirs.bytes - own.bytes <= problem.page;
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
        rooms: &[Room],
        problem: &PageProblem<'_>,
        forbidden: &BTreeSet<(u32, u32, u32)>,
    ) -> Vec<Move> {
        let page_of = pages_of(&self.groups, problem.pieces.len());
        let mut touched = vec![false; self.groups.len()];
        let mut done = Vec::new();
        for one in moves {
            if done.len() >= most {
                break;
            }
            let from = page_of[one.piece as usize] as usize;
            let to = one.to as usize;
            if touched[from] || touched[to] || forbidden.contains(&(one.piece, one.to, one.back)) {
                continue;
            }
            (touched[from], touched[to]) = (true, true);
            self.groups[from].retain(|piece| *piece != one.piece);
            self.groups[to].push(one.piece);
            if one.back != NONE {
                self.groups[to].retain(|piece| *piece != one.back);
                self.groups[from].push(one.back);
            }
            done.push(*one);
        }
        debug_assert!(self.groups.iter().all(|group| {
            group.iter().map(|piece| rooms[*piece as usize].bytes).sum::<u64>() <= problem.page
        }));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::PagedPiece;
    use super::*;
    use crate::cost::{Policy, faults};
    use proptest::prelude::*;

    fn problem<'a>(pieces: &'a [PagedPiece], references: &'a [Vec<u32>]) -> PageProblem<'a> {
        PageProblem { pieces, edges: &[], references, page: 100 }
    }

    #[test]
    fn moves_save_faults() {
        let pieces = vec![PagedPiece { size: 40, alignment: 1, ..PagedPiece::default() }; 6];
        let references: Vec<u32> = (0..40)
            .flat_map(|round| if round % 2 == 0 { [0, 3, 0, 3] } else { [1, 2, 4, 5] })
            .collect();
        let references = [references];
        let problem = problem(&pieces, &references);
        let replay = Replay::new(&problem, 2, 1000);
        let start = vec![vec![0, 1], vec![2, 3], vec![4, 5]];
        let mut found = Found::new(&replay, &problem, start);
        let before = found.faults;
        found.improve(&replay, &problem, 100);
        assert!(found.faults < before, "{found:?}");
        assert_eq!(found.faults, replay.faults_of(&found.groups, &problem));
    }

    proptest! {
        #[test]
        fn it_counts_the_faults_of_lru(
            picks in prop::collection::vec(0u32..12, 1..300),
            frames in 1usize..5,
        ) {
            let pieces = vec![PagedPiece { size: 40, alignment: 1, ..PagedPiece::default() }; 12];
            let references = [picks];
            let problem = problem(&pieces, &references);
            let replay = Replay::new(&problem, frames, 1000);
            let groups: Vec<Vec<u32>> = (0..6).map(|page| vec![page * 2, page * 2 + 1]).collect();
            let pages: Vec<u32> = references[0].iter().map(|piece| piece / 2).collect();
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
