//! What a merge is worth, as a key that a heap can order.

use std::cmp::Ordering;

/// A number that is ordered totally; never NaN here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gain(pub f64);

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
