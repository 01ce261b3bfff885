//! Follows the page cache of a trace, and what pools of rental memory would have held beside it.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::doorkeeper::Doorkeeper;
use super::error::PlanError;
use super::event::{FileId, Folio};
use super::page::{MOST_PAGES, Pages};
use super::purpose::{Arrival, Need, Purpose, Purposes};
use super::stack::Stack;
use super::victim::{Normal, Tally, Victims};
use super::window::Window;

/// What is stored of what is evicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// All.
    #[default]
    All,
    /// What was active before.
    Workingset,
    /// What was evicted before, as far as the kernel remembers it.
    Twice,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::All, Self::Workingset, Self::Twice];

    /// As the kernel's knob names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Workingset => "workingset",
            Self::Twice => "twice",
        }
    }

    /// What it stores, behind "which"; nothing where its name says so.
    pub fn summary(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Workingset => "that were in use",
            Self::Twice => "from the second time on",
        }
    }
}

/// Why a folio leaves the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// kswapd evicts it.
    Kswapd,
    /// A task that needs memory evicts it.
    DirectReclaim,
    /// It is truncated or invalidated, or its file goes.
    Truncation,
}

/// What was seen. Pages are counted, where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Events of any kind.
    pub events: u64,
    /// That came into the page cache.
    pub added: u64,
    /// That came back after they had been evicted: the most that any pool can save.
    pub returned: u64,
    /// That kswapd evicted.
    pub kswapd: u64,
    /// That tasks evicted in direct reclaim.
    pub direct: u64,
    /// That were truncated or invalidated, or whose files went.
    pub truncated: u64,
    /// Evicted, and already there before the trace began.
    pub older: u64,
    /// That came although they had not left: events are missing, or a file has the number of another.
    pub twice: u64,
    /// Evicted, of folios of several pages, which are not stored.
    pub large: u64,
    /// Evicted, of file systems without a block device and of block devices themselves, which are not stored.
    pub unsuited: u64,
    /// Copies in the largest pool whose file lost all its pages otherwise, and that are dropped therefore.
    pub inferred: u64,
    /// Files that left memory or were deleted.
    pub gone: u64,
    /// Read, of pages that were in the page cache or came for that.
    pub accesses: u64,
    /// Uses, as far as they are seen: what came, and what was read of what was there.
    pub uses: u64,
    /// Folios that became active.
    pub activations: u64,
    /// Times that tasks began to reclaim.
    pub reclaims: u64,
    /// Events that could not be read.
    pub unread: u64,
    /// Events that were overwritten by later ones before the trace was written.
    pub overwritten: u64,
}

/// What was recorded at all, also before a marker from which on everything counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Which files leave memory or are deleted.
    pub files: bool,
    /// Which folios become active.
    pub activations: bool,
    /// When tasks reclaim memory.
    pub reclaims: bool,
    /// Reads, also of pages that are in memory.
    pub reads: bool,
    /// Pages that came into the page cache or left it.
    pub pages: u64,
}

/// A pool of a size, under a policy.
#[derive(Debug)]
pub struct Pool {
    /// In pages.
    pub slots: u32,
    /// The policy.
    pub policy: Policy,
    /// What it has, and what it did.
    pub victims: Victims,
}

/// Pages of which one event of a read tells: the kernel's batch of folios.
const PAGES_AT_ONCE: u64 = 31;
/// Evictions between two looks at what would be activated.
const FIRST_LOOK: u64 = 512;
/// Looks after which they become rarer.
const MOST_LOOKS: u64 = 64;

/// The state of a replay.
#[derive(Debug)]
pub struct Replay {
    page_shift: u32,
    /// Slots of the largest pool.
    most: u32,
    pages: Pages,
    /// Pages that were evicted before, as the kernel knows them.
    seen: Doorkeeper,
    /// Pages by frame, which stay where folios are not seen to leave.
    frames: FxHashMap<u64, u32>,
    /// How many of these there can be.
    most_frames: usize,
    /// Pages in the page cache, as far as they are known.
    resident: u64,
    /// The most that there were.
    pub most_resident: u64,
    /// How many there were lately.
    lately: Window,
    /// Pools: each size under each policy.
    pub pools: Vec<Pool>,
    /// What one memory would hold that were as large as the page cache and a pool together, by last use.
    lru: Stack,
    /// Accesses that such a memory serves, by the pages beyond the page cache that it needs for that.
    pub lru_hits: Vec<u64>,
    /// What pages came for, while reads are recorded.
    purposes: Purposes,
    /// Evictions that are not counted.
    clock: u64,
    /// What was seen.
    pub counts: Counts,
    /// What was recorded at all.
    pub recorded: Recorded,
    /// Looks at what would be activated.
    pub looks: u64,
    until_look: u64,
    interval: u64,
}

