//! Points at random.

use rand::rngs::ChaCha8Rng;

use super::{Outcome, Search, anywhere, random};
use crate::space::{Point, Space};

/// Names points at random: for each choice nothing or one of its options, each as likely.
#[derive(Debug)]
pub struct Random {
    space: Space,
    random: ChaCha8Rng,
}

impl Random {
    /// Begins.
    pub fn new(space: Space, seed: u64) -> Self {
        Self { space, random: random(seed) }
    }
}

impl Search for Random {
    fn ask(&mut self, most: usize) -> Vec<Point> {
        (0..most).map(|_| anywhere(&self.space, &mut self.random)).collect()
    }

    fn tell(&mut self, _point: &Point, _outcome: &Outcome) {}
}
