//! What a placement is made from: units as pieces, and the direct control flow between them.

use crate::code::{BlockId, Code, Reference};
use crate::heat::Heat;
use crate::units::{Class, Unit, Units};
use rustc_hash::FxHashSet;
use trimtab_layout::paged::PagedPiece;
use trimtab_layout::{Edge, PieceId};
use trimtab_program::references::Target;

/// The units as pieces to be placed, in the same order: all but the swappable ones are resident. What has its address
/// taken can be entered from anywhere.
pub fn pieces(code: &Code<'_>, units: &Units) -> Vec<PagedPiece> {
    let mut taken: FxHashSet<PieceId> = FxHashSet::default();
    for reference in code.references() {
        if let Target::Address(at) = reference.target
            && code.entry(at).is_some()
        {
            taken.extend(units.at(at));
        }
    }
    for address in pointers_in_data(code) {
        taken.extend(units.at(address));
    }
    let piece = |(index, unit): (usize, &Unit)| PagedPiece {
        size: unit.size,
        alignment: unit.alignment,
        position: unit.position,
        resident: unit.class != Class::Swappable,
        entry: taken.contains(&PieceId::at(index)),
    };
    units.as_slice().iter().enumerate().map(piece).collect()
}

/// Entries of functions whose addresses the kernel's data holds.
fn pointers_in_data(code: &Code<'_>) -> Vec<u64> {
    let program = code.program();
    let mut found = Vec::new();
    for segment in program.segments() {
        let stored = segment.range.length().min(segment.file.length());
        let range = trimtab_program::Range::with_length(segment.range.start, stored);
        let words = program.bytes(range).unwrap_or_default().chunks_exact(8);
        found.extend(words.filter_map(|word| {
            let address = u64::from_le_bytes(*word.first_chunk()?);
            code.entry(address).map(|_| address)
        }));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The direct control flow between units: one edge for each call, jump or fall-through from one to
/// another, with how often it was taken.
///
/// How often is estimated from the blocks, as in Chanet et al., section 3.2: no flow is larger than
/// the count of the block that it leaves or of that which it enters.
pub fn links(code: &Code<'_>, units: &Units, heat: &Heat) -> Vec<Edge> {
    let blocks = code.blocks();
    let unit_of: Vec<Option<PieceId>> =
        blocks.iter().map(|block| units.at(block.range.start)).collect();
    let mut edges = Vec::new();
    let mut link = |from: BlockId, to: BlockId| {
        if let (Some(a), Some(b)) = (unit_of[from.index()], unit_of[to.index()])
            && a != b
        {
            edges.push(Edge { from: a, to: b, count: heat.count(from).min(heat.count(to)) });
        }
    };
    for Reference { block, target } in code.references().iter().copied() {
        if let Target::Call(to) | Target::Jump(to) = target
            && let Some(to) = code.block_at(to)
        {
            link(block, to);
        }
    }
    for (index, block) in blocks.iter().enumerate() {
        let next = blocks.get(index + 1);
        if block.falls_through && next.is_some_and(|next| next.range.start == block.range.end) {
            link(BlockId::at(index), BlockId::at(index + 1));
        }
    }
    edges
}