impl Replay {
    /// Of nothing so far, with pages of so many bytes, and pools of so many pages.
    pub fn new(page_size: u64, pools: &[u32]) -> Self {
        let of_size = |slots: u32| {
            Policy::ALL.map(|policy| Pool { slots, policy, victims: Victims::new(slots) })
        };
        Self {
            page_shift: page_size.max(1).trailing_zeros(),
            pools: pools.iter().copied().flat_map(of_size).collect(),
            pages: Pages::default(),
            seen: Doorkeeper::new(),
            frames: FxHashMap::default(),
            most_frames: MOST_PAGES,
            resident: 0,
            most_resident: 0,
            lately: Window::default(),
            lru: Stack::new(u32::MAX),
            lru_hits: Vec::new(),
            most: pools.iter().copied().max().unwrap_or(1),
            purposes: Purposes::default(),
            clock: 0,
            counts: Counts::default(),
            recorded: Recorded::default(),
            looks: 0,
            until_look: FIRST_LOOK,
            interval: FIRST_LOOK,
        }
    }

    /// Forgets what was counted so far, and nothing else: neither what was recorded at all, nor what cannot be read of
    /// that.
    pub fn begin(&mut self) {
        let Counts { events, unread, overwritten, .. } = self.counts;
        self.clock += self.counts.kswapd + self.counts.direct;
        self.counts = Counts { events, unread, overwritten, ..Counts::default() };
        for pool in &mut self.pools {
            pool.victims.tally = Tally::default();
        }
        self.lru_hits.fill(0);
        (self.looks, self.until_look, self.interval) = (0, FIRST_LOOK, FIRST_LOOK);
    }

    /// Evictions since the trace began.
    fn evictions(&self) -> u64 {
        self.clock + self.counts.kswapd + self.counts.direct
    }

    /// The pages of a folio.
    fn run(&self, folio: &Folio) -> std::ops::Range<u64> {
        let first = folio.offset >> self.page_shift;
        first..first + (1 << folio.order)
    }

    /// A folio comes, in a thread.
    ///
    /// # Errors
    /// That these are too many pages.
    pub fn add(&mut self, folio: &Folio, thread: u32) -> Result<(), PlanError> {
        for index in self.run(folio) {
            let page = self.pages.page(folio.file, index)?;
            self.counts.added += 1;
            self.recorded.pages += 1;
            let known = &self.pages.pages[page as usize];
            if known.is_resident {
                self.counts.twice += 1;
                self.leave(page);
                self.forget(page);
            }
            let known = self.pages.pages[page as usize];
            let has_returned = known.evictions > 0;
            self.counts.returned += u64::from(has_returned);
            let is_small = !self.pages.file[known.file as usize].is_long;
            self.touch(page);
            // What returns soon becomes active at once: after fewer evictions than there are pages.
            let since = self.evictions() - known.evicted;
            let is_active = has_returned && !self.recorded.activations && since <= self.resident;
            self.come(page, is_active);
            let (normal, has_reads) = (self.normal(), self.recorded.reads);
            for Pool { victims, .. } in &mut self.pools {
                victims.come(page, folio.order == 0, is_small, has_reads, normal);
            }
            if has_reads {
                let arrival = Arrival { thread, file: folio.file, index, page };
                if let Some((page, purpose)) = self.purposes.arrive(arrival) {
                    self.know(page, purpose, page);
                }
            }
        }
        let first = self.pages.page(folio.file, folio.offset >> self.page_shift)?;
        self.frames.insert(folio.frame, first);
        match self.frames.len() > self.most_frames {
            true => Err(PlanError::TooManyFrames { most: self.most_frames }),
            false => Ok(()),
        }
    }

    /// A folio comes that should be there. So it was evicted, but when is not known, nor which pools would still have
    /// had its copy: none is said to.
    ///
    /// # Errors
    /// That these are too many pages.
    pub fn early(&mut self, folio: &Folio) -> Result<(), PlanError> {
        self.delete(folio, Why::Kswapd)?;
        for index in self.run(folio) {
            let page = self.pages.page(folio.file, index)?;
            for Pool { victims, .. } in &mut self.pools {
                victims.forget(page);
            }
        }
        self.add(folio, 0)
    }

    fn come(&mut self, page: u32, is_active: bool) {
        let known = &mut self.pages.pages[page as usize];
        (known.is_resident, known.was_active, known.is_new) = (true, is_active, true);
        self.pages.file[known.file as usize].resident += 1;
        self.resident += 1;
        self.most_resident = self.most_resident.max(self.resident);
        self.lately.see(self.resident);
    }

