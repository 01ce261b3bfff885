use crate::Placement;
use crate::problem::{Piece, Problem, Span};
use std::collections::HashMap;
use trimtab_profile::Profile;
use trimtab_program::{Fragment, FragmentId, Fragments, Range, RangeSet};

/// The movable fragments of a program as a [`Problem`]: which piece is which fragment, and what
/// ran in each.
#[derive(Debug, Clone)]
pub struct Movable {
    fragments: Vec<FragmentId>,
    pieces: Vec<Piece>,
    runs: Vec<Vec<u32>>,
    start: u64,
}

impl Movable {
    /// Takes the fragments for which `movable` holds, and says of each what the `profiles`
    /// executed: the first profile is the run to make fast.
    pub fn new(
        fragments: &Fragments<'_>,
        profiles: &[Profile],
        movable: impl Fn(&Fragment<'_>) -> bool,
    ) -> Self {
        let executed =
            profiles.iter().fold(RangeSet::default(), |all, profile| all.union(profile.executed()));
        let mut ids = Vec::new();
        let mut pieces = Vec::new();
        let mut piece_of = HashMap::new();
        let mut start = u64::MAX;
        for id in fragments.ids() {
            let fragment = fragments.get(id);
            if !movable(fragment) {
                continue;
            }
            let base = fragment.range.start;
            start = start.min(base);
            piece_of.insert(id, ids.len() as u32);
            ids.push(id);
            pieces.push(Piece {
                size: fragment.range.length(),
                alignment: fragment.alignment,
                executed: executed
                    .within(fragment.range)
                    .map(|range| Span { start: range.start - base, end: range.end - base })
                    .collect(),
            });
        }
        let runs = profiles
            .iter()
            .map(|profile| {
                let mut seen = vec![false; ids.len()];
                fragments_of(profile.blocks(), fragments)
                    .filter_map(|id| piece_of.get(&id).copied())
                    .filter(|piece| !std::mem::replace(&mut seen[*piece as usize], true))
                    .collect()
            })
            .collect();
        let start = if ids.is_empty() { 0 } else { start };
        Movable { fragments: ids, pieces, runs, start }
    }

    /// The problem that an algorithm solves.
    pub fn problem(&self) -> Problem<'_> {
        Problem { pieces: &self.pieces, runs: &self.runs, start: self.start }
    }

    /// Where the `executed` bytes come to lie when each piece is at its address in `placement`: the
    /// bytes of a piece move with it, all others stay. `fragments` are those it was made from.
    pub fn moved(
        &self,
        fragments: &Fragments<'_>,
        placement: &Placement,
        executed: &RangeSet,
    ) -> RangeSet {
        let mut new_start = vec![None; fragments.as_slice().len()];
        for (piece, id) in self.fragments.iter().enumerate() {
            new_start[id.index()] = Some(placement.address(piece as u32));
        }
        let mut moved = Vec::new();
        let mut next = fragments.ids().peekable();
        for range in executed.as_slice() {
            let mut at = range.start;
            while at < range.end {
                while next.next_if(|id| fragments.get(*id).range.end <= at).is_some() {}
                // Up to the next fragment, or to the end of the one that holds `at`.
                let (end, base) = match next.peek().map(|id| (*id, fragments.get(*id).range)) {
                    None => (range.end, None),
                    Some((_, fragment)) if fragment.start > at => (fragment.start, None),
                    Some((id, fragment)) => {
                        let base = new_start[id.index()].map(|start| (start, fragment.start));
                        (fragment.end, base)
                    }
                };
                let end = end.min(range.end);
                let start = base.map_or(at, |(new, old)| new.saturating_add(at - old));
                moved.push(Range::with_length(start, end - at));
                at = end;
            }
        }
        RangeSet::new(moved)
    }

    /// The fragment that a piece stands for.
    pub fn fragment(&self, piece: u32) -> FragmentId {
        self.fragments[piece as usize]
    }
}

/// The fragments that blocks lie in, in the order of the blocks.
fn fragments_of<'a>(
    blocks: &'a [Range],
    fragments: &'a Fragments<'_>,
) -> impl Iterator<Item = FragmentId> + 'a {
    blocks.iter().flat_map(move |block| {
        let mut address = block.start;
        std::iter::from_fn(move || {
            // A block can run from one fragment into the next.
            let id = (address < block.end).then(|| fragments.at(address)).flatten()?;
            address = fragments.get(id).range.end;
            Some(id)
        })
    })
}
