//! Packing pieces of code into pages that are loaded one by one: which pieces share a page decides
//! how often a page has to be loaded.
//!
//! - [`PageProblem`] says what there is: pieces, the direct control flow between them, what runs used.
//! - A [`Packing`] turns it into [`Pages`]; all are listed in [`packings`].
//! - [`Pages::places`] says where each piece then lies.

mod entry_points;
mod fill;
mod merge;
mod profiled;
mod recency;
mod search;
mod siblings;

pub use entry_points::EntryPoints;
pub use profiled::ProfileBased;
pub use recency::Recency;

use crate::Edge;
use crate::ids::PieceId;
use crate::placement::align_up;

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

/// A way to pack pieces into pages.
pub trait Packing {
    /// Its name, for a command line.
    fn name(&self) -> &'static str;
    /// What it does, in a line.
    fn description(&self) -> &'static str;
    /// Packs. Every piece that is not resident is in exactly one group, and no group is longer than
    /// a page unless its first piece alone is.
    fn pack(&self, problem: &PageProblem<'_>) -> Pages;
    /// Whether it packs differently for caches of other sizes.
    fn depends_on_frames(&self) -> bool {
        false
    }
}

/// All packings, ours first, for a cache of so many page frames.
pub fn packings(frames: usize) -> Vec<Box<dyn Packing>> {
    vec![
        Box::new(Recency { frames, ..Recency::default() }),
        Box::new(ProfileBased),
        Box::new(EntryPoints),
    ]
}

impl PageProblem<'_> {
    /// The coarsest alignment of all pieces, at most a page.
    fn coarsest(&self) -> u64 {
        let placed = self.pieces.iter().filter(|piece| !piece.resident);
        placed.map(|piece| piece.alignment).max().unwrap_or(1).clamp(1, self.page)
    }

    /// What each piece takes of the last page that it lies on, with its padding.
    fn occupancies(&self) -> Vec<Occupancy> {
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
struct Occupancy {
    /// Bytes of the last page.
    bytes: u64,
    /// Whether there are pages before that one.
    long: bool,
}

impl Occupancy {
    /// Both on one page; `None` where they do not fit.
    fn with(self, other: Occupancy, page: u64) -> Option<Occupancy> {
        let bytes = self.bytes.checked_add(other.bytes)?;
        let fits = bytes <= page && !(self.long && other.long);
        fits.then_some(Occupancy { bytes, long: self.long || other.long })
    }
}

impl Pages {
    /// Groups of pieces, each in the order in which they lie: a long one first, then by alignment,
    /// so that no padding is needed that was not counted, then as in the original program.
    fn new(problem: &PageProblem<'_>, groups: impl IntoIterator<Item = Vec<PieceId>>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use proptest::prelude::*;

    pub(super) fn piece(size: u64, position: u64) -> PagedPiece {
        PagedPiece { size, alignment: 1, position, resident: false, entry: false }
    }

    fn any_piece() -> impl Strategy<Value = PagedPiece> {
        (1u64..300, 0u32..6, 0u64..5000, 0u8..5, any::<bool>()).prop_map(
            |(size, alignment, position, resident, entry)| PagedPiece {
                size: if size > 280 { size * 3 } else { size },
                alignment: 1 << alignment,
                position,
                resident: resident == 0,
                entry,
            },
        )
    }

    /// What [`Packing::pack`] promises.
    fn check(problem: &PageProblem<'_>, pages: &Pages) -> Result<(), TestCaseError> {
        let mut seen = vec![0; problem.pieces.len()];
        for piece in pages.groups.iter().flatten() {
            seen[piece.index()] += 1;
        }
        for (piece, times) in problem.pieces.iter().zip(seen) {
            prop_assert_eq!(times, usize::from(!piece.resident));
        }
        let places = pages.places(problem);
        for group in &pages.groups {
            let place = |piece: &PieceId| places.offsets[piece.index()].unwrap();
            let end = |piece: &PieceId| place(piece) + problem.pieces[piece.index()].size;
            prop_assert_eq!(place(&group[0]) % problem.page, 0);
            for pair in group.windows(2) {
                prop_assert!(end(&pair[0]) <= place(&pair[1]));
            }
            for piece in group {
                let alignment = problem.pieces[piece.index()].alignment;
                prop_assert_eq!(place(piece) % alignment, 0);
            }
            // All but the first end on the page on which the first ends.
            let last = (end(&group[0]).max(1) - 1) / problem.page;
            for piece in &group[1..] {
                let size = problem.pieces[piece.index()].size;
                prop_assert!(size <= problem.page);
                prop_assert_eq!((end(piece) - 1) / problem.page, last);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_packing_places_every_piece_once_and_overfills_no_page(
            pieces in prop::collection::vec(any_piece(), 1..60),
            links in prop::collection::vec((any::<u16>(), any::<u16>(), 0u64..50), 0..150),
            picks in prop::collection::vec(any::<u16>(), 0..400),
            frames in 1usize..5,
        ) {
            let count = pieces.len();
            let edges: Vec<Edge> = links.into_iter().map(|(from, to, taken)| Edge {
                from: PieceId(u32::from(from) % count as u32),
                to: PieceId(u32::from(to) % count as u32),
                count: taken,
            }).collect();
            let references = [picks.into_iter().map(|pick| PieceId(u32::from(pick) % count as u32))
                .filter(|piece| !pieces[piece.index()].resident).collect::<Vec<_>>()];
            let problem =
                PageProblem { pieces: &pieces, edges: &edges, references: &references, page: 512 };
            for packing in packings(frames) {
                let pages = packing.pack(&problem);
                check(&problem, &pages)?;
                prop_assert_eq!(&pages, &packing.pack(&problem), "{}", packing.name());
            }
        }
    }

    #[test]
    fn nothing_to_place_makes_no_pages() {
        let resident = PagedPiece { resident: true, ..piece(10, 0) };
        let problem = PageProblem { pieces: &[resident], edges: &[], references: &[], page: 4096 };
        for packing in packings(16) {
            assert_eq!(packing.pack(&problem), Pages::default(), "{}", packing.name());
        }
        assert_eq!(Pages::default().places(&problem).pages, 0);
    }

    #[test]
    fn a_long_piece_shares_its_last_page() {
        let pieces = [piece(5000, 0), piece(3000, 1), piece(200, 2)];
        let problem = PageProblem { pieces: &pieces, edges: &[], references: &[], page: 4096 };
        let pages = Pages::new(&problem, [ids([1, 0]), ids([2])]);
        let places = pages.places(&problem);
        assert_eq!(places.offsets, [Some(0), Some(5000), Some(8192)]);
        assert_eq!(places.pages, 3);
    }
}
