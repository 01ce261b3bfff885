//! Filling pages: best fit, and the pass that is left for pages that nothing ties together.

use super::{PageProblem, Pages, Room};
use std::collections::BTreeSet;

/// Pages that began at most this far apart in the original program count as close: about the code
/// of one source file.
const CLOSE: u64 = 16 << 10;

/// Groups of pieces with the room that each takes.
pub(super) type Groups = Vec<(Room, Vec<u32>)>;

/// Puts each group, the largest first, where the least space is left that it fits in. Order within
/// equals is kept.
pub(super) fn best_fit(mut groups: Groups, page: u64) -> Groups {
    groups.retain(|(_, pieces)| !pieces.is_empty());
    groups.sort_by_key(|(room, pieces)| {
        (!room.long, std::cmp::Reverse(room.bytes), pieces.iter().min().copied())
    });
    let mut full: Groups = Vec::new();
    // Space left, place in `full`.
    let mut space: BTreeSet<(u64, usize)> = BTreeSet::new();
    for (room, pieces) in groups {
        // Long groups come first and never share a page.
        let fit = if room.long { None } else { space.range((room.bytes, 0)..).next().copied() };
        let place = match fit {
            Some((left, place)) => {
                space.remove(&(left, place));
                full[place].0.bytes += room.bytes;
                full[place].1.extend(pieces);
                place
            }
            None => {
                full.push((room, pieces));
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
pub(super) fn defragment(problem: &PageProblem<'_>, groups: Vec<Vec<u32>>) -> Pages {
    let rooms = problem.rooms();
    let sum = |pieces: &[u32]| {
        pieces.iter().fold(Room::default(), |sum, piece| {
            let room = rooms[*piece as usize];
            Room { bytes: sum.bytes + room.bytes, long: sum.long || room.long }
        })
    };
    let position = |pieces: &[u32]| {
        let positions = pieces.iter().map(|piece| problem.pieces[*piece as usize].position);
        positions.min().unwrap_or(0)
    };
    let (mut small, mut rest): (Groups, Groups) = groups
        .into_iter()
        .filter(|pieces| !pieces.is_empty())
        .map(|pieces| (sum(&pieces), pieces))
        .partition(|(room, _)| room.bytes * 2 <= problem.page && !room.long);
    small.sort_by_key(|(_, pieces)| (position(pieces), pieces.iter().min().copied()));
    let mut last_position = 0;
    let mut merged: Groups = Vec::new();
    for (room, pieces) in small {
        let here = position(&pieces);
        match merged.last_mut() {
            Some((before, all))
                if here.abs_diff(last_position) <= CLOSE
                    && before.with(room, problem.page).is_some() =>
            {
                before.bytes += room.bytes;
                all.extend(pieces);
            }
            _ => merged.push((room, pieces)),
        }
        last_position = here;
    }
    rest.extend(merged);
    let filled = best_fit(rest, problem.page);
    Pages::new(problem, filled.into_iter().map(|(_, pieces)| pieces))
}
