//! What ran, reduced to what can miss, and its replay through an LRU cache of pages.

use super::problem::PageProblem;
use crate::{PageIndex, PieceId};

/// The page of what lies on none.
const NO_PAGE: PageIndex = PageIndex(u32::MAX);

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

    /// Counts faults; `critical` is called for each use of a piece after which as many other pages
    /// were used as there are frames, so that only other pieces can have kept a page in memory:
    /// the piece, whether its page is in memory, and the pages that are.
    pub fn replay(
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

/// The page that each piece lies on.
pub(super) fn pages_of(groups: &[Vec<PieceId>], pieces: usize) -> Vec<PageIndex> {
    let mut page_of = vec![NO_PAGE; pieces];
    for (page, group) in groups.iter().enumerate() {
        group.iter().for_each(|piece| page_of[piece.index()] = PageIndex::at(page));
    }
    page_of
}
