//! A pool of one size as a victim cache, and what normal memory holds beside it.
//!
//! What the trace says of normal memory holds as long as pages move there when they are used. `read()` leaves a page in
//! the pool. So normal memory lacks pages that it has in the trace (they are *away*), nothing need be evicted for
//! them, and it still has pages that it evicted in the trace (they are *kept*), as many as there is room for.

/// No page.
const NONE: u32 = u32::MAX;

/// Where a page is that normal memory evicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// In no list: in normal memory where the trace has it there, else on the disk alone.
    #[default]
    None,
    /// In normal memory, though not in the trace's.
    Kept,
    /// In the pool.
    Copied,
}

/// What is known of a page.
#[derive(Debug, Clone, Copy)]
struct Page {
    next: u32,
    prev: u32,
    place: Place,
    /// In normal memory in the trace, and not here.
    is_away: bool,
    /// It came where it has a copy, and what for was not seen yet.
    is_new: bool,
    /// It is worth being moved at a return.
    is_active: bool,
    /// It will be copied when it is evicted.
    is_stored: bool,
}

impl Page {
    const UNKNOWN: Self = Self {
        next: NONE,
        prev: NONE,
        place: Place::None,
        is_away: false,
        is_new: false,
        is_active: false,
        is_stored: false,
    };
}

/// Pages in order of use, by [`Page::next`] and [`Page::prev`].
#[derive(Debug, Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
    length: u64,
}

impl List {
    const EMPTY: Self = Self { oldest: NONE, newest: NONE, length: 0 };

    fn push(&mut self, pages: &mut [Page], page: u32) {
        (pages[page as usize].prev, pages[page as usize].next) = (self.newest, NONE);
        match pages.get_mut(self.newest as usize) {
            Some(newest) => newest.next = page,
            None => self.oldest = page,
        }
        self.newest = page;
        self.length += 1;
    }

    fn unlink(&mut self, pages: &mut [Page], page: u32) {
        let Page { next, prev, .. } = pages[page as usize];
        match pages.get_mut(prev as usize) {
            Some(prev) => prev.next = next,
            None => self.oldest = next,
        }
        match pages.get_mut(next as usize) {
            Some(next) => next.prev = prev,
            None => self.newest = prev,
        }
        self.length -= 1;
    }
}

/// Normal memory in the trace, in pages.
#[derive(Debug, Clone, Copy)]
pub struct Normal {
    /// What it has now.
    pub resident: u64,
    /// What it has room for: what it had lately, in the middle between the most and the least, or what it has now if that
    /// is more.
    pub room: u64,
}

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pages that were found in the pool.
    pub hits: u64,
    /// Of these, such as were read where they are.
    pub in_place: u64,
    /// Of all hits, such as were written as a whole: nothing of them is copied.
    pub overwritten: u64,
    /// Of all hits, those of files of one page.
    pub small: u64,
    /// Pages that were copied into the pool.
    pub stores: u64,
    /// Pages that were read from the disk.
    pub misses: u64,
    /// Copies of pages that were active when they were evicted, or read since, at most.
    pub most_active: u64,
    /// The same, summed over all looks.
    pub sum_active: u64,
}

/// One pool.
#[derive(Debug)]
pub struct Victims {
    slots: u64,
    /// By their numbers.
    pages: Vec<Page>,
    copied: List,
    kept: List,
    /// How many pages are away.
    away: u64,
    /// How many copies there are of active pages.
    active: u64,
    /// What was counted.
    pub tally: Tally,
}

impl Victims {
    /// An empty one of so many slots.
    pub fn new(slots: u32) -> Self {
        Self {
            slots: slots.into(),
            pages: Vec::new(),
            copied: List::EMPTY,
            kept: List::EMPTY,
            away: 0,
            active: 0,
            tally: Tally::default(),
        }
    }

