//! Calls through pointers, as the traces show them.

use crate::code::Code;
use crate::heat::Run;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use trimtab_program::references::Target;
use trimtab_program::{FunctionId, Range};

/// Calls through pointers that the runs made, ascending, each once: from which function to which.
pub(crate) fn indirect_calls(code: &Code<'_>, runs: &[Run<'_>]) -> Vec<(FunctionId, FunctionId)> {
    let program = code.program();
    let made_by = |run: &Run<'_>| {
        let mut found: FxHashSet<(FunctionId, FunctionId)> = FxHashSet::default();
        // Of each block of the stream: the function at its end if that calls through a pointer, and
        // the function that its start is the entry of.
        let blocks: Vec<(Option<FunctionId>, bool, Option<FunctionId>)> = run
            .stream()
            .blocks()
            .iter()
            .map(|block| {
                let last = block.start.saturating_add(block.length.saturating_sub(1).into());
                let range = Range::with_length(block.start, block.length.into());
                let caller = program.function_at(last);
                let pointer = calls_through_pointer(code, range);
                (caller.filter(|_| pointer), is_in_thunk(code, caller), code.entry(block.start))
            })
            .collect();
        let mut caller = None;
        for block in run.executions() {
            let (pointer, thunk, entry) = blocks[block as usize];
            if let (Some(from), Some(to)) = (caller, entry.filter(|_| !thunk)) {
                found.insert((from, to));
            }
            // A thunk goes where its caller wants.
            if !thunk {
                caller = pointer;
            }
        }
        found
    };
    let found = runs.par_iter().flat_map_iter(made_by);
    let mut found: Vec<_> = found.filter(|(from, to)| from != to).collect();
    found.par_sort_unstable();
    found.dedup();
    found
}

fn is_in_thunk(code: &Code<'_>, function: Option<FunctionId>) -> bool {
    function.is_some_and(|function| is_thunk(code.name(function)))
}

/// Whether the last instruction of these bytes calls through a pointer.
fn calls_through_pointer(code: &Code<'_>, range: Range) -> bool {
    let last = trimtab_program::references::instructions(code.program(), range).last();
    match last.and_then(|last| last.transfer) {
        Some(Target::IndirectCall | Target::IndirectJump) => true,
        Some(Target::Call(to) | Target::Jump(to)) => {
            is_in_thunk(code, code.program().function_at(to))
        }
        _ => false,
    }
}

/// Whether a function jumps to where its caller says, or a setting of the running kernel.
pub(crate) fn is_thunk(name: &str) -> bool {
    name.starts_with("__x86_indirect_") || name.starts_with("__SCT__")
}
