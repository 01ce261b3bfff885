//! Pieces in a random order.

use super::interface::Algorithm;
use crate::named::HasName;
use crate::{Order, PieceId, Problem};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// All pieces in a random order: the baseline that shows how much of an effect is mere luck.
#[derive(Debug, Clone, Copy)]
pub struct Shuffle {
    /// Seed of the generator; the same seed gives the same order.
    pub seed: u64,
}

impl HasName for Shuffle {
    fn name(&self) -> &'static str {
        "shuffled"
    }

    fn description(&self) -> &'static str {
        "all pieces at random (ChaCha8, Fisher-Yates)"
    }
}

impl Algorithm for Shuffle {
    fn order(&self, problem: &Problem<'_>) -> Order {
        let mut pieces: Vec<PieceId> = PieceId::all(problem.pieces.len()).collect();
        pieces.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        Order::leading(pieces, problem.pieces.len())
    }
}
