//! Where pieces come to lie when a linker places them one behind the other.

use crate::{Order, Piece, PieceId, Problem};
use trimtab_program::Range;

/// Where each piece lies when a linker places them one behind the other in some order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// By piece.
    addresses: Vec<u64>,
    end: u64,
}

/// `address`, or the next that is a multiple of `alignment` (a power of two; 0 counts as 1).
pub(crate) fn align_up(address: u64, alignment: u64) -> u64 {
    let mask = alignment.max(1) - 1;
    // Behind the last such address there is only the end.
    address.checked_add(mask).map_or(u64::MAX, |address| address & !mask)
}

impl Placement {
    /// Places the pieces of `problem` in `order`, from its start address on.
    pub fn new(problem: &Problem<'_>, order: &Order) -> Self {
        Self::with_gaps(problem, order, |_| 0)
    }

    /// The same, with as many bytes left free behind each piece as `behind` says.
    pub fn with_gaps(
        problem: &Problem<'_>,
        order: &Order,
        behind: impl Fn(PieceId) -> u64,
    ) -> Self {
        let mut addresses = vec![0; problem.pieces.len()];
        let mut cursor = problem.start;
        for &index in order.pieces() {
            let piece: &Piece = &problem.pieces[index.index()];
            cursor = align_up(cursor, piece.alignment);
            addresses[index.index()] = cursor;
            cursor = cursor.saturating_add(piece.size).saturating_add(behind(index));
        }
        Placement { addresses, end: cursor }
    }

    /// The placement of pieces that lie at `ranges`, in the order of the pieces.
    pub fn of(ranges: impl IntoIterator<Item = Range>) -> Self {
        let ranges: Vec<Range> = ranges.into_iter().collect();
        Placement {
            end: ranges.iter().map(|range| range.end).max().unwrap_or(0),
            addresses: ranges.into_iter().map(|range| range.start).collect(),
        }
    }

    /// How many pieces lie where `order`, which was placed, has them in a linked file, for which
    /// `actual` gives their addresses: those listed at the very same address, the others behind
    /// them and in today's order. Of the others no more can be said: between them a linker aligns
    /// empty input sections, which are no pieces.
    pub fn honoured(&self, order: &Order, actual: impl Fn(PieceId) -> Option<u64>) -> usize {
        let listed = order.listed();
        let exact = listed.iter().filter(|piece| actual(**piece) == Some(self.address(**piece)));
        let mut last = listed.last().map(|piece| self.address(*piece));
        let behind = order.pieces()[listed.len()..].iter().filter(|piece| {
            let address = actual(**piece);
            let in_order = address > last;
            if in_order {
                last = address;
            }
            in_order
        });
        exact.count() + behind.count()
    }

    /// Address of a piece.
    pub fn address(&self, piece: PieceId) -> u64 {
        self.addresses[piece.index()]
    }

    /// Address behind the last piece.
    pub fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_linker_did_is_compared_with_the_order() {
        let pieces = vec![Piece { size: 10, alignment: 1, executed: Vec::new() }; 5];
        let problem = Problem { pieces: &pieces, runs: &[], start: 100, flow: None };
        let order = Order::leading([3, 1].map(PieceId), 5);
        let placement = Placement::new(&problem, &order);
        let honoured = |addresses: [u64; 5]| {
            placement.honoured(&order, |piece| {
                Some(addresses[piece.index()]).filter(|address| *address != 0)
            })
        };
        assert_eq!(honoured([120, 110, 130, 100, 140]), 5);
        // Empty sections with an alignment lie between those that are not listed.
        assert_eq!(honoured([120, 110, 132, 100, 144]), 5);
        assert_eq!(honoured([120, 112, 132, 100, 144]), 4, "1 is not where it was listed");
        assert_eq!(honoured([120, 110, 144, 100, 132]), 4, "4 is before 2");
        assert_eq!(honoured([90, 110, 130, 100, 140]), 4, "0 is before what is listed");
        assert_eq!(honoured([120, 110, 0, 0, 140]), 3, "2 and 3 are not there");
    }

    #[test]
    fn gaps_move_what_is_behind_them() {
        let pieces = vec![Piece { size: 10, alignment: 4, executed: Vec::new() }; 3];
        let problem = Problem { pieces: &pieces, runs: &[], start: 100, flow: None };
        let order = Order::leading([PieceId(2)], 3);
        let gap = |piece| if piece == PieceId(2) { 8 } else { 0 };
        let placement = Placement::with_gaps(&problem, &order, gap);
        assert_eq!([2, 0, 1].map(|piece| placement.address(PieceId(piece))), [100, 120, 132]);
        assert_eq!(placement.end(), 142);
        let without = Placement::new(&problem, &order);
        assert_eq!([2, 0, 1].map(|piece| without.address(PieceId(piece))), [100, 112, 124]);
    }
}