    fn page(&mut self, page: u32) -> &mut Page {
        if self.pages.len() <= page as usize {
            self.pages.resize(page as usize + 1, Page::UNKNOWN);
        }
        &mut self.pages[page as usize]
    }

    /// Whether there is a copy.
    pub fn has(&self, page: u32) -> bool {
        self.pages.get(page as usize).is_some_and(|page| page.place == Place::Copied)
    }

    /// A page comes in the trace. Where `stays`, a copy stays until [`Self::read`] or [`Self::need`] tells what for.
    /// In one folio with others it is read from the disk in any case.
    pub fn come(
        &mut self,
        page: u32,
        is_single: bool,
        is_small: bool,
        stays: bool,
        normal: Normal,
    ) {
        match self.page(page).place {
            Place::Copied if is_single && stays => {
                let page = self.page(page);
                (page.is_away, page.is_new) = (true, true);
                self.away += 1;
            }
            Place::Copied if is_single => self.take(page, is_small),
            Place::Kept if is_single => self.unlist(page),
            _ => {
                self.unlist(page);
                self.tally.misses += 1;
            }
        }
        self.make_room(normal);
    }

    /// A page that is in the trace's memory is read.
    pub fn read(&mut self, page: u32, is_small: bool, normal: Normal) {
        if !self.page(page).is_away {
            return;
        }
        if self.has(page) {
            self.tally.in_place += 1;
            self.hit(is_small);
            self.copied.unlink(&mut self.pages, page);
            self.copied.push(&mut self.pages, page);
            let page = self.page(page);
            page.is_new = false;
            if !std::mem::replace(&mut page.is_active, true) {
                self.active += 1;
            }
        } else {
            self.come_back(page, is_small, normal);
        }
    }

    /// A page that is in the trace's memory is mapped or written, where `is_whole` as a whole: it must be in normal memory.
    pub fn need(&mut self, page: u32, is_whole: bool, is_small: bool, normal: Normal) {
        if self.page(page).is_away {
            self.tally.overwritten += u64::from(is_whole && self.has(page));
            self.come_back(page, is_small, normal);
        }
    }

    /// Nothing was seen of what a page came for: it was written, for example.
    pub fn settle(&mut self, page: u32, is_small: bool, normal: Normal) {
        if self.page(page).is_new {
            self.need(page, false, is_small, normal);
        }
    }

    /// In the trace a page came ahead of one that was read. Where that one was found in the pool, nothing is read ahead.
    pub fn read_ahead(&mut self, page: u32, trigger: u32) {
        let has_trigger = self.has(trigger);
        let known = self.page(page);
        if has_trigger && known.place == Place::None && !known.is_away {
            known.is_away = true;
            self.away += 1;
            self.tally.misses = self.tally.misses.saturating_sub(1);
        }
    }

    /// A page is evicted in the trace.
    pub fn evict(&mut self, page: u32, is_stored: bool, is_active: bool, normal: Normal) {
        let known = self.page(page);
        if known.is_away {
            (known.is_away, known.is_new) = (false, false);
            self.away -= 1;
        } else {
            self.unlist(page);
            let known = self.page(page);
            (known.place, known.is_stored, known.is_active) = (Place::Kept, is_stored, is_active);
            self.kept.push(&mut self.pages, page);
        }
        self.make_room(normal);
    }

    /// The file of a page no longer has it.
    pub fn forget(&mut self, page: u32) {
        self.unlist(page);
        self.away -= u64::from(self.page(page).is_away);
        *self.page(page) = Page::UNKNOWN;
    }

    /// Looks how many copies would be moved at a return.
    pub fn look(&mut self) {
        self.tally.most_active = self.tally.most_active.max(self.active);
        self.tally.sum_active += self.active;
    }

    fn hit(&mut self, is_small: bool) {
        self.tally.hits += 1;
        self.tally.small += u64::from(is_small);
    }

