//! What functions may be given beside their usual arguments.
//!
//! A register that a function reads before it sets it is an argument, as far as one function shows. Mostly it is none:
//! compilers leave registers unset on ways on which what is read of them does not matter, and calls through pointers
//! may pass floating-point numbers anywhere. So this goes from callers to callees: what none of them may have set, or
//! been given, is no argument.

use crate::constants::{PartialAddresses, moved_constants};
use crate::function::{Block, Function};
use crate::ir::{Callee, End, Op, Val};
use crate::vars::{A0, CHAIN, V0, V1, Vars, forms_of_pair};
use std::collections::{BTreeMap, BTreeSet};

/// Where floating-point arguments are.
pub(crate) const FLOATS: Vars = forms_of_pair(12).or(forms_of_pair(14));

/// What calls through pointers may pass: pointers to functions within others lead to code that sets the last of these.
const BY_POINTER: Vars = FLOATS.or(Vars::of(&[CHAIN]));

/// `lw $at, 20($t9)`: the first instruction of such code, as GCC makes it on the stack.
const TRAMPOLINE: Val = Val::Const(0x8f21_0014_u32.cast_signed());

/// What is looked at: all that functions can be given but `a0` to `a3`, `sp` and `ra`.
pub(crate) const UNUSUAL: Vars =
    Vars::of(&[V0, V1, 8, 9, 10, 11, 12, 13, 14, CHAIN, 24]).or(FLOATS);

/// The functions of these, by ascending address, behind which no floating-point argument is where it was: they, or what
/// they call, set the registers for these, or call what is not known.
pub(crate) fn lose_floats(functions: &[Function]) -> BTreeSet<u32> {
    let starts: Vec<u32> = functions.iter().map(|function| function.start).collect();
    let is_unknown = |callee: &Callee| match callee {
        Callee::At(to) => starts.binary_search(to).is_err(),
        Callee::Through(_) => true,
    };
    let loses = |function: &&Function| {
        function.blocks.iter().any(|block| {
            let ends = match &block.end {
                End::Tail(callee) => is_unknown(callee),
                // What is no case of it may be a function.
                End::Table { is_goto, .. } => !is_goto,
                _ => false,
            };
            ends || block.ins.iter().any(|ins| match &ins.op {
                Op::Call(callee) => is_unknown(callee),
                _ => ins.defs().meets(FLOATS),
            })
        })
    };
    let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for function in functions {
        for to in function.callees() {
            callers.entry(to).or_default().push(function.start);
        }
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<u32> = functions.iter().filter(loses).map(|f| f.start).collect();
    while let Some(start) = open.pop() {
        if found.insert(start) {
            open.extend(callers.get(&start).into_iter().flatten());
        }
    }
    found
}

/// What each of these functions, by ascending address, may be given of [`UNUSUAL`]; `losing` are those that
/// [`lose_floats`] finds.
pub(crate) fn given(functions: &[Function], entry: u32, losing: &BTreeSet<u32>) -> Vec<Vars> {
    let starts: Vec<u32> = functions.iter().map(|function| function.start).collect();
    let mut given = vec![Vars::NONE; functions.len()];
    let by_pointer = if makes_trampolines(functions) { BY_POINTER } else { FLOATS };
    let without: Vec<bool> = functions.iter().map(begins_with_integer).collect();
    let may = |index: usize, vars: Vars| if without[index] { vars.without(FLOATS) } else { vars };
    for index in may_be_pointed_to(functions, &starts, entry) {
        given[index] = may(index, by_pointer);
    }
    let mut open: BTreeSet<usize> = (0..functions.len()).collect();
    while let Some(at) = open.pop_first() {
        for (to, vars) in passed(&functions[at], given[at], losing) {
            let Ok(index) = starts.binary_search(&to) else { continue };
            let vars = may(index, vars);
            if !vars.without(given[index]).is_empty() {
                given[index] = given[index].or(vars);
                open.insert(index);
            }
        }
    }
    given
}

/// Whether the first argument of a function is an integer. Then, by the ABI, so are all others: floating-point numbers are in their
/// own registers only as the first or the first two arguments. It reads `a0` before it could be anything else, and reads none of
/// those registers.
fn begins_with_integer(function: &Function) -> bool {
    let reads = |block: &Block, wanted: Vars| {
        let mut set = Vars::NONE;
        for ins in &block.ins {
            if matches!(ins.op, Op::Call(_)) {
                return false;
            }
            if ins.uses().without(set).meets(wanted) {
                return true;
            }
            set = set.or(ins.defs());
        }
        block.end.uses().without(set).meets(wanted)
    };
    reads(&function.blocks[function.entry], Vars::of(&[A0]))
        && !function.blocks.iter().any(|block| reads(block, FLOATS))
}

/// Whether any function stores code for pointers to functions within others.
fn makes_trampolines(functions: &[Function]) -> bool {
    let blocks = functions.iter().flat_map(|function| &function.blocks);
    blocks.flat_map(|block| &block.ins).any(|ins| [ins.a, ins.b, ins.c].contains(&TRAMPOLINE))
}

/// The functions that calls through pointers may lead to, and others.
fn may_be_pointed_to(functions: &[Function], starts: &[u32], entry: u32) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = BTreeSet::new();
    for (index, function) in functions.iter().enumerate() {
        if function.taken || function.start == entry {
            found.insert(index);
        }
        let ins = function.blocks.iter().flat_map(|block| &block.ins);
        let constants = ins.flat_map(moved_constants);
        found.extend(constants.filter_map(|address| starts.binary_search(&address).ok()));
        found.extend(PartialAddresses::of(function).among(starts));
    }
    found
}

