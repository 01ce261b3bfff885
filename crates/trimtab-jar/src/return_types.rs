//! What functions cannot give back, by the types of C: a function has one type, so it gives back either an integer, in
//! `v0` and perhaps `v1`, or a floating-point number, in `f0` and perhaps `f2`.
//!
//! Of a function that is called through pointers nobody says which. Were all four held to be its results, it would
//! have to keep the values of all of them up to its end, and its callers theirs.
//!
//! - A function of which a caller reads `v0`, or which computes `v0` at its end for nobody else, gives back an integer.
//! - If `v1` was never set on any way to such an end, that integer is of 32 bits.

use crate::function::{Block, Function};
use crate::ir::{Callee, End, Ins, Op};
use crate::vars::{FLOAT_RESULTS, V0, V1, Vars};
use rustc_hash::{FxHashMap, FxHashSet};

/// What each function cannot give back, by its address. `writes` says what calls of each set, and what they do not.
pub(crate) fn never_given(
    functions: &[Function],
    writes: impl Fn(u32) -> Vars,
) -> FxHashMap<u32, Vars> {
    let mut integers: FxHashSet<u32> = FxHashSet::default();
    for block in functions.iter().flat_map(|function| &function.blocks) {
        // What a function does not set, its callers may keep there.
        integers.extend(read_results(block).filter(|to| writes(*to).has(V0)));
    }
    let of = |function: &Function| {
        let is_end = |at: &usize| computes_result(&function.blocks[*at], &function.computed);
        let ends: Vec<usize> = (0..function.blocks.len()).filter(is_end).collect();
        if ends.is_empty() {
            let known = integers.contains(&function.start);
            return if known { FLOAT_RESULTS } else { Vars::NONE };
        }
        let unset = never_set(function);
        let short = ends.iter().any(|at| unset[*at]);
        if short { FLOAT_RESULTS.or(Vars::of(&[V1])) } else { FLOAT_RESULTS }
    };
    functions.iter().map(|function| (function.start, of(function))).collect()
}

/// The functions of which a block reads `v0` behind a call.
fn read_results(block: &Block) -> impl Iterator<Item = u32> {
    let mut last = None;
    let mut read = Vec::new();
    for ins in &block.ins {
        // What a call passes is not known yet.
        if ins.uses().has(V0) {
            read.extend(last.take());
        }
        match ins.op {
            Op::Call(Callee::At(to)) => last = Some(to),
            Op::Call(_) => last = None,
            _ if ins.defs().has(V0) => last = None,
            _ => {}
        }
    }
    if block.end.uses().has(V0) {
        read.extend(last);
    }
    read.into_iter()
}

