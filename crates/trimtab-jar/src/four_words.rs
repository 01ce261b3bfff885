//! Results of four words: complex numbers of 64-bit parts, and vectors of 16 bytes. Beside `v0` and `v1`, they are in `a0`
//! and `a1`, which any function may set for itself.
//!
//! Who reads one of these right behind a call reads what the call left there. So it takes that from the thread's state,
//! where functions leave results that do not fit into what a method returns. A compiler that knows that a function leaves
//! `a0` alone may also keep something of its own in it: then there is nothing to take. It may know that of what it calls
//! through a pointer, too, so there only who reads all four words takes them.

use crate::function::{Block, Function};
use crate::ir::{Callee, End, Ins, Op, Val};
use crate::vars::{A0, A1, V0, V1, Vars};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// What a result has beside `v0` and `v1`.
const MORE: Vars = Vars::of(&[A0, A1]);
/// A result of four words.
const ALL: Vars = MORE.or(Vars::of(&[V0, V1]));

/// The operand of what is taken where all four words are read.
const FOUR: Val = Val::Const(1);

/// Has a function take what calls may have left in [`MORE`], where it reads that. Before constants are known: what it
/// passed in these registers is not what is there behind the call.
pub(crate) fn take_results(function: &mut Function) {
    for index in 0..function.blocks.len() {
        for at in (0..function.blocks[index].ins.len()).rev() {
            let Ins { op: Op::Call(_), pc, .. } = function.blocks[index].ins[at] else { continue };
            let read = read_behind(function, index, at + 1);
            let four = if read == ALL { FOUR } else { Val::ZERO };
            let take = |var| Ins { pc, ..Ins::new(Op::Result, Some(var), four, Val::ZERO) };
            let taken: Vec<Ins> = read.and(MORE).iter().map(take).collect();
            function.blocks[index].ins.splice(at + 1..at + 1, taken);
        }
    }
}

/// Which of [`ALL`] is read before it is set, up to the next call or branch, from this instruction of a block on.
fn read_behind(function: &Function, index: usize, from: usize) -> Vars {
    let (mut read, mut set) = (Vars::NONE, Vars::NONE);
    let (mut index, mut from) = (index, from);
    // A long block is cut, even where a result is just being read; three are not cut within one.
    for _ in 0..3 {
        let block = &function.blocks[index];
        for ins in &block.ins[from..] {
            if matches!(ins.op, Op::Call(_) | Op::Syscall) || ALL.without(set).is_empty() {
                return read;
            }
            read = read.or(ins.uses().and(ALL).without(set));
            set = set.or(ins.defs());
        }
        match (&block.end, block.next.first()) {
            (End::Jump(_), Some(next)) => (index, from) = (*next, 0),
            _ => break,
        }
    }
    read
}

/// What functions have to leave in [`MORE`], by their addresses. Where a function leaves what it was given, nothing is
/// taken any more. Functions are by ascending address.
pub(crate) fn left_results(functions: &mut [Function]) -> FxHashMap<u32, Vars> {
    let mut left: FxHashMap<u32, Vars> = FxHashMap::default();
    let takes = |function: &Function| {
        function.blocks.iter().flat_map(|block| &block.ins).any(|ins| ins.op == Op::Result)
    };
    if !functions.iter().any(takes) {
        return left;
    }
    let callers = callers(functions);
    let (sets, returning) = (sets_of_all(functions, &callers), returning(functions, &callers));
    let mut through_pointers = Vars::NONE;
    for block in functions.iter_mut().flat_map(|function| &mut function.blocks) {
        let mut callee = None;
        for ins in &mut block.ins {
            match (ins.op, ins.d, callee) {
                (Op::Call(to), _, _) => callee = Some(to),
                (Op::Result, Some(d), Some(Callee::At(to))) => {
                    // Behind one that does not return is what is reached by other ways.
                    let is_set =
                        returning.contains(&to) && sets.get(&to).is_some_and(|sets| sets.has(d));
                    if is_set {
                        left.entry(to).or_insert(Vars::NONE).add(d);
                    } else {
                        *ins = Ins { pc: ins.pc, ..Ins::NOP };
                    }
                }
                (Op::Result, Some(d), _) if ins.a == FOUR => through_pointers.add(d),
                (Op::Result, ..) => *ins = Ins { pc: ins.pc, ..Ins::NOP },
                _ => {}
            }
        }
    }
    let may_be_called =
        |f: &&Function| f.taken && !through_pointers.is_empty() && gives_four_words(f);
    for function in functions.iter().filter(may_be_called) {
        let results = left.entry(function.start).or_insert(Vars::NONE);
        *results = results.or(through_pointers);
    }
    spread_to_tails(functions, &mut left);
    left
}

