//! Memories of all sizes at once, which drop what was used least recently: what one memory would hold that were as large as
//! normal memory and a pool together.
//!
//! A page that is used is taken out, and comes in anew as the youngest; in that sense it is a copy in a pool here.
//! A pool of `n` slots takes a copy into a free slot, else into that of its oldest copy; a copy that is taken or
//! dropped frees its slot. Such pools include each other: what one of `n` slots holds, a larger one holds, too. So each
//! copy has a *depth*, the smallest pool that holds it, and a list by depth stands for all pools (Mattson, Gecsei,
//! Slutz and Traiger, "Evaluation techniques for storage hierarchies", 1970). What leaves from the middle of that list
//! leaves a *hole* at its depth: a free slot of all pools that are as large, where the copies below it do not
//! move up, as they are gone from the smaller pools. A new copy stands at depth 1 and moves all others down, up
//! to the first hole, which it fills (holes are those of Thompson and Smith, "Efficient (stack) algorithms for analysis
//! of write-back and sector memories", 1989).
//!
//! Copies always stand by age, the youngest first. So the depth of one is the number of copies and holes that are as
//! young, which a Fenwick tree over the order of their coming counts. A step takes logarithmic time in the largest
//! pool.

use std::collections::BinaryHeap;

/// No copy, in [`Stack::at`]; nothing or a hole, in [`Stack::pages`].
const NONE: u32 = u32::MAX;

/// Places that there are from the beginning.
const FEWEST_PLACES: usize = 16;

/// Copies by depth. Pages are numbers that should be dense.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The largest pool that counts, in slots.
    most: u32,
    /// Where the copy of a page stands in the order of coming.
    at: Vec<u32>,
    /// Which page's copy stands there.
    pages: Vec<u32>,
    /// Counts places of copies and holes up to a place.
    tree: Fenwick,
    /// Places of holes; the youngest first.
    holes: BinaryHeap<u32>,
    /// Where the next copy will stand.
    next: u32,
}

impl Stack {
    /// For pools of up to so many slots, at least one.
    pub fn new(most: u32) -> Self {
        let most = most.clamp(1, 1 << 28);
        Self {
            most,
            at: Vec::new(),
            pages: vec![NONE; FEWEST_PLACES],
            tree: Fenwick::new(FEWEST_PLACES),
            holes: BinaryHeap::new(),
            next: 0,
        }
    }

    /// Adds a copy of a page; one that is there is gone before.
    pub fn push(&mut self, page: u32) {
        self.take(page);
        if self.next as usize == self.pages.len() {
            self.renumber();
        }
        if let Some(hole) = self.holes.pop() {
            self.tree.add(hole as usize, false);
        }
        let place = self.next;
        self.next += 1;
        self.tree.add(place as usize, true);
        self.pages[place as usize] = page;
        if self.at.len() <= page as usize {
            self.at.resize(page as usize + 1, NONE);
        }
        self.at[page as usize] = place;
    }

    /// The depth of a page's copy: the slots of the smallest pool that has it. None where no pool that counts
    /// has one.
    pub fn depth(&self, page: u32) -> Option<u32> {
        let place = self.place(page)?;
        let depth = self.tree.total() - self.tree.before(place as usize);
        (depth <= self.most).then_some(depth)
    }

    /// Takes a page's copy out of all pools, and gives the depth that it had.
    pub fn take(&mut self, page: u32) -> Option<u32> {
        let depth = self.depth(page);
        let place = self.place(page)?;
        self.at[page as usize] = NONE;
        self.pages[place as usize] = NONE;
        self.holes.push(place);
        depth
    }

    /// The copies that the largest pool has, the youngest first, with their depths.
    #[cfg(test)]
    pub fn copies(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let places = (0..self.next as usize).rev().filter(|place| self.tree.has(*place));
        let deep = places.zip(1..=self.most);
        deep.map(|(place, depth)| (self.pages[place], depth)).filter(|(page, _)| *page != NONE)
    }

    fn place(&self, page: u32) -> Option<u32> {
        self.at.get(page as usize).copied().filter(|place| *place != NONE)
    }

    /// Gives copies and holes new places, without gaps, and forgets what is deeper than any pool.
    fn renumber(&mut self) {
        let full: Vec<usize> =
            (0..self.next as usize).filter(|place| self.tree.has(*place)).collect();
        let (gone, kept) = full.split_at(full.len().saturating_sub(self.most as usize));
        for place in gone {
            if let Some(at) = self.at.get_mut(self.pages[*place] as usize) {
                *at = NONE;
            }
        }
        self.holes.clear();
        // At least twice as many as are full, so that this is seldom.
        let mut pages = vec![NONE; self.pages.len().max(2 * kept.len())];
        for (new, old) in kept.iter().enumerate() {
            let page = self.pages[*old];
            pages[new] = page;
            match self.at.get_mut(page as usize) {
                Some(at) if page != NONE => *at = new as u32,
                _ => self.holes.push(new as u32),
            }
        }
        self.tree = Fenwick::full(pages.len(), kept.len());
        self.pages = pages;
        self.next = kept.len() as u32;
    }
}

