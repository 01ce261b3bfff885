//! Functions that never return, as `abort`, `exit` and `longjmp`, and all that end by calling these.
//!
//! Compilers place no jump behind such a call: whatever comes next in memory is there, mostly a block that has nothing to do with
//! it, or the next function. Taken as a way, it makes registers live and constants unknown all over a function.

use crate::constants::prune;
use crate::function::{Block, Function};
use crate::ir::{Callee, End, Op, Val};
use crate::vars::{RA, SP};
use rustc_hash::FxHashMap;

/// Ends blocks of these functions, by ascending address, behind calls that never return.
pub(crate) fn end_behind_calls(functions: &mut [Function]) {
    let returns = may_return(functions);
    let starts: Vec<u32> = functions.iter().map(|function| function.start).collect();
    let never = |callee: Callee| match callee {
        Callee::At(to) => starts.binary_search(&to).is_ok_and(|index| !returns[index]),
        Callee::Through(_) => false,
    };
    for function in functions {
        let mut changed = false;
        for block in &mut function.blocks {
            if let Some(at) = last_call(block, never) {
                block.ins.truncate(at + 1);
                (block.end, block.next) = (End::Stop, Vec::new());
                changed = true;
            }
        }
        if changed {
            prune(function);
        }
    }
}

/// The first call of a block that never returns. One that an exception may leave goes on there.
fn last_call(block: &Block, never: impl Fn(Callee) -> bool) -> Option<usize> {
    let is_last = |op: Op| matches!(op, Op::Call(callee) if never(callee));
    let at = block.ins.iter().position(|ins| is_last(ins.op))?;
    (at + 1 < block.ins.len() || !matches!(block.end, End::Try { .. })).then_some(at)
}

/// For each of these functions, by ascending address, whether it may return.
fn may_return(functions: &[Function]) -> Vec<bool> {
    let index: FxHashMap<u32, usize> =
        functions.iter().enumerate().map(|(at, function)| (function.start, at)).collect();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    for (at, function) in functions.iter().enumerate() {
        for to in function.callees() {
            if let Some(to) = index.get(&to) {
                callers[*to].push(at);
            }
        }
    }
    let mut returns = vec![false; functions.len()];
    let mut open: Vec<usize> = (0..functions.len()).collect();
    while let Some(at) = open.pop() {
        let known = |to: &u32| index.get(to).is_none_or(|to| returns[*to]);
        if !returns[at] && has_way_out(&functions[at], known) {
            returns[at] = true;
            open.extend(&callers[at]);
        }
    }
    returns
}

/// Whether there is a way from where a function begins to where it returns; `returns` says so of others.
fn has_way_out(function: &Function, returns: impl Fn(&u32) -> bool) -> bool {
    if function.forks || function.blocks.iter().any(stores_return_address) {
        return true;
    }
    let mut seen = vec![false; function.blocks.len()];
    let mut open = vec![function.entry];
    open.extend(function.label_blocks());
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let block = &function.blocks[at];
        let never = |callee| matches!(callee, Callee::At(to) if !returns(&to));
        if last_call(block, never).is_some() {
            continue;
        }
        match block.end {
            End::Tail(Callee::At(to)) if !returns(&to) => {}
            End::Return | End::Tail(_) | End::Table { is_goto: false, .. } => return true,
            _ => open.extend(&block.next),
        }
    }
    false
}

/// Whether a block stores the address to return to, but in the function's own frame: somebody may return there for it, as `longjmp`
/// does for `setjmp`.
fn stores_return_address(block: &Block) -> bool {
    block
        .ins
        .iter()
        .any(|ins| matches!(ins.op, Op::Store(_)) && ins.uses().has(RA) && ins.a != Val::Var(SP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{new_block, new_function};
    use crate::ir::{Ins, Width};

    fn call(to: u32) -> Ins {
        Ins { op: Op::Call(Callee::At(to)), ..Ins::NOP }
    }

    fn store(base: u8) -> Ins {
        Ins::new(Op::Store(Width::I32), None, Val::Var(base), Val::Var(RA))
    }

    fn function(start: u32, ins: Vec<Ins>, end: End) -> Function {
        new_function(start, "f", vec![new_block(start, ins, end)], 0)
    }

    #[test]
    fn what_only_ends_by_calls_that_never_return_never_returns() {
        let functions = [
            function(0x100, vec![], End::Away(Val::Var(4))),
            function(0x200, vec![call(0x100)], End::Return),
            function(0x300, vec![call(0x200)], End::Tail(Callee::At(0x400))),
            function(0x400, vec![], End::Tail(Callee::Through(Val::Var(4)))),
            function(0x500, vec![call(0x400)], End::Tail(Callee::At(0x100))),
            // Nothing is known of what lies elsewhere.
            function(0x600, vec![call(0x900)], End::Return),
        ];
        assert_eq!(may_return(&functions), [false, false, false, true, false, true]);
    }

    #[test]
    fn who_notes_where_to_return_to_may_return() {
        let switches = function(0x100, vec![store(4)], End::Away(Val::Var(5)));
        let saves = function(0x200, vec![store(SP)], End::Away(Val::Var(5)));
        assert_eq!(may_return(&[switches, saves]), [true, false]);
    }

    #[test]
    fn nothing_follows_a_call_that_never_returns() {
        let mut first = new_block(0x200, vec![call(0x100), call(0x300)], End::Jump(0x208));
        first.next = vec![1];
        let next = new_block(0x208, vec![], End::Tail(Callee::At(0x300)));
        let mut functions = [
            function(0x100, vec![], End::Stop),
            new_function(0x200, "g", vec![first, next], 0),
            function(0x300, vec![], End::Return),
        ];
        end_behind_calls(&mut functions);
        let blocks = &functions[1].blocks;
        assert_eq!((blocks.len(), blocks[0].ins.len()), (1, 1));
        assert!(matches!(blocks[0].end, End::Stop) && blocks[0].next.is_empty());
    }
}