/// Who calls each function, or ends with it.
type Callers = FxHashMap<u32, Vec<u32>>;

fn callers(functions: &[Function]) -> Callers {
    let mut callers = Callers::default();
    for function in functions {
        for callee in function.callees() {
            callers.entry(callee).or_default().push(function.start);
        }
    }
    callers
}

/// Functions that come to their end, as far as is known; `abort` and what always calls it do not.
fn returning(functions: &[Function], callers: &Callers) -> FxHashSet<u32> {
    let all: FxHashMap<u32, &Function> =
        functions.iter().map(|function| (function.start, function)).collect();
    let mut returning = FxHashSet::default();
    let mut open: BTreeSet<u32> = all.keys().copied().collect();
    while let Some(start) = open.pop_last() {
        let ends = |callee: Callee| match callee {
            Callee::At(to) => all.contains_key(&to) && !returning.contains(&to),
            Callee::Through(_) => false,
        };
        if comes_to_its_end(all[&start], ends) {
            returning.insert(start);
            let callers = callers.get(&start).into_iter().flatten().copied();
            open.extend(callers.filter(|caller| !returning.contains(caller)));
        }
    }
    returning
}

/// Whether a function returns, or ends with one that does, where calls of these do not return.
fn comes_to_its_end(function: &Function, ends: impl Fn(Callee) -> bool) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    // A label can be jumped to from elsewhere.
    let mut open: Vec<usize> = function.label_blocks().chain([function.entry]).collect();
    while let Some(at) = open.pop() {
        let block = &function.blocks[at];
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if block.ins.iter().any(|ins| matches!(ins.op, Op::Call(callee) if ends(callee))) {
            // An exception may leave such a call.
            let caught = matches!(block.end, End::Try { .. }).then(|| block.next.last());
            open.extend(caught.flatten());
            continue;
        }
        if runs_off(block) {
            continue;
        }
        match block.end {
            End::Return | End::Away(_) | End::Table { is_goto: false, .. } => return true,
            End::Tail(callee) if !ends(callee) => return true,
            _ => open.extend(&block.next),
        }
    }
    false
}

/// Whether a call is the last that is there, so that what comes next is another function: it does not return. A compiler
/// puts an epilogue between a call and a tail call.
fn runs_off(block: &Block) -> bool {
    let is_call = block.ins.last().is_some_and(|ins| matches!(ins.op, Op::Call(_)));
    is_call && matches!(block.end, End::Tail(Callee::At(_)))
}

/// Which of [`MORE`] each function sets, or what it calls.
fn sets_of_all(functions: &[Function], callers: &Callers) -> FxHashMap<u32, Vars> {
    let mut sets: FxHashMap<u32, Vars> =
        functions.iter().map(|function| (function.start, own_sets(function))).collect();
    let mut open: BTreeSet<u32> = sets.keys().copied().collect();
    while let Some(start) = open.pop_last() {
        let known = sets[&start];
        for caller in callers.get(&start).into_iter().flatten() {
            if let Some(of_caller) = sets.get_mut(caller)
                && !known.without(*of_caller).is_empty()
            {
                *of_caller = of_caller.or(known);
                open.insert(*caller);
            }
        }
    }
    sets
}

fn own_sets(function: &Function) -> Vars {
    let of_block = |block: &Block| {
        let ins = block.ins.iter().filter(|ins| ins.op != Op::Result);
        let sets = ins.fold(Vars::NONE, |sets, ins| match ins.op {
            Op::Call(Callee::Through(_)) => sets.or(MORE),
            _ => sets.or(ins.defs()),
        });
        match block.end {
            End::Tail(Callee::Through(_)) | End::Table { is_goto: false, .. } => MORE,
            _ => sets,
        }
    };
    function.blocks.iter().map(of_block).fold(Vars::NONE, Vars::or).and(MORE)
}

/// Whether a function ends as one does that gives a result of four words: it sets all of them last.
fn gives_four_words(function: &Function) -> bool {
    let returns = function.blocks.iter().filter(|block| block.end == End::Return);
    let set_last = |block: &Block| {
        let last = block.ins.iter().rev().take_while(|ins| !matches!(ins.op, Op::Call(_)));
        last.fold(Vars::NONE, |sets, ins| sets.or(ins.defs()))
    };
    returns.into_iter().any(|block| ALL.without(set_last(block)).is_empty())
}