/// Counts marked places before a place: Fenwick, "A new data structure for cumulative frequency tables", 1994.
#[derive(Debug, Clone)]
struct Fenwick {
    sums: Vec<u32>,
    marks: Vec<bool>,
    total: u32,
}

impl Fenwick {
    fn new(places: usize) -> Self {
        Self { sums: vec![0; places + 1], marks: vec![false; places], total: 0 }
    }

    /// With the first so many places marked.
    fn full(places: usize, marked: usize) -> Self {
        let mut tree = Self::new(places);
        tree.total = marked as u32;
        tree.marks[..marked].fill(true);
        for at in 1..=places {
            tree.sums[at] += u32::from(at <= marked);
            let above = at + (at & at.wrapping_neg());
            if above <= places {
                tree.sums[above] += tree.sums[at];
            }
        }
        tree
    }

    fn has(&self, place: usize) -> bool {
        self.marks[place]
    }

    fn total(&self) -> u32 {
        self.total
    }

    /// Marks a place, or unmarks one that is marked.
    fn add(&mut self, place: usize, mark: bool) {
        self.marks[place] = mark;
        let by = if mark { 1 } else { u32::MAX };
        self.total = self.total.wrapping_add(by);
        let mut at = place + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    /// Marked places before this one.
    fn before(&self, place: usize) -> u32 {
        let (mut at, mut sum) = (place, 0_u32);
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// One pool, as a kernel would have it.
    struct Pool {
        slots: usize,
        /// The oldest first.
        copies: VecDeque<u32>,
    }

    impl Pool {
        fn push(&mut self, page: u32) {
            self.take(page);
            if self.copies.len() == self.slots {
                self.copies.pop_front();
            }
            self.copies.push_back(page);
        }

        fn take(&mut self, page: u32) -> bool {
            let found = self.copies.iter().position(|copy| *copy == page);
            found.map(|at| self.copies.remove(at)).is_some()
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push(u32),
        Take(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let page = 0..24_u32;
        let step = prop_oneof![
            3 => page.clone().prop_map(Step::Push),
            2 => page.prop_map(Step::Take),
        ];
        prop::collection::vec(step, 0..300)
    }

    proptest! {
        #[test]
        fn it_is_pools_of_all_sizes(steps in steps(), most in 1..20_u32) {
            let mut stack = Stack::new(most);
            let mut pools: Vec<Pool> =
                (1..=most as usize).map(|slots| Pool { slots, copies: VecDeque::new() }).collect();
            for step in steps {
                match step {
                    Step::Push(page) => {
                        stack.push(page);
                        pools.iter_mut().for_each(|pool| pool.push(page));
                    }
                    Step::Take(page) => {
                        let depth = stack.take(page);
                        for pool in &mut pools {
                            let expected = depth.is_some_and(|depth| depth as usize <= pool.slots);
                            prop_assert_eq!(pool.take(page), expected);
                        }
                    }
                }
                for pool in &pools {
                    let held = stack.copies().filter(|copy| copy.1 as usize <= pool.slots);
                    let held: Vec<u32> = held.map(|copy| copy.0).collect();
                    prop_assert_eq!(&held, &pool.copies.iter().rev().copied().collect::<Vec<_>>());
                }
                for page in 0..24 {
                    let smallest = pools.iter().position(|pool| pool.copies.contains(&page));
                    prop_assert_eq!(stack.depth(page), smallest.map(|at| at as u32 + 1));
                }
            }
        }
    }

    #[test]
    fn a_hole_is_filled_before_anything_is_recycled() {
        let mut stack = Stack::new(3);
        (0..3).for_each(|page| stack.push(page));
        assert_eq!(stack.take(1), Some(2));
        // A pool of one slot has recycled 2, one of two has not: 1 had freed a slot there.
        stack.push(3);
        assert_eq!([3, 2, 0].map(|page| stack.depth(page)), [Some(1), Some(2), Some(3)]);
        stack.push(4);
        assert_eq!(stack.depth(0), None, "deeper than any pool");
        assert_eq!(stack.take(0), None);
    }

    #[test]
    fn places_are_used_again() {
        let mut stack = Stack::new(4);
        for page in 0..10_000 {
            stack.push(page % 7);
            assert!(stack.pages.len() <= 16);
        }
        assert_eq!(stack.copies().count(), 4);
    }
}
