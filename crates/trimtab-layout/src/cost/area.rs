//! The area under the page-fault curve as LLVM counts it.

use crate::PieceId;

/// Functions that are taken to fill a page where sizes are not known.
pub const FUNCTIONS_PER_PAGE: usize = 32;

/// The area under the page-fault curve as `llvm-profdata order` counts it, so that numbers compare:
/// each 32 functions of `listed` make a page, whatever their sizes. The curve has a point for each
/// function of `run` that is listed, in the order of first execution; functions that are not
/// listed are passed over.
///
/// Source: LLVM's `llvm-profdata`, `order --num-test-traces`.
pub fn function_area(listed: &[PieceId], run: &[PieceId]) -> u64 {
    let most = listed.iter().max().map_or(0, |most| most.index() + 1);
    let mut page_of = vec![u32::MAX; most];
    for (place, piece) in listed.iter().enumerate() {
        page_of[piece.index()] = (place / FUNCTIONS_PER_PAGE) as u32;
    }
    let mut touched = vec![false; listed.len().div_ceil(FUNCTIONS_PER_PAGE)];
    let (mut pages, mut area) = (0, 0);
    for piece in run {
        let page = page_of.get(piece.index()).copied().unwrap_or(u32::MAX);
        let Some(touched) = touched.get_mut(page as usize) else { continue };
        pages += u64::from(!std::mem::replace(touched, true));
        area += pages;
    }
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_functions_make_a_page() {
        let listed: Vec<PieceId> = PieceId::all(70).collect();
        assert_eq!(
            function_area(&listed, &[0, 31, 32, 1, 69, 1000].map(PieceId)),
            1 + 1 + 2 + 2 + 3
        );
        assert_eq!(function_area(&[], &[PieceId(0)]), 0);
    }
}