/// What a function leaves, those leave that it ends with.
fn spread_to_tails(functions: &[Function], left: &mut FxHashMap<u32, Vars>) {
    let mut open: Vec<u32> = left.keys().copied().collect();
    while let Some(start) = open.pop() {
        let Ok(index) = functions.binary_search_by_key(&start, |function| function.start) else {
            continue;
        };
        let wanted = left[&start];
        for block in &functions[index].blocks {
            let End::Tail(Callee::At(to)) = block.end else { continue };
            let of_tail = left.entry(to).or_insert(Vars::NONE);
            if !wanted.without(*of_tail).is_empty() {
                *of_tail = of_tail.or(wanted);
                open.push(to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::new_function;

    const CALLER: u32 = 0x1000;
    const CALLEE: u32 = 0x2000;
    const TAIL: u32 = 0x3000;

    fn copy(to: u8, from: u8) -> Ins {
        Ins::new(Op::Copy, Some(to), Val::Var(from), Val::ZERO)
    }

    fn function(start: u32, ins: Vec<Ins>, end: End) -> Function {
        let block = Block { key: start, ins, end, next: Vec::new(), live_in: Vars::NONE };
        new_function(start, "it", vec![block], 0)
    }

    /// A function that makes a call and then reads `a0`.
    fn caller(callee: Callee) -> Function {
        let call = Ins::new(Op::Call(callee), None, Val::ZERO, Val::ZERO);
        function(
            CALLER,
            vec![copy(A0, 16), call, copy(8, A0), copy(A1, 8), copy(9, A1)],
            End::Return,
        )
    }

    /// What functions leave that the caller takes, and what is left of its instructions.
    fn left(callee: Callee, others: Vec<Function>) -> (FxHashMap<u32, Vars>, Vec<Op>) {
        let mut all = vec![caller(callee)];
        all.extend(others);
        all.iter_mut().for_each(take_results);
        let left = left_results(&mut all);
        (left, all[0].blocks[0].ins.iter().map(|ins| ins.op).collect())
    }

    #[test]
    fn what_is_read_behind_a_call_is_what_that_set() {
        let gives = function(CALLEE, vec![copy(A0, 16), copy(A1, 17)], End::Return);
        let (left, ops) = left(Callee::At(CALLEE), vec![gives]);
        assert_eq!(left, FxHashMap::from_iter([(CALLEE, Vars::of(&[A0]))]));
        let call = Op::Call(Callee::At(CALLEE));
        assert_eq!(ops, [Op::Copy, call, Op::Result, Op::Copy, Op::Copy, Op::Copy]);
    }

    #[test]
    fn what_the_callee_leaves_alone_is_the_caller_s() {
        let other = function(CALLEE, vec![copy(A1, 17)], End::Return);
        let (left, ops) = left(Callee::At(CALLEE), vec![other]);
        assert!(left.is_empty() && ops[2] == Op::Nop, "{left:?} {ops:?}");
    }

    #[test]
    fn behind_a_call_that_does_not_return_nothing_is_taken() {
        let stops = function(TAIL, vec![copy(A0, 16)], End::Stop);
        let call = Ins::new(Op::Call(Callee::At(TAIL)), None, Val::ZERO, Val::ZERO);
        let gives_up = function(CALLEE, vec![call], End::Return);
        let (left, ops) = left(Callee::At(CALLEE), vec![gives_up, stops]);
        assert!(left.is_empty() && ops[2] == Op::Nop, "{left:?} {ops:?}");
    }

    #[test]
    fn who_ends_with_a_call_leaves_what_that_does() {
        let ends = function(CALLEE, Vec::new(), End::Tail(Callee::At(TAIL)));
        let gives = function(TAIL, vec![copy(A0, 16)], End::Return);
        let (left, _) = left(Callee::At(CALLEE), vec![ends, gives]);
        let wanted = Vars::of(&[A0]);
        assert_eq!(left, FxHashMap::from_iter([(CALLEE, wanted), (TAIL, wanted)]));
    }

    #[test]
    fn through_a_pointer_any_may_be_called_that_ends_with_four_words() {
        let words = vec![copy(V0, 16), copy(V1, 17), copy(A0, 18), copy(A1, 19)];
        let taken = |start, ins| Function { taken: true, ..function(start, ins, End::Return) };
        let others = vec![taken(CALLEE, words), taken(TAIL, vec![copy(A0, 16)])];
        let pointer = Callee::Through(Val::Var(25));
        let (none, ops) = left(pointer, others.clone());
        assert!(none.is_empty() && ops[2] == Op::Nop, "one word may be the caller's own: {none:?}");
        let call = Ins::new(Op::Call(pointer), None, Val::ZERO, Val::ZERO);
        let reads = [V0, V1, A0, A1].map(|word| copy(word + 6, word));
        let ins = [call].into_iter().chain(reads).collect();
        let mut all = vec![function(CALLER, ins, End::Return)];
        all.extend(others);
        all.iter_mut().for_each(take_results);
        let left = left_results(&mut all);
        assert_eq!(left, FxHashMap::from_iter([(CALLEE, MORE)]));
        assert_eq!(all[0].blocks[0].ins[1].op, Op::Result);
    }
}
