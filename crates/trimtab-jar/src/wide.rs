//! 64-bit numbers: what MIPS does with the halves of one, in several instructions, becomes one operation of Java's.
//!
//! A block is changed where that takes fewer instructions of the processor's. Between blocks, numbers are in halves.
//!
//! - `pairs`: which values are the halves of a number, and how that is made
//! - `rewrite`: the block with these numbers

mod pairs;
mod rewrite;

use crate::function::{Block, Function};
use crate::ir::{Bin, Ins, Op, Width};
use crate::liveness::{Facts, Summaries, live_out};
use crate::vars::Vars;
use pairs::Pairs;
use rewrite::{Group, cost, groups, rewritten};

/// Makes numbers of pairs of halves, in functions of which it is known what is live.
pub(crate) fn widen(summaries: &Summaries, function: &mut Function) {
    let facts = Facts::of(summaries, function);
    for at in 0..function.blocks.len() {
        let block = &function.blocks[at];
        if !may_have_halves(block) {
            continue;
        }
        let changed = widened(&facts, block, live_out(function, block));
        if let Some(ins) = changed {
            function.blocks[at].ins = ins;
        }
    }
}

/// Whether a block has two words beside each other in memory, a product, or a carry.
fn may_have_halves(block: &Block) -> bool {
    let count = |is: fn(&Op) -> bool| block.ins.iter().filter(|ins| is(&ins.op)).count();
    count(|op| matches!(op, Op::MulWide { .. } | Op::MulAdd { .. } | Op::Bin(Bin::Sltu))) > 0
        || count(|op| matches!(op, Op::Bin(Bin::Shr))) > 0
            && count(|op| matches!(op, Op::Bin(Bin::Or))) > 0
        || count(|op| matches!(op, Op::Store(Width::I32))) > 1
            && count(|op| matches!(op, Op::Load(Width::I32))) > 1
}