    /// Normal memory in the trace. As long as no reads are recorded each page is as if it moved.
    fn normal(&self) -> Normal {
        let room = if self.recorded.reads {
            self.lately.middle().max(self.resident)
        } else {
            self.resident
        };
        Normal { resident: self.resident, room }
    }

    /// It is known what a page came for: whether a copy of it stays depends on that. What came ahead did so for `trigger`.
    fn know(&mut self, page: u32, purpose: Purpose, trigger: u32) {
        let (is_small, normal) = (self.is_small(page), self.normal());
        for Pool { victims, .. } in &mut self.pools {
            match purpose {
                Purpose::Needed { is_whole } => victims.need(page, is_whole, is_small, normal),
                Purpose::Ahead if page != trigger => victims.read_ahead(page, trigger),
                Purpose::Ahead | Purpose::Read => {}
                Purpose::Unseen => victims.settle(page, is_small, normal),
            }
        }
    }

    /// Whether a page is the only one of its file.
    fn is_small(&self, page: u32) -> bool {
        !self.pages.file[self.pages.pages[page as usize].file as usize].is_long
    }

    fn leave(&mut self, page: u32) {
        let known = &mut self.pages.pages[page as usize];
        known.is_resident = false;
        let file = &mut self.pages.file[known.file as usize];
        file.resident = file.resident.saturating_sub(1);
        self.resident = self.resident.saturating_sub(1);
        self.lately.see(self.resident);
    }

    /// Nothing is known of a page that its file no longer has.
    fn forget(&mut self, page: u32) {
        self.lru.take(page);
        let known = &mut self.pages.pages[page as usize];
        (known.evictions, known.was_active) = (0, false);
        for Pool { victims, .. } in &mut self.pools {
            victims.forget(page);
        }
    }

    /// A folio leaves.
    ///
    /// # Errors
    /// That these are too many pages.
    pub fn delete(&mut self, folio: &Folio, why: Why) -> Result<(), PlanError> {
        let first = self.pages.page(folio.file, folio.offset >> self.page_shift)?;
        let mapped = self.frames.get(&folio.frame);
        if mapped == Some(&first) {
            self.frames.remove(&folio.frame);
        }
        for index in self.run(folio) {
            let page = self.pages.page(folio.file, index)?;
            let was_known = self.pages.pages[page as usize].is_resident;
            if was_known {
                self.leave(page);
            }
            self.recorded.pages += 1;
            match why {
                Why::Truncation => {
                    self.counts.truncated += 1;
                    self.forget(page);
                    let file = self.pages.pages[page as usize].file;
                    // Where files that go are recorded it is still there, as are its copies.
                    if !self.recorded.files && self.pages.file[file as usize].resident == 0 {
                        self.counts.inferred += self.empty(file);
                    }
                    continue;
                }
                Why::Kswapd => self.counts.kswapd += 1,
                Why::DirectReclaim => self.counts.direct += 1,
            }
            self.counts.older += u64::from(!was_known);
            let is_first =
                folio.order == 0 && folio.file.major > 0 && self.seen.is_first(folio.file, index);
            self.evict(page, folio.order > 0, is_first);
        }
        Ok(())
    }

    fn evict(&mut self, page: u32, is_large: bool, is_first: bool) {
        let evictions = self.evictions();
        let known = &mut self.pages.pages[page as usize];
        known.evictions = known.evictions.saturating_add(1);
        known.evicted = evictions;
        let has_been_active = known.was_active;
        let file = &mut self.pages.file[known.file as usize];
        if !std::mem::replace(&mut known.is_listed, true) {
            file.evicted.push(page);
        }
        let is_suited = !is_large && file.major > 0;
        if is_large {
            self.counts.large += 1;
        } else if !is_suited {
            self.counts.unsuited += 1;
        }
        let normal = self.normal();
        for Pool { policy, victims, .. } in &mut self.pools {
            let is_wanted = match policy {
                Policy::All => true,
                Policy::Workingset => has_been_active,
                Policy::Twice => !is_first,
            };
            victims.evict(page, is_suited && is_wanted, has_been_active, normal);
        }
        self.until_look -= 1;
        if self.until_look == 0 {
            self.look();
        }
    }

    /// Drops all copies of a file, and says how many there were in the largest pool.
    fn empty(&mut self, file: u32) -> u64 {
        let mut dropped = 0;
        for page in std::mem::take(&mut self.pages.file[file as usize].evicted) {
            let known = &mut self.pages.pages[page as usize];
            known.is_listed = false;
            if !known.is_resident {
                dropped += u64::from(self.largest().is_some_and(|pool| pool.victims.has(page)));
                self.forget(page);
            }
        }
        dropped
    }