/// What a function may pass to others, where it may be given this.
fn passed(function: &Function, given: Vars, losing: &BTreeSet<u32>) -> Vec<(u32, Vars)> {
    let mut found = Vec::new();
    let mut may: Vec<Option<Vars>> = vec![None; function.blocks.len()];
    may[function.entry] = Some(given);
    let mut open = vec![function.entry];
    for at in function.label_blocks() {
        may[at].get_or_insert(Vars::NONE);
        open.push(at);
    }
    while let Some(at) = open.pop() {
        let block = &function.blocks[at];
        let mut state = may[at].unwrap_or(Vars::NONE);
        for ins in &block.ins {
            match ins.op {
                Op::Call(callee) => {
                    if let Callee::At(to) = callee {
                        found.push((to, state));
                    }
                    state = behind_call(callee, state, losing);
                }
                _ => state = state.or(ins.defs().and(UNUSUAL)),
            }
        }
        if let End::Tail(Callee::At(to)) = block.end {
            found.push((to, state));
        }
        for next in &block.next {
            let met = may[*next].unwrap_or(Vars::NONE).or(state);
            if may[*next] != Some(met) {
                may[*next] = Some(met);
                open.push(*next);
            }
        }
    }
    found
}

/// What may be passed on behind a call. Of functions that it knows a compiler also knows which registers they leave
/// alone, so that arguments may stay there; no other registers than those for arguments and results are passed on.
fn behind_call(callee: Callee, state: Vars, losing: &BTreeSet<u32>) -> Vars {
    let results = Vars::of(&[V0, V1]);
    match callee {
        Callee::At(to) if losing.contains(&to) => state.and(BY_POINTER).without(FLOATS).or(results),
        Callee::At(_) => state.and(BY_POINTER).or(results),
        Callee::Through(_) => results,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::new_function;
    use crate::ir::{Ins, Width};

    fn function(start: u32, ins: Vec<Ins>, end: End) -> Function {
        let block = Block { key: start, ins, end, next: vec![], live_in: Vars::NONE };
        new_function(start, "", vec![block], 0)
    }

    fn call(callee: Callee) -> Ins {
        Ins { op: Op::Call(callee), ..Ins::NOP }
    }

    fn set(var: u8) -> Ins {
        Ins::new(Op::Copy, Some(var), Val::Const(1), Val::ZERO)
    }

    #[test]
    fn what_a_caller_sets_may_be_given_until_the_next_call() {
        let float = crate::vars::BITS + 12;
        let functions = [
            function(0x100, vec![set(8), set(float), call(Callee::At(0x200))], End::Return),
            function(
                0x200,
                vec![set(9), set(CHAIN), call(Callee::At(0x300))],
                End::Tail(Callee::At(0x400)),
            ),
            function(0x300, vec![call(Callee::Through(Val::Var(4)))], End::Tail(Callee::At(0x500))),
            function(0x400, vec![], End::Return),
            function(0x500, vec![], End::Return),
        ];
        let losing = lose_floats(&functions);
        assert_eq!(losing, BTreeSet::from([0x100, 0x200, 0x300]));
        let given = given(&functions, 0, &losing);
        assert_eq!(given[0], Vars::NONE);
        let floats = crate::vars::forms(float);
        assert_eq!(given[1], floats.or(Vars::of(&[8])));
        assert_eq!(given[2], floats.or(Vars::of(&[8, 9, CHAIN])), "its own are passed on");
        assert_eq!(
            given[3],
            Vars::of(&[V0, V1, CHAIN]),
            "nor are others, behind what may set them"
        );
        assert_eq!(given[4], Vars::of(&[V0, V1]), "nothing is, behind an unknown function");
    }

    #[test]
    fn what_reads_an_integer_first_is_given_no_floating_point_numbers() {
        let reads = |var| Ins::new(Op::Copy, Some(16), Val::Var(var), Val::ZERO);
        let float = crate::vars::BITS + 12;
        let pointer = call(Callee::Through(Val::Var(16)));
        let of = |ins| {
            let mut function = function(0x100, ins, End::Return);
            function.taken = true;
            let functions = [function];
            given(&functions, 0, &lose_floats(&functions))[0]
        };
        assert_eq!(of(vec![reads(4), pointer]), Vars::NONE);
        // It may be the second argument, behind a `float`; or the call's.
        assert_eq!(of(vec![reads(5), pointer]), FLOATS);
        assert_eq!(of(vec![pointer, reads(4)]), FLOATS);
        assert_eq!(of(vec![set(4), reads(4), pointer]), FLOATS);
        // It reads both: one of them is nothing, and who knows which.
        assert_eq!(of(vec![reads(4), reads(float)]), FLOATS);
    }

    #[test]
    fn functions_that_pointers_lead_to_may_be_given_floating_point_numbers() {
        let mut first = function(0x100, vec![], End::Tail(Callee::At(0x200)));
        first.taken = true;
        let moves = Ins::new(Op::Copy, Some(4), Val::Const(0x300), Val::ZERO);
        let mut functions = [
            first,
            function(0x200, vec![moves], End::Return),
            function(0x300, vec![], End::Return),
            function(0x400, vec![], End::Return),
        ];
        let given = |functions: &[Function]| given(functions, 0, &lose_floats(functions));
        assert_eq!(given(&functions), [FLOATS, FLOATS, FLOATS, Vars::NONE]);
        // And a frame, where code for such pointers is made.
        let store = Ins::new(Op::Store(Width::I32), None, Val::Var(29), TRAMPOLINE);
        functions[3].blocks[0].ins.push(store);
        assert_eq!(given(&functions), [BY_POINTER, BY_POINTER, BY_POINTER, Vars::NONE]);
    }
}
