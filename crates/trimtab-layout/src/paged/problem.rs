//! What is to be packed into pages, and what each piece takes of one.

use crate::placement::align_up;
use crate::{Edge, PieceId};

/// A piece of code that may have to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PagedPiece {
    /// Length in bytes.
    pub size: u64,
    /// Alignment in bytes that it needs: a power of two, at most a page.
    pub alignment: u64,
    /// Where it lay in the original program: pieces close to each other are likely to be related.
    pub position: u64,
    /// It is always in memory and is not placed. It still ties the pieces that it leads to.
    pub resident: bool,
    /// Control can enter it from code that is always in memory, or nobody knows from where.
    pub entry: bool,
}

/// What is to be packed into pages.
#[derive(Debug, Clone, Copy)]
pub struct PageProblem<'a> {
    /// All pieces.
    pub pieces: &'a [PagedPiece],
    /// Direct control flow from piece to piece, one for each call, jump or fall-through, with how
    /// often it was taken.
    pub edges: &'a [Edge],
    /// For each run the pieces that are not resident in the order in which control entered them.
    pub references: &'a [Vec<PieceId>],
    /// Bytes of a page; at least 1.
    pub page: u64,
}

impl PageProblem<'_> {
    /// The coarsest alignment of all pieces, at most a page.
    pub(super) fn coarsest(&self) -> u64 {
        let placed = self.pieces.iter().filter(|piece| !piece.resident);
        placed.map(|piece| piece.alignment).max().unwrap_or(1).clamp(1, self.page)
    }

    /// What each piece takes of the last page that it lies on, with its padding.
    pub(super) fn occupancies(&self) -> Vec<Occupancy> {
        let coarsest = self.coarsest();
        let occupancy = |piece: &PagedPiece| {
            if piece.resident {
                return Occupancy::default();
            }
            let size = align_up(piece.size.max(1), piece.alignment);
            if size <= self.page {
                return Occupancy { bytes: size, long: false };
            }
            // Behind it any piece can come, so that it has to end as aligned as any may need.
            Occupancy { bytes: (align_up(size, coarsest) - 1) % self.page + 1, long: true }
        };
        self.pieces.iter().map(occupancy).collect()
    }
}

/// What a piece or group takes of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Occupancy {
    /// Bytes of the last page.
    pub bytes: u64,
    /// Whether there are pages before that one.
    pub long: bool,
}

impl Occupancy {
    /// Both on one page; `None` where they do not fit.
    pub fn with(self, other: Occupancy, page: u64) -> Option<Occupancy> {
        let bytes = self.bytes.checked_add(other.bytes)?;
        let fits = bytes <= page && !(self.long && other.long);
        fits.then_some(Occupancy { bytes, long: self.long || other.long })
    }
}
