//! Which pieces share a page, and where each then lies.

use super::problem::PageProblem;
use crate::PieceId;
use crate::placement::align_up;

/// Which pieces share a page. A piece that is longer than a page begins on a page of its own, and
/// others may follow it on its last one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pages {
    /// The pieces of each page or, behind a long piece, of its last page, in their order.
    pub groups: Vec<Vec<PieceId>>,
}

/// Where a piece lies, behind the start of the first page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Offset of each piece in bytes; `None` for those that are resident.
    pub offsets: Vec<Option<u64>>,
    /// Pages in all.
    pub pages: u64,
}

impl Pages {
    /// Groups of pieces, each in the order in which they lie: a long one first, then by alignment,
    /// so that no padding is needed that was not counted, then as in the original program.
    pub(super) fn new(
        problem: &PageProblem<'_>,
        groups: impl IntoIterator<Item = Vec<PieceId>>,
    ) -> Self {
        let occupancies = problem.occupancies();
        let mut groups: Vec<Vec<PieceId>> =
            groups.into_iter().filter(|group| !group.is_empty()).collect();
        for group in &mut groups {
            group.sort_by_key(|piece| {
                let found = &problem.pieces[piece.index()];
                let long = occupancies[piece.index()].long;
                (!long, std::cmp::Reverse(found.alignment), found.position, *piece)
            });
        }
        Pages { groups }
    }

    /// Where each piece lies: each group from the start of a page on.
    pub fn places(&self, problem: &PageProblem<'_>) -> Places {
        let mut offsets = vec![None; problem.pieces.len()];
        let coarsest = problem.coarsest();
        let mut pages = 0;
        for group in &self.groups {
            let start = pages * problem.page;
            let mut at = start;
            for piece in group {
                let found = &problem.pieces[piece.index()];
                at = align_up(at, found.alignment.clamp(1, problem.page));
                offsets[piece.index()] = Some(at);
                let size = align_up(found.size.max(1), found.alignment);
                at += if size > problem.page { align_up(size, coarsest) } else { size };
            }
            pages += (at - start).div_ceil(problem.page);
        }
        Places { offsets, pages }
    }
}
