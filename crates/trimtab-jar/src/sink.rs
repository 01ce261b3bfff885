//! Instructions whose value only one of a branch's two ways reads go there: compilers fill the delay slots of branches with
//! what the likelier way needs, and there a comparison meets the branch that looks at it.

use crate::function::Function;
use crate::ir::{End, Ins, Op};
use crate::liveness::{Facts, Summaries};
use crate::vars::{BITS, FLAG, SAVED, Var, Vars};

/// Moves them, in a function of which it is known what is live.
pub(crate) fn sink(summaries: &Summaries, function: &mut Function) {
    let facts = Facts::of(summaries, function);
    let mut ways_in = vec![0_u32; function.blocks.len()];
    ways_in[function.entry] += 1;
    for block in &function.blocks {
        block.next.iter().for_each(|to| ways_in[*to] += 1);
    }
    function.label_blocks().for_each(|at| ways_in[at] += 1);
    // Forward, so that what was moved may go further.
    for at in 0..function.blocks.len() {
        while let Some(to) = only_reader(function, at, &ways_in)
            && let Some(ins) = function.blocks[at].ins.pop()
        {
            let block = &mut function.blocks[to];
            block.live_in = facts.before(&ins, block.live_in);
            block.ins.insert(0, ins);
        }
    }
}

/// The one way on from a block that reads what the block's last instruction sets, if nothing else leads there.
fn only_reader(function: &Function, at: usize, ways_in: &[u32]) -> Option<usize> {
    let block = &function.blocks[at];
    let (End::Branch { .. }, [one, other]) = (&block.end, block.next.as_slice()) else {
        return None;
    };
    let set = moves(block.ins.last()?)?;
    if block.end.uses().meets(set) || function.live_at_labels.meets(set) {
        return None;
    }
    let reads = |to: usize| function.blocks[to].live_in.meets(set);
    let to = match (reads(*one), reads(*other)) {
        (true, false) => *one,
        (false, true) => *other,
        _ => return None,
    };
    (ways_in[to] == 1 && to != at).then_some(to)
}

/// What an instruction sets, if it may be moved: it computes an integer, or compares, and does nothing else.
pub(crate) fn moves(ins: &Ins) -> Option<Vars> {
    let computes = matches!(
        ins.op,
        Op::Copy
            | Op::Bin(_)
            | Op::Un(_)
            | Op::Extract { .. }
            | Op::Insert { .. }
            | Op::FloatCompare { .. }
    );
    let is_integer = |d: &Var| *d < BITS || (FLAG..SAVED).contains(d);
    ins.d.filter(|d| computes && is_integer(d)).map(|_| ins.defs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{new_block, new_function};
    use crate::ir::{Bin, Cond, Val};
    use crate::vars::{A0, A1, V0, V1};

    fn less() -> Ins {
        Ins::new(Op::Bin(Bin::Slt), Some(V1), Val::Var(A0), Val::Var(A1))
    }

    /// A block that branches by `a0` behind a comparison into `v1`, to blocks that read these.
    fn branching(taken: Vars, next: Vars) -> Function {
        let branch =
            End::Branch { cond: Cond::Eq, a: Val::Var(A0), b: Val::ZERO, taken: 4, next: 8 };
        let blocks = vec![
            new_block(0, vec![less()], branch),
            new_block(4, Vec::new(), End::Return),
            new_block(8, Vec::new(), End::Return),
        ];
        let mut function = new_function(0, "f", blocks, 0);
        function.blocks[0].next = vec![1, 2];
        function.blocks[1].live_in = taken;
        function.blocks[2].live_in = next;
        function
    }

    fn places(function: &mut Function) -> Vec<usize> {
        sink(&Summaries::default(), function);
        function.blocks.iter().map(|block| block.ins.len()).collect()
    }

    #[test]
    fn what_one_way_reads_goes_there() {
        let mut function = branching(Vars::of(&[V0]), Vars::of(&[V0, V1]));
        assert_eq!(places(&mut function), [0, 0, 1]);
        assert_eq!(function.blocks[2].live_in, Vars::of(&[V0, A0, A1]));
    }

    #[test]
    fn what_both_ways_or_the_branch_read_stays() {
        let both = Vars::of(&[V1]);
        assert_eq!(places(&mut branching(both, both)), [1, 0, 0]);
        let mut read = branching(Vars::NONE, both);
        read.blocks[0].ins[0].d = Some(A0);
        read.blocks[2].live_in = Vars::of(&[A0]);
        assert_eq!(places(&mut read), [1, 0, 0]);
    }

    #[test]
    fn what_others_lead_to_gets_nothing() {
        let mut function = branching(Vars::NONE, Vars::of(&[V1]));
        function.blocks[1].end = End::Jump(8);
        function.blocks[1].next = vec![2];
        assert_eq!(places(&mut function), [1, 0, 0]);
    }

    #[test]
    fn loads_stay() {
        let mut function = branching(Vars::NONE, Vars::of(&[V1]));
        function.blocks[0].ins[0].op = Op::Load(crate::ir::Width::I32);
        assert_eq!(places(&mut function), [1, 0, 0]);
    }
}
