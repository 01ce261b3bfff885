//! What an algorithm is asked to order.

use crate::{Flow, Order, PieceId};

/// A run of bytes within a piece: offsets `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First offset.
    pub start: u64,
    /// First offset after it.
    pub end: u64,
}

/// A piece of code that is moved as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// Length in bytes.
    pub size: u64,
    /// Alignment in bytes: a power of two.
    pub alignment: u64,
    /// Which of its bytes ran, in any of the runs: ascending, disjoint; empty where none did.
    pub executed: Vec<Span>,
}

impl Piece {
    /// Length up to and with the last byte that ran; 0 where none did.
    pub fn executed_end(&self) -> u64 {
        self.executed.last().map_or(0, |span| span.end)
    }
}

/// What an algorithm is asked to order.
#[derive(Debug, Clone, Default)]
pub struct Problem<'a> {
    /// All movable pieces, in the order in which the linker places them today; a [`PieceId`] is an
    /// index of this.
    pub pieces: &'a [Piece],
    /// The runs: for each the pieces that it executed, in the order of first execution, each once. The first run is the one to make fast; the others say what else can
    /// be expected to run.
    pub runs: &'a [Vec<PieceId>],
    /// Address at which the first piece will be placed, where it is known; else 0.
    pub start: u64,
    /// How control moved between the pieces, where more is known of it than the runs say.
    pub flow: Option<&'a Flow>,
}

impl Problem<'_> {
    /// All pieces that ran, as they ran first: those of the first run, then [`Self::further`].
    pub(crate) fn executed(&self) -> Vec<PieceId> {
        let first = self.runs.first().into_iter().flatten().copied();
        Order::leading(first.chain(self.further()), self.pieces.len()).listed().to_vec()
    }

    /// What only runs after the first executed: first what most of them executed, since another run
    /// will likely do so too, and among those in the order of the runs and of first execution.
    pub(crate) fn further(&self) -> Vec<PieceId> {
        let mut runs = vec![0u32; self.pieces.len()];
        for piece in self.runs.iter().flatten() {
            if let Some(runs) = runs.get_mut(piece.index()) {
                *runs += 1;
            }
        }
        for piece in self.runs.first().into_iter().flatten() {
            if let Some(runs) = runs.get_mut(piece.index()) {
                *runs = 0;
            }
        }
        let mut further = Vec::new();
        for piece in self.runs.iter().flatten() {
            if let Some(count) = runs.get_mut(piece.index())
                && *count > 0
            {
                further.push((std::mem::take(count), *piece));
            }
        }
        further.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        further.into_iter().map(|(_, piece)| piece).collect()
    }
}
