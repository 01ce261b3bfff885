use crate::{Order, Piece, Problem};

/// Where each piece lies when a linker places them one behind the other in some order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
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
        let mut addresses = vec![0; problem.pieces.len()];
        let mut cursor = problem.start;
        for &index in order.pieces() {
            let piece: &Piece = &problem.pieces[index as usize];
            cursor = align_up(cursor, piece.alignment);
            addresses[index as usize] = cursor;
            cursor = cursor.saturating_add(piece.size);
        }
        Placement { addresses, end: cursor }
    }

    /// Address of the piece with this index.
    pub fn address(&self, piece: u32) -> u64 {
        self.addresses[piece as usize]
    }

    /// Address behind the last piece.
    pub fn end(&self) -> u64 {
        self.end
    }
}