    /// A copy moves to normal memory.
    fn take(&mut self, page: u32, is_small: bool) {
        self.hit(is_small);
        self.unlist(page);
    }

    fn come_back(&mut self, page: u32, is_small: bool, normal: Normal) {
        match self.has(page) {
            true => self.take(page, is_small),
            false => self.tally.misses += 1,
        }
        let page = self.page(page);
        (page.is_away, page.is_new) = (false, false);
        self.away -= 1;
        self.make_room(normal);
    }

    /// Takes a page out of the list that it is in.
    fn unlist(&mut self, page: u32) {
        let known = self.page(page);
        let place = std::mem::take(&mut known.place);
        let is_active = known.is_active;
        match place {
            Place::None => {}
            Place::Kept => self.kept.unlink(&mut self.pages, page),
            Place::Copied => {
                self.copied.unlink(&mut self.pages, page);
                self.active -= u64::from(is_active);
            }
        }
    }

    /// Evicts what is kept, as far as there is no room for it.
    fn make_room(&mut self, normal: Normal) {
        while self.kept.length > 0 && normal.resident + self.kept.length > normal.room + self.away {
            let page = self.kept.oldest;
            self.unlist(page);
            if !self.page(page).is_stored || self.slots == 0 {
                continue;
            }
            if self.copied.length == self.slots {
                self.unlist(self.copied.oldest);
            }
            self.tally.stores += 1;
            self.copied.push(&mut self.pages, page);
            let known = self.page(page);
            known.place = Place::Copied;
            self.active += u64::from(self.pages[page as usize].is_active);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Normal = Normal { resident: 2, room: 2 };
    const LESS: Normal = Normal { resident: 1, room: 2 };

    #[test]
    fn what_is_read_in_the_pool_keeps_another_in_normal_memory() {
        let mut victims = Victims::new(2);
        (0..2).for_each(|page| victims.come(page, true, false, true, FULL));
        // 0 makes room for 2.
        victims.evict(0, true, false, LESS);
        assert!(!victims.has(0), "there is still room");
        victims.come(2, true, false, true, FULL);
        assert!(victims.has(0));
        // In the trace, 1 makes room for 0. Here 0 is read where it is, and 1 stays.
        victims.evict(1, true, false, LESS);
        victims.come(0, true, false, true, FULL);
        victims.read(0, false, FULL);
        victims.read(0, false, FULL);
        assert!(victims.has(0) && !victims.has(1));
        let found = victims.tally;
        assert_eq!((found.hits, found.in_place, found.stores, found.misses), (2, 2, 1, 3));
        // 1 was there all the time.
        victims.evict(2, true, false, LESS);
        victims.come(1, true, false, true, FULL);
        victims.read(1, false, FULL);
        assert_eq!(victims.tally.misses, 3);
        // What is mapped moves, and 2 has to go for it.
        victims.need(0, false, false, FULL);
        assert_eq!((victims.tally.hits, victims.tally.in_place), (3, 2));
        assert!(!victims.has(0) && victims.has(2));
    }

    #[test]
    fn what_made_room_in_the_pool_is_read_from_the_disk() {
        let mut victims = Victims::new(1);
        victims.evict(7, true, false, FULL);
        victims.evict(8, true, false, FULL);
        victims.evict(9, true, true, FULL);
        // 9 is kept as long as there is room.
        assert!(!victims.has(7) && victims.has(9) && victims.tally.stores == 3);
        victims.look();
        victims.come(9, true, true, true, FULL);
        victims.evict(8, true, false, FULL);
        assert!(victims.has(9), "there is room, as 9 is away: {victims:?}");
        victims.evict(6, true, false, FULL);
        assert!(victims.has(8) && !victims.has(9));
        victims.read(9, true, FULL);
        assert_eq!(victims.tally.misses, 1);
        assert_eq!((victims.tally.hits, victims.tally.most_active), (0, 1));
        victims.forget(8);
        assert!(!victims.has(8));
    }
}
