//! Calls at a function's end that several ways lead to, each with an address of its own: `pow` ends so with one of four functions
//! that report errors. Each way is given a copy of such a block, where the call is of a function that is known.

use super::{KnownValues, step};
use crate::function::{Block, Function};
use crate::image::Image;
use crate::ir::{Callee, End, Val};
use crate::vars::Var;

/// The longest block that is copied, in instructions.
const LONGEST: usize = 32;

/// Gives ways on which the address is known copies of such blocks. `known` are the constants before each block. Says whether that
/// changed anything; then more may be known, and these are to be found anew.
pub(super) fn split(
    image: &Image<'_>,
    function: &mut Function,
    known: &[Option<KnownValues>],
) -> bool {
    if !function.blocks.iter().any(|block| kept_target(block).is_some()) {
        return false;
    }
    let predecessors = function.predecessors();
    for at in 0..function.blocks.len() {
        let Some(to) = kept_target(&function.blocks[at]) else { continue };
        let value = |at: usize| known[at].as_ref().and_then(|state| state.get(Val::Var(to)));
        if function.is_label(at)
            || at == function.entry
            || known[at].is_none()
            || value(at).is_some()
        {
            continue;
        }
        let mut froms = predecessors[at].clone();
        froms.dedup();
        if let [from] = froms[..] {
            if matches!(function.blocks[from].end, End::Jump(_)) && join(function, from, at) {
                return true;
            }
            continue;
        }
        let behind = |from: usize| {
            let mut state = known[from].clone()?;
            function.blocks[from].ins.iter().for_each(|ins| step(image, &mut state, ins));
            state.get(Val::Var(to))
        };
        froms.retain(|from| behind(*from).is_some());
        if froms.is_empty() {
            continue;
        }
        for from in froms {
            let copy = function.blocks.len();
            function.blocks.push(function.blocks[at].clone());
            for next in function.blocks[from].next.iter_mut().filter(|next| **next == at) {
                *next = copy;
            }
        }
        return true;
    }
    false
}

/// The register with the address that a short block calls at its end, which was set before it.
fn kept_target(block: &Block) -> Option<Var> {
    let End::Tail(Callee::Through(Val::Var(to))) = block.end else { return None };
    let kept = block.ins.len() <= LONGEST && block.ins.iter().all(|ins| !ins.sets().has(to));
    kept.then_some(to)
}

/// Adds a block to the only one that leads to it.
fn join(function: &mut Function, from: usize, at: usize) -> bool {
    if from == at || function.blocks[from].ins.len() > LONGEST {
        return false;
    }
    let Block { ins, end, next, .. } = function.blocks[at].clone();
    let joined = &mut function.blocks[from];
    joined.ins.extend(ins);
    (joined.end, joined.next) = (end, next);
    true
}