    /// The largest pool, which stores all.
    fn largest(&self) -> Option<&Pool> {
        let all = self.pools.iter().filter(|pool| pool.policy == Policy::All);
        all.max_by_key(|pool| pool.slots)
    }

    /// A file leaves memory, or is deleted.
    pub fn gone(&mut self, id: FileId) {
        self.recorded.files = true;
        let Some(file) = self.pages.known(id) else { return };
        self.counts.gone += 1;
        self.empty(file);
    }

    /// A thread reads bytes of a file. The first of their pages are in the page cache; where they are many, another event
    /// follows for the rest.
    pub fn access(&mut self, thread: u32, file: FileId, first: u64, last: u64) {
        let first = first >> self.page_shift;
        let last = (last >> self.page_shift).min(first.saturating_add(PAGES_AT_ONCE - 1));
        self.recorded.reads = true;
        for index in first..=last {
            let Some(page) = self.resident_page(file, index) else { continue };
            let (is_small, normal) = (self.is_small(page), self.normal());
            for Pool { victims, .. } in &mut self.pools {
                victims.read(page, is_small, normal);
            }
            self.accessed(page);
        }
        let trigger = self.resident_page(file, first);
        for (page, purpose) in self.purposes.read(thread, file, (first, last)) {
            self.know(page, purpose, trigger.unwrap_or(page));
        }
    }

    /// A thread needs a page of a mapped file.
    pub fn fault(&mut self, thread: u32, file: FileId, at: u64) {
        let index = at >> self.page_shift;
        self.need(thread, Need { file, index, is_whole: false });
        if let Some(page) = self.resident_page(file, index) {
            self.accessed(page);
        }
    }

    /// A thread writes to a page of a file.
    pub fn write(&mut self, thread: u32, file: FileId, first: u64, length: u64) {
        let index = first >> self.page_shift;
        let is_whole = first == index << self.page_shift && length >> self.page_shift > 0;
        self.need(thread, Need { file, index, is_whole });
    }

    fn need(&mut self, thread: u32, need: Need) {
        // What came before that was not needed for this.
        if let Some(page) = self.resident_page(need.file, need.index) {
            self.know(page, Purpose::Needed { is_whole: need.is_whole }, page);
        }
        self.purposes.need(thread, need);
    }

    /// A page, if it is there.
    fn resident_page(&self, file: FileId, index: u64) -> Option<u32> {
        let page = self.pages.known_page(file, index)?;
        self.pages.pages[page as usize].is_resident.then_some(page)
    }

    fn accessed(&mut self, page: u32) {
        self.counts.accesses += 1;
        // A page that came for this was counted when it came.
        if !std::mem::replace(&mut self.pages.pages[page as usize].is_new, false) {
            self.touch(page);
        }
    }

    /// Counts a use of a page in the memory that is ordered by use.
    fn touch(&mut self, page: u32) {
        if let Some(depth) = self.lru.take(page) {
            let beyond = u64::from(depth).saturating_sub(self.resident);
            if beyond <= self.most.into() {
                count(&mut self.lru_hits, beyond);
            }
        }
        self.counts.uses += 1;
        self.lru.push(page);
    }

    /// The folio in a frame becomes active.
    pub fn activate(&mut self, frame: u64) {
        if !std::mem::replace(&mut self.recorded.activations, true) {
            // From now on it need not be guessed.
            self.pages.pages.iter_mut().for_each(|page| page.was_active = false);
        }
        self.counts.activations += 1;
        if let Some(page) = self.frames.get(&frame) {
            self.pages.pages[*page as usize].was_active = true;
        }
    }

    /// Looks how many copies of each pool would be activated.
    fn look(&mut self) {
        self.looks += 1;
        if self.looks.is_multiple_of(MOST_LOOKS) {
            self.interval *= 2;
        }
        self.until_look = self.interval;
        self.pools.iter_mut().for_each(|pool| pool.victims.look());
    }

    /// Looks once more, at the end.
    pub fn end(&mut self) {
        self.look();
    }
}

/// Counts one at a place, which may not be there yet.
fn count(counts: &mut Vec<u64>, place: u64) {
    let place = place as usize;
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_bounded() {
        let mut replay = Replay { most_frames: 100, ..Replay::new(4096, &[8]) };
        let file = FileId { major: 254, minor: 0, inode: 12 };
        // One page, which never leaves and is in another frame each time.
        let mut add = |frame| replay.add(&Folio { file, offset: 0, order: 0, frame }, 7);
        let refused = (0..1000).find_map(|frame| add(frame).err());
        assert_eq!(refused, Some(PlanError::TooManyFrames { most: 100 }));
    }
}
