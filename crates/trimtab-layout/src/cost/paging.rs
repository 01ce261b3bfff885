//! Demand paging with little memory: how often a page of code has to be loaded.

use crate::PageIndex;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::{BinaryHeap, VecDeque};

/// Which page makes room when memory is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The one that was used the longest ago.
    Lru,
    /// The one that was loaded the longest ago.
    Fifo,
    /// Any one.
    Random {
        /// Seed of the choice.
        seed: u64,
    },
    /// Not recently used: one that was not used since use was last forgotten, which happens every
    /// ten times as many references as there are frames; searched for from where the last one was
    /// found.
    Nru,
    /// The one whose next use is farthest ahead.
    ///
    /// Source: L. A. Belady, "A study of replacement algorithms for a virtual-storage computer",
    /// IBM Systems Journal 5(2), 1966.
    Optimum,
}

/// Counts the faults of `pages`, references to pages in their order, with
/// `frames` frames (0 counts as 1).
pub fn faults(pages: &[PageIndex], frames: usize, policy: Policy) -> u64 {
    let frames = frames.max(1);
    let count = pages.iter().max().map_or(0, |most| most.index() + 1);
    if count <= frames {
        // All fit: each page is loaded once.
        let mut seen = vec![false; count];
        return pages.iter().filter(|page| !std::mem::replace(&mut seen[page.index()], true)).count()
            as u64;
    }
    match policy {
        Policy::Lru => lru(pages, count, frames),
        Policy::Fifo => fifo(pages, count, frames),
        Policy::Random { seed } => random(pages, count, frames, seed),
        Policy::Nru => nru(pages, count, frames),
        Policy::Optimum => optimum(pages, count, frames),
    }
}

/// No page.
const NONE: u32 = u32::MAX;

/// The pages in memory form a ring through a head, the most recently used behind it.
fn lru(pages: &[PageIndex], count: usize, frames: usize) -> u64 {
    let head = count as u32;
    let mut links = vec![(NONE, NONE); count + 1];
    links[count] = (head, head);
    let (mut loaded, mut faults) = (0, 0);
    for page in pages.iter().map(|page| page.0) {
        let unlink = |links: &mut Vec<(u32, u32)>, page: u32| {
            let (before, after) = links[page as usize];
            links[before as usize].1 = after;
            links[after as usize].0 = before;
            links[page as usize] = (NONE, NONE);
        };
        if links[page as usize] != (NONE, NONE) {
            unlink(&mut links, page);
        } else {
            faults += 1;
            if loaded == frames {
                let oldest = links[count].0;
                unlink(&mut links, oldest);
            } else {
                loaded += 1;
            }
        }
        let (_, newest) = links[count];
        links[page as usize] = (head, newest);
        links[newest as usize].0 = page;
        links[count].1 = page;
    }
    faults
}

fn fifo(pages: &[PageIndex], count: usize, frames: usize) -> u64 {
    let mut loaded = vec![false; count];
    let mut queue: VecDeque<PageIndex> = VecDeque::with_capacity(frames);
    let mut faults = 0;
    for &page in pages {
        if loaded[page.index()] {
            continue;
        }
        faults += 1;
        if queue.len() == frames
            && let Some(oldest) = queue.pop_front()
        {
            loaded[oldest.index()] = false;
        }
        queue.push_back(page);
        loaded[page.index()] = true;
    }
    faults
}

fn random(pages: &[PageIndex], count: usize, frames: usize, seed: u64) -> u64 {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut loaded = vec![false; count];
    let mut frame: Vec<PageIndex> = Vec::with_capacity(frames);
    let mut faults = 0;
    for &page in pages {
        if std::mem::replace(&mut loaded[page.index()], true) {
            continue;
        }
        faults += 1;
        if frame.len() < frames {
            frame.push(page);
        } else {
            let victim = &mut frame[chance.random_range(0..frames)];
            loaded[victim.index()] = false;
            *victim = page;
        }
    }
    faults
}

