//! From a program and its profiles to the problem of laying out its movable fragments.

use crate::cost::{Execution, Spot, SpotId};
use crate::problem::{Piece, Problem, Span};
use crate::{Flow, PieceId, Placement};
use std::collections::HashMap;
use trimtab_profile::{Profile, Stream};
use trimtab_program::{Fragment, FragmentId, Fragments, FunctionId, Range, RangeSet};

/// The movable fragments of a program as a [`Problem`]: which piece is which fragment, and what
/// ran in each.
#[derive(Debug, Clone)]
pub struct Movable {
    /// The fragment of each piece.
    fragments: Vec<FragmentId>,
    pieces: Vec<Piece>,
    runs: Vec<Vec<PieceId>>,
    flow: Flow,
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
            piece_of.insert(id, PieceId::at(ids.len()));
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
        let sequences: Vec<Vec<PieceId>> = profiles
            .iter()
            .map(|profile| {
                fragments_of(profile.blocks(), fragments)
                    .filter_map(|id| piece_of.get(&id).copied())
                    .collect()
            })
            .collect();
        let runs = sequences.iter().map(|run| first_of_each(run, ids.len())).collect();
        let counts = entered(fragments, &ids, profiles);
        let flow = Flow::approximated(sequences, counts);
        let start = if ids.is_empty() { 0 } else { start };
        Movable { fragments: ids, pieces, runs, flow, start }
    }

    /// Takes the flow of control from full streams, in place of the one that was approximated from
    /// first executions. `fragments` are those it was made from. Returns are transitions as well.
    pub fn observe(&mut self, fragments: &Fragments<'_>, streams: &[Stream<'_>]) {
        let piece_of = self.piece_of(fragments);
        let sequences = streams
            .iter()
            .map(|stream| {
                let pieces: Vec<Option<PieceId>> = stream
                    .blocks()
                    .iter()
                    .map(|block| fragments.at(block.start).and_then(|id| piece_of[id.index()]))
                    .collect();
                let mut sequence: Vec<PieceId> =
                    stream.executions().filter_map(|block| pieces[block as usize]).collect();
                sequence.dedup();
                sequence
            })
            .collect();
        self.flow = Flow::observed(sequences, self.pieces.len());
    }

    /// The problem that an algorithm solves.
    pub fn problem(&self) -> Problem<'_> {
        Problem {
            pieces: &self.pieces,
            runs: &self.runs,
            start: self.start,
            flow: Some(&self.flow),
        }
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
            new_start[id.index()] = Some(placement.address(PieceId::at(piece)));
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

    /// The pieces that `profile` executed, in the order of first execution. `fragments` are those it
    /// was made from.
    pub fn run(&self, fragments: &Fragments<'_>, profile: &Profile) -> Vec<PieceId> {
        let piece_of = self.piece_of(fragments);
        let all = fragments_of(profile.blocks(), fragments);
        let pieces: Vec<PieceId> = all.filter_map(|id| piece_of[id.index()]).collect();
        first_of_each(&pieces, self.fragments.len())
    }

    /// Where the pieces lie now.
    pub fn today(&self, fragments: &Fragments<'_>) -> Placement {
        Placement::of(self.fragments.iter().map(|id| fragments.get(*id).range))
    }

    fn piece_of(&self, fragments: &Fragments<'_>) -> Vec<Option<PieceId>> {
        let mut piece_of = vec![None; fragments.as_slice().len()];
        for (piece, id) in self.fragments.iter().enumerate() {
            piece_of[id.index()] = Some(PieceId::at(piece));
        }
        piece_of
    }

    /// As [`Self::execution`], of a stream, with every execution.
    pub fn streamed(
        &self,
        fragments: &Fragments<'_>,
        section: Range,
        stream: &Stream<'_>,
    ) -> Execution {
        let piece_of = self.piece_of(fragments);
        let mut spots = Vec::new();
        // Of each block its first spot and how many it has.
        let mut own = Vec::with_capacity(stream.blocks().len());
        for block in stream.blocks() {
            let range = Range::with_length(block.start, block.length.into());
            let first = spots.len();
            locate(fragments, &piece_of, range.intersection(section), &mut spots);
            own.push((first as u32, (spots.len() - first) as u32));
        }
        let order = stream
            .executions()
            .flat_map(|block| {
                let (first, count) = own[block as usize];
                (first..first + count).map(SpotId)
            })
            .collect();
        Execution { spots, order: Some(order) }
    }

    /// What `blocks` execute in terms of pieces: those that lie within `section`, each block's part
    /// of a piece a spot of its own. `fragments` are those it was made from.
    pub fn execution(
        &self,
        fragments: &Fragments<'_>,
        section: Range,
        blocks: impl IntoIterator<Item = Range>,
    ) -> Execution {
        let piece_of = self.piece_of(fragments);
        let mut spots = Vec::new();
        for block in blocks {
            locate(fragments, &piece_of, block.intersection(section), &mut spots);
        }
        Execution { spots, order: None }
    }

    /// The fragment that a piece stands for.
    pub fn fragment(&self, piece: PieceId) -> FragmentId {
        self.fragments[piece.index()]
    }
}

/// Adds the parts of `block`, each within one fragment or between two.
fn locate(
    fragments: &Fragments<'_>,
    piece_of: &[Option<PieceId>],
    block: Range,
    spots: &mut Vec<Spot>,
) {
    let mut at = block.start;
    while at < block.end {
        let holder = fragments.at(at);
        let range = holder.map(|id| fragments.get(id).range);
        let end = match range {
            Some(range) => range.end,
            None => next_start(fragments, at).unwrap_or(block.end),
        };
        let end = end.min(block.end);
        let piece = holder.and_then(|id| piece_of[id.index()]);
        let base = match (piece, range) {
            (Some(_), Some(range)) => range.start,
            _ => 0,
        };
        spots.push(Spot { piece, start: at - base, length: end - at });
        at = end;
    }
}

/// Where the first fragment behind `address` starts.
fn next_start(fragments: &Fragments<'_>, address: u64) -> Option<u64> {
    let all = fragments.as_slice();
    let next = all.partition_point(|fragment| fragment.range.start <= address);
    all.get(next).map(|fragment| fragment.range.start)
}

/// A sequence without what is in it already.
fn first_of_each(sequence: &[PieceId], count: usize) -> Vec<PieceId> {
    let mut seen = vec![false; count];
    let first = |piece: &&PieceId| !std::mem::replace(&mut seen[piece.index()], true);
    sequence.iter().filter(first).copied().collect()
}

/// How often the functions of each fragment were entered, in all profiles.
fn entered(fragments: &Fragments<'_>, ids: &[FragmentId], profiles: &[Profile]) -> Vec<u64> {
    let mut counts: HashMap<FunctionId, u64> = HashMap::new();
    for executed in profiles.iter().flat_map(Profile::functions) {
        let count = counts.entry(executed.function).or_default();
        *count = count.saturating_add(executed.count);
    }
    ids.iter()
        .map(|id| {
            let functions = fragments.get(*id).functions();
            functions
                .filter_map(|function| counts.get(&function))
                .fold(0, |all: u64, one| all.saturating_add(*one))
        })
        .collect()
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
