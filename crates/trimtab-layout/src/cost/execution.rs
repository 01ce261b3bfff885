//! What ran, in terms of pieces, so that it can be replayed in any placement.

use crate::ids::SpotId;
use crate::{PieceId, Placement};
use trimtab_program::Range;

/// A run of bytes that executes: within a piece, or outside of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// The piece that it moves with; `None` where it stays.
    pub piece: Option<PieceId>,
    /// Offset in the piece; the address where there is none.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Spot {
    fn range(&self, placement: &Placement) -> Range {
        let base = self.piece.map_or(0, |piece| placement.address(piece));
        Range::with_length(base.saturating_add(self.start), self.length)
    }
}

/// What a run executes, in terms of pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Execution {
    /// All that runs, each once, in the order of first execution.
    pub spots: Vec<Spot>,
    /// Every execution; `None` where only first executions are known.
    pub order: Option<Vec<SpotId>>,
}

impl Execution {
    /// The addresses of what runs for the first time.
    pub fn first_executions<'a>(
        &'a self,
        placement: &'a Placement,
    ) -> impl Iterator<Item = Range> + 'a {
        self.spots.iter().map(|spot| spot.range(placement))
    }

    /// The addresses of all that runs, each time; of first executions where no more is known.
    pub fn addresses<'a>(&'a self, placement: &'a Placement) -> impl Iterator<Item = Range> + 'a {
        let all = self.order.as_deref();
        let count = all.map_or(self.spots.len(), <[SpotId]>::len);
        (0..count)
            .filter_map(move |index| self.spots.get(all.map_or(index, |all| all[index].index())))
            .map(|spot| spot.range(placement))
    }
}
