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
        Replay { runs, frames }
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
        // Time of last use of each page; 0 where it is not in memory.
        let mut last = vec![0u64; pages];
        let mut loaded: Vec<u32> = Vec::with_capacity(self.frames);
        let mut time = 1u64;
        for run in &self.runs {
            loaded.drain(..).for_each(|page| last[page as usize] = 0);
            used.iter_mut().for_each(|used| *used = 0);
            // Pages in memory by last use.
            let mut order: BTreeSet<(u64, u32)> = BTreeSet::new();
            for &piece in run {
                let page = page_of[piece as usize];
                if page == NONE {
                    continue;
                }
                time += 1;
                let oldest = match order.len() == self.frames {
                    true => order.first().map_or(0, |(time, _)| *time),
                    false => 0,
                };
                let before = used[piece as usize];
                let present = last[page as usize] > 0;
                if before == 0 || before < oldest {
                    critical(piece, present, &loaded);
                }
                used[piece as usize] = time;
                if present {
                    order.remove(&(last[page as usize], page));
                } else {
                    faults += 1;
                    if order.len() == self.frames
                        && let Some((_, victim)) = order.pop_first()
                    {
                        last[victim as usize] = 0;
                        if let Some(place) = loaded.iter().position(|other| *other == victim) {
                            loaded.swap_remove(place);
                        }
                    }
                    loaded.push(page);
                }
                last[page as usize] = time;
                order.insert((time, page));
            }
        }
        faults
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

/// How often each page was in memory when each piece was called for.
struct Present {
    /// Piece and page in one number, ascending, and how often.
    counts: Vec<(u64, u32)>,
    /// Of each piece where its counts begin, and one more at the end.
    first: Vec<u32>,
}

impl Present {
    fn of(replay: &Replay, page_of: &[u32], pages: usize) -> Self {
        let mut found: Vec<u64> = Vec::new();
        replay.replay(page_of, pages, |piece, _, loaded| {
            found.extend(loaded.iter().map(|page| key(piece, *page)));
        });
        found.sort_unstable();
        let counts: Vec<(u64, u32)> = found
            .chunk_by(|one, other| one == other)
            .filter_map(|same| Some((*same.first()?, same.len() as u32)))
            .collect();
        let begins = |piece| counts.partition_point(|(found, _)| *found < key(piece, 0)) as u32;
        let first = (0..=page_of.len() as u32).map(begins).collect();
        Present { counts, first }
    }

    /// The pages that were in memory when a piece was called for, ascending, and how often.
    fn row(&self, piece: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = self.first[piece as usize] as usize..self.first[piece as usize + 1] as usize;
        self.counts[range].iter().map(|(key, count)| (*key as u32, i64::from(*count)))
    }

    fn count(&self, piece: u32, page: u32) -> i64 {
        let range = self.first[piece as usize] as usize..self.first[piece as usize + 1] as usize;
        let row = &self.counts[range];
        let found = row.binary_search_by_key(&key(piece, page), |(key, _)| *key);
        found.map_or(0, |place| i64::from(row[place].1))
    }
}

fn key(piece: u32, page: u32) -> u64 {
    u64::from(piece) << 32 | u64::from(page)
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