/// The addresses of instructions that compute `v0` before the end of a function, where nothing reads it in between. To be
/// asked for before constants are known, as those have values that nothing reads any more.
pub(crate) fn computed_results(function: &Function) -> Vec<u32> {
    let result = |block: &Block| match block.end {
        End::Return => last_result(block).map(|ins| ins.pc),
        _ => None,
    };
    let mut found: Vec<u32> = function.blocks.iter().filter_map(result).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What computes `v0` as the last thing that is done with it in a block. A load may be of a variable that C calls
/// volatile, which nobody has to read.
fn last_result(block: &Block) -> Option<&Ins> {
    let is_other = |ins: &&Ins| {
        ins.defs().has(V0) || ins.uses().has(V0) || matches!(ins.op, Op::Call(_) | Op::Syscall)
    };
    let last = block.ins.iter().rev().find(is_other)?;
    let computes = matches!(last.op, Op::Copy | Op::Bin(_) | Op::Un(_));
    (computes && last.defs().has(V0)).then_some(last)
}

/// Whether a block returns what is computed at one of these addresses.
fn computes_result(block: &Block, computed: &[u32]) -> bool {
    matches!(block.end, End::Return)
        && last_result(block).is_some_and(|ins| computed.binary_search(&ins.pc).is_ok())
}

/// For each block, whether `v1` is what it was at the function's start wherever the block ends.
fn never_set(function: &Function) -> Vec<bool> {
    let sets = |ins: &Ins| ins.defs().has(V1) || matches!(ins.op, Op::Call(_) | Op::Syscall);
    let mut unset = vec![true; function.blocks.len()];
    let mut open = Vec::new();
    for (at, block) in function.blocks.iter().enumerate() {
        // Where a jump leads into the function, anything may have been set.
        if block.ins.iter().any(sets) || function.is_label(at) {
            unset[at] = false;
            open.push(at);
        }
    }
    while let Some(at) = open.pop() {
        for to in &function.blocks[at].next {
            if std::mem::replace(&mut unset[*to], false) {
                open.push(*to);
            }
        }
    }
    unset
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::function::{new_block, new_function};
    use crate::ir::{Bin, Float, Val, Width};
    use crate::vars::{A0, DOUBLE, RESULTS, Var};

    fn at(pc: u32, op: Op, d: Option<Var>, a: Val, b: Val) -> Ins {
        Ins { pc, ..Ins::new(op, d, a, b) }
    }

    fn sum(pc: u32, d: Var, a: Var) -> Ins {
        at(pc, Op::Bin(Bin::Add), Some(d), Val::Var(a), Val::Const(1))
    }

    fn calls(pc: u32, to: u32) -> Ins {
        at(pc, Op::Call(Callee::At(to)), None, Val::ZERO, Val::ZERO)
    }

    fn function(start: u32, ins: Vec<Ins>) -> Function {
        let mut made = new_function(start, "f", vec![new_block(start, ins, End::Return)], 0);
        made.computed = computed_results(&made);
        made
    }

    fn never(functions: &[Function]) -> Vec<Vars> {
        let found = never_given(functions, |_| RESULTS);
        functions.iter().map(|function| found[&function.start]).collect()
    }

    #[test]
    fn what_is_computed_last_is_an_integer_and_of_32_bits_if_nothing_set_the_other_half() {
        let short = function(0x100, vec![sum(0x100, V0, A0)]);
        let long = function(0x200, vec![sum(0x200, V1, A0), sum(0x204, V0, A0)]);
        let behind_a_call = function(0x300, vec![calls(0x300, 0x100), sum(0x308, V0, A0)]);
        let found = never(&[short, long, behind_a_call]);
        assert_eq!(found, [FLOAT_RESULTS.or(Vars::of(&[V1])), FLOAT_RESULTS, FLOAT_RESULTS]);
    }

    #[test]
    fn what_is_read_loaded_or_passed_on_says_nothing() {
        let double =
            |pc| at(pc, Op::Float(Float::Sqrt), Some(DOUBLE), Val::Var(DOUBLE + 6), Val::ZERO);
        let address = at(0x104, Op::Load(Width::F64), Some(DOUBLE), Val::Var(V0), Val::ZERO);
        let read = function(0x100, vec![sum(0x100, V0, A0), address]);
        let loaded = at(0x200, Op::Load(Width::I32), Some(V0), Val::Var(A0), Val::ZERO);
        let volatile = function(0x200, vec![loaded, double(0x204)]);
        let passed = function(0x300, vec![calls(0x300, 0x100)]);
        assert_eq!(never(&[read, volatile, passed]), [Vars::NONE; 3]);
    }

    #[test]
    fn what_constants_made_useless_says_nothing() {
        let address = at(0x104, Op::Load(Width::F64), Some(DOUBLE), Val::Var(V0), Val::ZERO);
        let mut made = function(0x100, vec![sum(0x100, V0, A0), address]);
        made.blocks[0].ins[0] = at(0x100, Op::Copy, Some(V0), Val::Const(0x1000), Val::ZERO);
        made.blocks[0].ins[1].a = Val::Const(0x1000);
        assert_eq!(never(&[made]), [Vars::NONE]);
    }

    #[test]
    fn a_caller_that_reads_an_integer_says_so_where_the_function_sets_one() {
        let passed = function(0x100, vec![calls(0x100, 0x900)]);
        let reads = function(0x200, vec![calls(0x200, 0x100), sum(0x208, A0, V0)]);
        let functions = [passed, reads];
        assert_eq!(never(&functions)[0], FLOAT_RESULTS);
        assert_eq!(never_given(&functions, |_| Vars::NONE)[&0x100], Vars::NONE);
    }
}
