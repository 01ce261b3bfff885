//! The merges of two chains that may be made, the one that gains most first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A merge of two chains, and `How` it is made. Compares by its gain; of the same gain, the lower pair
/// is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Merge<How> {
    gain: Gain,
    pair: Reverse<(u32, u32)>,
    /// Of both chains when the gain was computed.
    versions: (u32, u32),
    pub how: How,
}

impl<How> Merge<How> {
    /// The two chains, as they were given.
    pub fn pair(&self) -> (u32, u32) {
        self.pair.0
    }
}

/// A priority queue of merges. What it holds of a chain is out of date once the chain has changed: that
/// is seen when a merge is taken, so that nothing has to be searched for and removed.
#[derive(Debug)]
pub(crate) struct MergeQueue<How> {
    heap: BinaryHeap<Merge<How>>,
    /// By chain; rises whenever the chain changes.
    versions: Vec<u32>,
}

impl<How: Ord> MergeQueue<How> {
    /// An empty queue for merges of so many chains.
    pub fn new(chains: usize) -> Self {
        MergeQueue { heap: BinaryHeap::new(), versions: vec![0; chains] }
    }

    /// Puts a merge of two chains, as they are now, on the queue.
    pub fn push(&mut self, pair: (u32, u32), gain: f64, how: How) {
        let versions = self.versions_of(pair);
        self.heap.push(Merge { gain: Gain(gain), pair: Reverse(pair), versions, how });
    }

    /// Takes the merge that gains most.
    pub fn pop(&mut self) -> Option<Merge<How>> {
        self.heap.pop()
    }

    /// Whether both chains of a merge are still what they were when its gain was computed.
    pub fn is_current(&self, merge: &Merge<How>) -> bool {
        merge.versions == self.versions_of(merge.pair())
    }

    /// Says that a chain has changed, or has become a part of another.
    pub fn changed(&mut self, chain: u32) {
        self.versions[chain as usize] += 1;
    }

    fn versions_of(&self, (a, b): (u32, u32)) -> (u32, u32) {
        (self.versions[a as usize], self.versions[b as usize])
    }
}

/// A number that is ordered totally; never NaN here.
#[derive(Debug, Clone, Copy)]
struct Gain(f64);

impl PartialEq for Gain {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Gain {}

impl PartialOrd for Gain {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Gain {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_gain_comes_first_and_of_equals_the_lowest_pair() {
        let mut queue = MergeQueue::new(4);
        queue.push((1, 2), 5.0, "a");
        queue.push((0, 3), 5.0, "b");
        queue.push((2, 3), 7.0, "c");
        let order = std::iter::from_fn(|| queue.pop()).map(|merge| merge.how);
        assert_eq!(order.collect::<Vec<_>>(), ["c", "b", "a"]);
    }

    #[test]
    fn a_merge_is_out_of_date_once_either_chain_has_changed() {
        let mut queue = MergeQueue::new(3);
        queue.push((0, 1), 3.0, ());
        queue.push((1, 2), 2.0, ());
        queue.changed(0);
        let first = queue.pop().unwrap();
        assert_eq!((first.pair(), queue.is_current(&first)), ((0, 1), false));
        let second = queue.pop().unwrap();
        assert_eq!((second.pair(), queue.is_current(&second)), ((1, 2), true));
    }
}
