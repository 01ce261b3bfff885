//! The result of an algorithm: a permutation of pieces.

use crate::PieceId;

/// A permutation of the pieces of a [`Problem`](crate::Problem).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pieces: Vec<PieceId>,
    listed: usize,
}

impl Order {
    /// The order that begins with `leading` and goes on with all other pieces, of `count` in all,
    /// as they are today. Ids that are out of range or come again are passed over.
    pub fn leading(leading: impl IntoIterator<Item = PieceId>, count: usize) -> Self {
        let mut placed = vec![false; count];
        let mut pieces = Vec::with_capacity(count);
        for piece in leading {
            if let Some(placed) = placed.get_mut(piece.index())
                && !std::mem::replace(placed, true)
            {
                pieces.push(piece);
            }
        }
        let listed = pieces.len();
        pieces.extend(PieceId::all(count).filter(|piece| !placed[piece.index()]));
        Order { pieces, listed }
    }

    /// All pieces, first to last.
    pub fn pieces(&self) -> &[PieceId] {
        &self.pieces
    }

    /// The leading pieces that a linker's order has to list; the rest follow in their present order.
    pub fn listed(&self) -> &[PieceId] {
        &self.pieces[..self.listed]
    }
}
