//! Switches whose number the block before compares with that of the cases: a switch in Java has a place for all other numbers,
//! and the just-in-time compiler compares the number once more. So both become one switch.

use crate::constants::prune;
use crate::function::{Block, Function};
use crate::ir::{End, Ins, Op, Others, Val};
use crate::liveness::{Facts, Summaries, behind, is_dead, live_out};
use crate::sink::moves;
use crate::switches::{guard, sets};
use crate::vars::{INDEX, Var, Vars};

/// Merges them, in a function of which it is known what is live.
pub(crate) fn merge_guards(summaries: &Summaries, function: &mut Function) {
    let mut merged = false;
    for (at, before) in function.predecessors().iter().enumerate() {
        if let [from] = before.as_slice()
            && let Some(ins) = mergeable(&Facts::of(summaries, function), function, *from, at)
        {
            merge(function, *from, at, ins);
            merged = true;
        }
    }
    if merged {
        prune(function);
    }
}

/// What of the switch's block has to be done before it, where the only block before compares the number for it.
fn mergeable(facts: &Facts<'_>, function: &Function, from: usize, at: usize) -> Option<Vec<Ins>> {
    let (before, block) = (&function.blocks[from], &function.blocks[at]);
    let End::Switch { index: Val::Var(INDEX), targets, others: Others::Never } = &block.end else {
        return None;
    };
    if function.is_label(at) || at == function.entry || at == from {
        return None;
    }
    let guard = guard(before, at)?;
    let all: Vec<Ins> = before.ins[guard.at..].iter().chain(&block.ins).copied().collect();
    if guard.cases as usize != targets.len() || !is_number(&all, guard.var) {
        return None;
    }
    let other = before.next.iter().find(|next| **next != at)?;
    let read = function.blocks[*other].live_in.or(function.live_at_labels);
    let behind = behind(facts, block, live_out(function, block));
    let live = block.ins.iter().zip(&behind).filter(|(ins, live)| !is_dead(ins, **live));
    // These run by all other numbers, too, from here on.
    let unseen = |ins: &Ins| moves(ins).is_some_and(|set| !set.meets(read)) || is_copy(ins);
    let ins: Vec<Ins> = live.map(|(ins, _)| *ins).collect();
    (ins.iter().all(unseen) && !read.meets(Vars::of(&[INDEX]))).then_some(ins)
}

/// Whether an instruction notes the number that the switch goes by.
fn is_copy(ins: &Ins) -> bool {
    ins.op == Op::Copy && ins.d == Some(INDEX)
}

/// Whether it is the variable that is compared by the first of these instructions, unchanged since.
fn is_number(ins: &[Ins], var: Var) -> bool {
    let Some(copy) = ins.iter().rposition(|ins| ins.defs().meets(Vars::of(&[INDEX]))) else {
        return false;
    };
    is_copy(&ins[copy])
        && ins[copy].a == Val::Var(var)
        && !ins[..copy].iter().any(|ins| sets(ins, var))
}

fn merge(function: &mut Function, from: usize, at: usize, ins: Vec<Ins>) {
    let Block { end, next, .. } = function.blocks[at].clone();
    let before = &mut function.blocks[from];
    let other = before.next.iter().position(|next| *next != at);
    if let (End::Switch { index, mut targets, .. }, Some(other)) = (end, other) {
        targets.push(before.end.targets()[other]);
        let other = before.next[other];
        before.ins.extend(ins);
        before.next = next.into_iter().chain([other]).collect();
        before.end = End::Switch { index, targets, others: Others::Last };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{new_block, new_function};
    use crate::ir::{Bin, Cond};
    use crate::vars::{A0, A1, T9, V0, V1};

    /// A block that compares `a0` with the number of cases, before one that goes on by it, and does `more`; by other numbers, `read` is
    /// read.
    fn switching(more: &[Ins], read: Vars) -> Function {
        let less = Ins::new(Op::Bin(Bin::Sltu), Some(V0), Val::Var(A0), Val::Const(2));
        let branch =
            End::Branch { cond: Cond::Eq, a: Val::Var(V0), b: Val::ZERO, taken: 16, next: 4 };
        let copy = Ins::new(Op::Copy, Some(INDEX), Val::Var(A0), Val::ZERO);
        let switch =
            End::Switch { index: Val::Var(INDEX), targets: vec![8, 12], others: Others::Never };
        let blocks = vec![
            new_block(0, vec![less], branch),
            new_block(4, [&[copy], more].concat(), switch),
            new_block(8, Vec::new(), End::Return),
            new_block(12, Vec::new(), End::Return),
            new_block(16, Vec::new(), End::Return),
        ];
        let mut function = new_function(0, "f", blocks, 0);
        function.blocks[0].next = vec![4, 1];
        function.blocks[1].next = vec![2, 3];
        function.blocks[2].live_in = Vars::of(&[V1]);
        function.blocks[4].live_in = read;
        function
    }

    fn merged(mut function: Function) -> Vec<Block> {
        merge_guards(&Summaries::default(), &mut function);
        function.blocks
    }

    fn add(d: Var) -> Ins {
        Ins::new(Op::Bin(Bin::Add), Some(d), Val::Var(A1), Val::Const(1))
    }

    #[test]
    fn a_switch_has_a_place_for_all_other_numbers() {
        let blocks = merged(switching(&[add(V1), add(T9)], Vars::NONE));
        assert_eq!(blocks.len(), 4, "the switch's own block is gone");
        let targets = vec![8, 12, 16];
        let end = End::Switch { index: Val::Var(INDEX), targets, others: Others::Last };
        assert_eq!((&blocks[0].end, blocks[0].next.as_slice()), (&end, &[1, 2, 3][..]));
        let set: Vec<Option<Var>> = blocks[0].ins.iter().map(|ins| ins.d).collect();
        assert_eq!(set, [Some(V0), Some(INDEX), Some(V1)], "without what nothing reads");
    }

    #[test]
    fn what_other_numbers_would_see_stays() {
        assert_eq!(merged(switching(&[add(V1)], Vars::of(&[V1]))).len(), 5);
        let load = Ins { op: Op::Load(crate::ir::Width::I32), ..add(V1) };
        assert_eq!(merged(switching(&[load], Vars::NONE)).len(), 5, "it might fail");
    }

    #[test]
    fn another_number_or_another_count_is_none_of_it() {
        let mut function = switching(&[], Vars::NONE);
        function.blocks[0].ins.push(add(A0));
        assert_eq!(merged(function).len(), 5);
        let mut function = switching(&[], Vars::NONE);
        function.blocks[0].ins[0].b = Val::Const(3);
        assert_eq!(merged(function).len(), 5);
        let mut function = switching(&[], Vars::NONE);
        function.blocks[4].end = End::Jump(4);
        function.blocks[4].next = vec![1];
        assert_eq!(merged(function).len(), 5, "others come there without a comparison");
    }
}
