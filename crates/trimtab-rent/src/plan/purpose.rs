//! What pages came for: to be read, to be mapped or written, or ahead of what was read.
//!
//! No event says so. A fault and a write are seen before the page comes for them, a read after its pages came, all in one
//! thread; what came near them in the file, and is none of them, is readahead.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::event::FileId;

/// Pages that came, and of which it may still be seen what for.
const MOST_OPEN: usize = 256;
/// Threads of which it is known what they needed last.
const MOST_THREADS: usize = 1 << 16;
/// Pages that readahead has come before what is read, and after it: twice its default window.
const AROUND: u64 = 64;

/// A page that came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// In this thread.
    pub thread: u32,
    /// Its file.
    pub file: FileId,
    /// Where it is there.
    pub index: u64,
    /// Its number.
    pub page: u32,
}

/// A page that a thread needs in normal memory.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// Its file.
    pub file: FileId,
    /// Where it is there.
    pub index: u64,
    /// It is written, and nothing of it is kept.
    pub is_whole: bool,
}

/// What a page came for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is needed in normal memory, and where it says so nothing of it is kept.
    Needed {
        /// See [`Need::is_whole`].
        is_whole: bool,
    },
    /// It is read.
    Read,
    /// It came ahead of what is read or mapped.
    Ahead,
    /// Nothing was seen of it: it was written, most likely.
    Unseen,
}

/// Pages of which it is not known what for, and what threads needed last.
#[derive(Debug, Default)]
pub struct Purposes {
    /// The oldest first.
    open: VecDeque<Arrival>,
    needs: FxHashMap<u32, Need>,
}

impl Purposes {
    /// A page came. Says what for, if that is known by now, or what is known of an earlier one.
    pub fn arrive(&mut self, arrival: Arrival) -> Option<(u32, Purpose)> {
        if let Some(need) = self.needs.get(&arrival.thread).filter(|need| need.file == arrival.file)
        {
            if need.index == arrival.index {
                return Some((arrival.page, Purpose::Needed { is_whole: need.is_whole }));
            }
            if is_near(arrival.index, need.index, need.index) {
                return Some((arrival.page, Purpose::Ahead));
            }
        }
        self.open.push_back(arrival);
        let is_full = self.open.len() > MOST_OPEN;
        let oldest = if is_full { self.open.pop_front() } else { None };
        oldest.map(|oldest| (oldest.page, Purpose::Unseen))
    }

    /// A thread needs a page, which may come now.
    pub fn need(&mut self, thread: u32, need: Need) {
        if self.needs.len() == MOST_THREADS {
            self.needs.clear();
        }
        self.needs.insert(thread, need);
    }

    /// A thread has read pages of a file, the last included. Says what is known now of those that it had come.
    pub fn read(
        &mut self,
        thread: u32,
        file: FileId,
        (first, last): (u64, u64),
    ) -> Vec<(u32, Purpose)> {
        self.needs.remove(&thread);
        let (its, others): (VecDeque<Arrival>, _) =
            std::mem::take(&mut self.open).into_iter().partition(|one| one.thread == thread);
        self.open = others;
        let purpose = |arrival: &Arrival| match arrival.index {
            _ if arrival.file != file => Purpose::Unseen,
            index if (first..=last).contains(&index) => Purpose::Read,
            index if is_near(index, first, last) => Purpose::Ahead,
            _ => Purpose::Unseen,
        };
        its.iter().map(|arrival| (arrival.page, purpose(arrival))).collect()
    }
}

/// Whether readahead may have come for a page, if others are read.
fn is_near(index: u64, first: u64, last: u64) -> bool {
    index.saturating_add(AROUND) >= first && index <= last.saturating_add(AROUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId { major: 254, minor: 0, inode: 12 };

    fn arrival(thread: u32, index: u64) -> Arrival {
        Arrival { thread, file: FILE, index, page: index as u32 }
    }

    #[test]
    fn what_is_read_is_seen_after_it_came_and_what_is_needed_before() {
        let mut purposes = Purposes::default();
        for index in [3, 4, 40, 400] {
            assert_eq!(purposes.arrive(arrival(7, index)), None);
        }
        assert_eq!(purposes.arrive(arrival(8, 5)), None, "another thread");
        let found = purposes.read(7, FILE, (3, 4));
        let expected = [Purpose::Read, Purpose::Read, Purpose::Ahead, Purpose::Unseen];
        assert_eq!(found, [3, 4, 40, 400].into_iter().zip(expected).collect::<Vec<_>>());
        purposes.need(8, Need { file: FILE, index: 6, is_whole: true });
        let needed = Purpose::Needed { is_whole: true };
        assert_eq!(purposes.arrive(arrival(8, 6)), Some((6, needed)));
        assert_eq!(purposes.arrive(arrival(8, 7)), Some((7, Purpose::Ahead)));
        assert_eq!(purposes.read(8, FILE, (5, 5)), [(5, Purpose::Read)]);
        assert_eq!(purposes.arrive(arrival(8, 6)), None, "no longer needed");
    }

    #[test]
    fn what_is_not_seen_to_be_used_is_bounded() {
        let mut purposes = Purposes::default();
        let arrive = |index| purposes.arrive(arrival(7, index));
        let found: Vec<_> = (0..1000).filter_map(arrive).collect();
        assert_eq!(found.len(), 1000 - MOST_OPEN);
        assert_eq!(found[0], (0, Purpose::Unseen));
    }
}
