//! What of a function runs before it calls a hook, and what only behind it.

use crate::code::{Code, Reference};
use trimtab_program::FunctionId;
use trimtab_program::references::Target;

/// Which blocks of a function can lead to a call of `hook` in it, the block that calls included; in
/// the order of [`Code::blocks_of`]. `None` where it calls no such function.
///
/// A jump through a pointer is taken to lead to all blocks.
pub(crate) fn before(code: &Code<'_>, function: FunctionId, hook: FunctionId) -> Option<Vec<bool>> {
    let (first, end) = code.bounds_of(function);
    let count = end.index() - first.index();
    let entry = code.program().function(hook).range.start;
    let mut leads = vec![false; count];
    // From, to: places among the function's blocks.
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for Reference { block, target } in code.references_of(function).iter().copied() {
        let from = block.index() - first.index();
        match target {
            Target::Call(to) | Target::Jump(to) if to == entry => leads[from] = true,
            Target::Jump(to) => {
                let to = code.block_at(to).filter(|to| (first..end).contains(to));
                edges.extend(to.map(|to| (from, to.index() - first.index())));
            }
            Target::IndirectJump => leads[from] = true,
            Target::Call(_) | Target::IndirectCall | Target::Address(_) => {}
        }
    }
    let calls = code.references_of(function).iter().any(
        |reference| matches!(reference.target, Target::Call(to) | Target::Jump(to) if to == entry),
    );
    if !calls {
        return None;
    }
    for place in 1..count {
        if code.blocks()[first.index() + place - 1].falls_through {
            edges.push((place - 1, place));
        }
    }
    // Edges lead on until nothing new is found: at most as often as there are blocks.
    loop {
        let known = leads.iter().filter(|leads| **leads).count();
        for (from, to) in &edges {
            leads[*from] |= leads[*to];
        }
        if leads.iter().filter(|leads| **leads).count() == known {
            return Some(leads);
        }
    }
}