/// The instructions of a block with those numbers that make it cheaper.
fn widened(facts: &Facts<'_>, block: &Block, out: Vars) -> Option<Vec<Ins>> {
    let pairs = Pairs::of(block);
    let groups = groups(&pairs);
    if groups.is_empty() {
        return None;
    }
    let before = cost(facts, block, block.ins.clone(), out);
    let pays = |group: &&Group| {
        rewritten(block, &pairs, &[group]).is_some_and(|ins| cost(facts, block, ins, out) < before)
    };
    let mut kept: Vec<&Group> = groups.iter().filter(pays).collect();
    while !kept.is_empty() {
        if let Some(ins) = rewritten(block, &pairs, &kept) {
            return Some(ins);
        }
        // Together they need too many variables.
        kept.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ir::{Callee, End, Val, Wide};
    use crate::vars::{HI, LO, Var};

    const A: Val = Val::Var(4);
    const B: Val = Val::Var(5);

    fn bin(bin: Bin, d: Var, a: Var, b: Var) -> Ins {
        Ins::new(Op::Bin(bin), Some(d), Val::Var(a), Val::Var(b))
    }

    fn shift(shift: Bin, d: Var, a: Var, by: i32) -> Ins {
        Ins::new(Op::Bin(shift), Some(d), Val::Var(a), Val::Const(by))
    }

    fn load(d: Var, base: Val, offset: i32) -> Ins {
        Ins { offset, ..Ins::new(Op::Load(Width::I32), Some(d), base, Val::ZERO) }
    }

    fn store(base: Val, offset: i32, value: Var) -> Ins {
        Ins { offset, ..Ins::new(Op::Store(Width::I32), None, base, Val::Var(value)) }
    }

    /// What is left of these instructions, where these variables are read behind them.
    fn left(ins: &[Ins], out: &[Var]) -> Vec<Op> {
        let block = Block {
            key: 0,
            ins: ins.to_vec(),
            end: End::Jump(0),
            next: vec![],
            live_in: Vars::NONE,
        };
        let summaries = Summaries::default();
        let facts = Facts {
            summaries: &summaries,
            results: Vars::NONE,
            tail_floats: Vars::NONE,
            pointer_floats: Vars::NONE,
        };
        let out = Vars::of(out);
        let ins = widened(&facts, &block, out).unwrap_or(block.ins.clone());
        let block = Block { ins, ..block };
        let behind = crate::liveness::behind(&facts, &block, out);
        let dead = |(ins, live): &(&Ins, &Vars)| crate::liveness::is_dead(ins, **live);
        block.ins.iter().zip(&behind).filter(|pair| !dead(pair)).map(|(ins, _)| ins.op).collect()
    }

    /// `*a = *a op *b`, in the registers that a compiler takes: the halves come to be in 8 and 2.
    fn in_memory(operations: [Ins; 4]) -> Vec<Ins> {
        let loads = [load(2, A, 0), load(3, A, 4), load(8, B, 0), load(9, B, 4)];
        [&loads[..], &operations, &[store(A, 0, 8), store(A, 4, 2)]].concat()
    }

    fn sum() -> Vec<Ins> {
        in_memory([
            bin(Bin::Add, 8, 2, 8),
            bin(Bin::Sltu, 2, 8, 2),
            bin(Bin::Add, 3, 3, 9),
            bin(Bin::Add, 2, 2, 3),
        ])
    }

    const WIDE_SUM: [Op; 4] =
        [Op::Load(Width::I64), Op::Load(Width::I64), Op::Wide(Wide::Add), Op::Store(Width::I64)];

    #[test]
    fn a_sum_with_its_carry_is_one_addition() {
        assert_eq!(left(&sum(), &[]), WIDE_SUM);
        // What is read behind it as well comes out of the number.
        let mut expected = WIDE_SUM.to_vec();
        expected.insert(3, Op::Wide(Wide::High));
        assert_eq!(left(&sum(), &[2]), expected);
    }

    #[test]
    fn a_difference_with_its_borrow_is_one_subtraction() {
        let ins = in_memory([
            bin(Bin::Sub, 8, 2, 8),
            bin(Bin::Sltu, 2, 2, 8),
            bin(Bin::Sub, 3, 3, 9),
            bin(Bin::Sub, 2, 3, 2),
        ]);
        let expected = WIDE_SUM.map(|op| match op {
            Op::Wide(_) => Op::Wide(Wide::Sub),
            other => other,
        });
        assert_eq!(left(&ins, &[]), expected);
    }

    #[test]
    fn products_and_shifts_are_made_of_whole_numbers() {
        let take = |d, half| Ins::new(Op::Copy, Some(d), Val::Var(half), Val::ZERO);
        let product =
            |signed, a, b| Ins::new(Op::MulWide { signed }, None, Val::Var(a), Val::Var(b));
        let ins = [
            product(true, 4, 5),
            take(8, LO),
            take(9, HI),
            // Times an unsigned number.
            product(false, 8, 6),
            take(10, LO),
            take(11, HI),
            bin(Bin::Mul, 12, 6, 9),
            bin(Bin::Add, 11, 12, 11),
            // Shifted by 14 to the left.
            shift(Bin::Shl, 13, 11, 14),
            shift(Bin::Shr, 14, 10, 18),
            bin(Bin::Or, 13, 13, 14),
            shift(Bin::Shl, 10, 10, 14),
        ];
        let expected = [
            Op::Wide(Wide::Product { signed: true }),
            Op::Wide(Wide::Extend { signed: false }),
            Op::Wide(Wide::Mul),
            Op::Wide(Wide::Shl),
            Op::Wide(Wide::Low),
            Op::Wide(Wide::High),
        ];
        assert_eq!(left(&ins, &[10, 13]), expected);
    }

    #[test]
    fn a_product_is_added_to_a_number_in_memory() {
        let copy = |d, from| Ins::new(Op::Copy, Some(d), Val::Var(from), Val::ZERO);
        let add = Op::MulAdd { signed: true, subtract: false };
        let ins = [
            load(2, A, 0),
            load(3, A, 4),
            copy(LO, 2),
            copy(HI, 3),
            Ins::new(add, None, Val::Var(6), Val::Var(7)),
            copy(2, LO),
            copy(3, HI),
            store(A, 0, 2),
            store(A, 4, 3),
        ];
        let wide = Op::Wide(Wide::ProductAdd { signed: true, subtract: false });
        assert_eq!(left(&ins, &[]), [Op::Load(Width::I64), wide, Op::Store(Width::I64)]);
    }

    #[test]
    fn words_side_by_side_are_copied_as_one_and_not_past_another_store() {
        let copy = [load(2, A, 0), load(3, A, 4), store(B, 0, 2), store(B, 4, 3)];
        assert_eq!(left(&copy, &[]), [Op::Load(Width::I64), Op::Store(Width::I64)]);
        // The second word may be what the first store has stored.
        let overlapping = [load(2, A, 0), store(B, 0, 2), load(3, A, 4), store(B, 4, 3)];
        assert_eq!(left(&overlapping, &[]), overlapping.map(|ins| ins.op));
        // What a call reads is stored before it.
        let call = Ins::new(Op::Call(Callee::At(0)), None, Val::ZERO, Val::ZERO);
        let called = [load(2, A, 0), load(3, A, 4), store(B, 0, 2), call, store(B, 4, 3)];
        assert!(!left(&called, &[]).contains(&Op::Store(Width::I64)));
        // So is what another thread waits for.
        let fence = Ins::new(Op::Fence { full: true }, None, Val::ZERO, Val::ZERO);
        let fenced = [load(2, A, 0), load(3, A, 4), fence, store(B, 0, 2), store(B, 4, 3)];
        assert!(!left(&fenced, &[]).contains(&Op::Store(Width::I64)));
    }

    #[test]
    fn what_would_cost_more_stays_in_halves() {
        // Four registers would have to be put together.
        let sum = [
            bin(Bin::Add, 2, 4, 6),
            bin(Bin::Sltu, 8, 2, 4),
            bin(Bin::Add, 3, 5, 7),
            bin(Bin::Add, 3, 3, 8),
        ];
        assert_eq!(left(&sum, &[2, 3]), sum.map(|ins| ins.op));
    }
}
