//! Packing pieces of code into pages that are loaded one by one: which pieces share a page decides
//! how often a page has to be loaded.
//!
//! - [`PageProblem`] says what there is: pieces, the direct control flow between them, what runs used.
//! - A [`Packing`] turns it into [`Pages`]; all are listed in [`packings`].
//! - [`Pages::places`] says where each piece then lies.

mod entry_points;
mod fill;
mod merge;
mod packing;
mod pages;
mod problem;
mod profiled;
mod reach;
mod recency;
mod reduced_trace;
mod search;
mod siblings;

pub use entry_points::EntryPoints;
pub use packing::Packing;
pub use pages::{Pages, Places};
pub use problem::{PageProblem, PagedPiece};
pub use profiled::ProfileBased;
pub use recency::Recency;

/// All packings, ours first, for a cache of so many page frames.
pub fn packings(frames: usize) -> Vec<Box<dyn Packing>> {
    vec![
        Box::new(Recency { frames, ..Recency::default() }),
        Box::new(ProfileBased),
        Box::new(EntryPoints),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use crate::{Edge, PieceId};
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