fn nru(pages: &[PageIndex], count: usize, frames: usize) -> u64 {
    let mut frame_of = vec![NONE; count];
    let mut frame: Vec<(PageIndex, bool)> = Vec::with_capacity(frames);
    let (mut hand, mut faults) = (0, 0);
    for (time, &page) in pages.iter().enumerate() {
        if time % (frames * 10) == 0 {
            frame.iter_mut().for_each(|(_, used)| *used = false);
        }
        if let Some((_, used)) = frame.get_mut(frame_of[page.index()] as usize) {
            *used = true;
            continue;
        }
        faults += 1;
        if frame.len() < frames {
            frame_of[page.index()] = frame.len() as u32;
            frame.push((page, true));
            continue;
        }
        let unused = (0..frames).map(|step| (hand + step) % frames).find(|place| !frame[*place].1);
        let victim = unused.unwrap_or(hand);
        hand = (victim + 1) % frames;
        frame_of[frame[victim].0.index()] = NONE;
        frame_of[page.index()] = victim as u32;
        frame[victim] = (page, true);
    }
    faults
}

fn optimum(pages: &[PageIndex], count: usize, frames: usize) -> u64 {
    let mut next_of_page = vec![pages.len(); count];
    let mut next = vec![0; pages.len()];
    for (time, &page) in pages.iter().enumerate().rev() {
        next[time] = std::mem::replace(&mut next_of_page[page.index()], time);
    }
    // When each page in memory is used next; the queue also has entries that are out of date.
    let mut use_of = vec![usize::MAX; count];
    let mut queue: BinaryHeap<(usize, PageIndex)> = BinaryHeap::new();
    let (mut loaded, mut faults) = (0, 0);
    for (time, &page) in pages.iter().enumerate() {
        if use_of[page.index()] == usize::MAX {
            faults += 1;
            if loaded == frames {
                while let Some((at, victim)) = queue.pop() {
                    if use_of[victim.index()] == at {
                        use_of[victim.index()] = usize::MAX;
                        break;
                    }
                }
            } else {
                loaded += 1;
            }
        }
        use_of[page.index()] = next[time];
        queue.push((next[time], page));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Policy; 5] =
        [Policy::Lru, Policy::Fifo, Policy::Random { seed: 1 }, Policy::Nru, Policy::Optimum];

    /// The example of every textbook, with three frames.
    #[test]
    fn the_known_example() {
        let pages = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1].map(PageIndex);
        assert_eq!(faults(&pages, 3, Policy::Fifo), 15);
        assert_eq!(faults(&pages, 3, Policy::Lru), 12);
        assert_eq!(faults(&pages, 3, Policy::Optimum), 9);
    }

    /// Belady's anomaly: more memory, more faults.
    #[test]
    fn fifo_can_get_worse_with_more_memory() {
        let pages = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5].map(PageIndex);
        assert_eq!(faults(&pages, 3, Policy::Fifo), 9);
        assert_eq!(faults(&pages, 4, Policy::Fifo), 10);
    }

    proptest! {
        #[test]
        fn no_policy_beats_the_optimum(
            pages in prop::collection::vec((0u32..20).prop_map(PageIndex), 0..300),
            frames in 0usize..22,
        ) {
            let distinct = pages.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
            let best = faults(&pages, frames, Policy::Optimum);
            prop_assert!(distinct <= best);
            for policy in ALL {
                let found = faults(&pages, frames, policy);
                prop_assert!(best <= found && found <= pages.len() as u64, "{:?}", policy);
                prop_assert_eq!(found, faults(&pages, frames, policy));
                if frames >= 20 {
                    prop_assert_eq!(found, distinct);
                }
            }
            // Those two keep all that they would keep with less memory.
            for policy in [Policy::Lru, Policy::Optimum] {
                prop_assert!(faults(&pages, frames + 1, policy) <= faults(&pages, frames, policy));
            }
        }

        #[test]
        fn lru_agrees_with_its_definition(
            pages in prop::collection::vec((0u32..9).prop_map(PageIndex), 0..100),
            frames in 1usize..9,
        ) {
            let mut recent: Vec<PageIndex> = Vec::new();
            let mut expected = 0;
            for &page in &pages {
                match recent.iter().position(|other| *other == page) {
                    Some(place) => {
                        recent.remove(place);
                    }
                    None => expected += 1,
                }
                recent.insert(0, page);
                recent.truncate(frames);
            }
            prop_assert_eq!(faults(&pages, frames, Policy::Lru), expected);
        }
    }
}
