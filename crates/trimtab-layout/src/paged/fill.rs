//! Filling pages: best fit, and the pass that is left for pages that nothing ties together.

use super::pages::Pages;
use super::problem::{Occupancy, PageProblem};
use crate::PieceId;
use std::collections::BTreeSet;

/// Pages that began at most this far apart in the original program count as close: about the code
/// of one source file.
const CLOSE: u64 = 16 << 10;

/// Groups of pieces with the room that each takes.
pub(super) type Groups = Vec<(Occupancy, Vec<PieceId>)>;

/// Puts each group, the largest first, where the least space is left that it fits in. Order within
/// equals is kept.
pub(super) fn best_fit(mut groups: Groups, page: u64) -> Groups {
    groups.retain(|(_, pieces)| !pieces.is_empty());
    groups.sort_by_key(|(occupancy, pieces)| {
        (!occupancy.long, std::cmp::Reverse(occupancy.bytes), pieces.iter().min().copied())
    });
    let mut full: Groups = Vec::new();
    // Space left, place in `full`.
    let mut space: BTreeSet<(u64, usize)> = BTreeSet::new();
    for (occupancy, pieces) in groups {
        // Long groups come first and never share a page.
        let fit =
            if occupancy.long { None } else { space.range((occupancy.bytes, 0)..).next().copied() };
        let place = match fit {
            Some((left, place)) => {
                space.remove(&(left, place));
                full[place].0.bytes += occupancy.bytes;
                full[place].1.extend(pieces);
                place
            }
            None => {
                full.push((occupancy, pieces));
                full.len() - 1
            }
        };
        let left = page.saturating_sub(full[place].0.bytes);
        if left > 0 {
            space.insert((left, place));
        }
    }
    full
}

/// The fragmentation post-pass of the paper: small pages of code that lay close together in the
/// original program become one, then all that is left is packed by best fit. A page is small where
/// it is at most half full.
pub(super) fn defragment(problem: &PageProblem<'_>, groups: Vec<Vec<PieceId>>) -> Pages {
    let occupancies = problem.occupancies();
    let sum = |pieces: &[PieceId]| {
        pieces.iter().fold(Occupancy::default(), |sum, piece| {
            let occupancy = occupancies[piece.index()];
            Occupancy { bytes: sum.bytes + occupancy.bytes, long: sum.long || occupancy.long }
        })
    };
    let position = |pieces: &[PieceId]| {
        let positions = pieces.iter().map(|piece| problem.pieces[piece.index()].position);
        positions.min().unwrap_or(0)
    };
    let (mut small, mut rest): (Groups, Groups) = groups
        .into_iter()
        .filter(|pieces| !pieces.is_empty())
        .map(|pieces| (sum(&pieces), pieces))
        .partition(|(occupancy, _)| occupancy.bytes * 2 <= problem.page && !occupancy.long);
    small.sort_by_key(|(_, pieces)| (position(pieces), pieces.iter().min().copied()));
    let mut last_position = 0;
    let mut merged: Groups = Vec::new();
    for (occupancy, pieces) in small {
        let here = position(&pieces);
        match merged.last_mut() {
            Some((before, all))
                if here.abs_diff(last_position) <= CLOSE
                    && before.with(occupancy, problem.page).is_some() =>
            {
                before.bytes += occupancy.bytes;
                all.extend(pieces);
            }
            _ => merged.push((occupancy, pieces)),
        }
        last_position = here;
    }
    rest.extend(merged);
    let filled = best_fit(rest, problem.page);
    Pages::new(problem, filled.into_iter().map(|(_, pieces)| pieces))
}
