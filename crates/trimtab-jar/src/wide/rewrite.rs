//! A block with 64-bit numbers instead of pairs of halves.

use super::pairs::{Made, Number, Pairs};
use crate::function::Block;
use crate::ir::{Bin, Ins, Op, Val, Wide, Width};
use crate::liveness::{Facts, behind, is_dead};
use crate::vars::{HI, Var, Vars, WIDE, WIDES};
use std::collections::BTreeMap;

/// What belongs together: indices of numbers and of stores, ascending.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) numbers: Vec<usize>,
    pub(super) stored: Vec<usize>,
}

/// The groups of numbers that are made from each other, but for those in which no number is made from others, nor stored.
pub(super) fn groups(pairs: &Pairs<'_>) -> Vec<Group> {
    let mut group_of: Vec<usize> = (0..pairs.numbers.len()).collect();
    fn root(group_of: &mut [usize], mut at: usize) -> usize {
        while group_of[at] != at {
            group_of[at] = group_of[group_of[at]];
            at = group_of[at];
        }
        at
    }
    let mut worth = vec![false; pairs.numbers.len()];
    for (at, number) in pairs.numbers.iter().enumerate() {
        for from in inputs(number) {
            let (a, b) = (root(&mut group_of, at), root(&mut group_of, from));
            group_of[a.max(b)] = a.min(b);
            worth[at] = true;
        }
    }
    for stored in &pairs.stored {
        worth[stored.number] = true;
    }
    let mut groups: BTreeMap<usize, (bool, Group)> = BTreeMap::new();
    for (at, worth) in worth.iter().enumerate() {
        let group = groups.entry(root(&mut group_of, at)).or_default();
        group.0 |= worth;
        group.1.numbers.push(at);
    }
    for (at, stored) in pairs.stored.iter().enumerate() {
        let root = root(&mut group_of, stored.number);
        groups.entry(root).or_default().1.stored.push(at);
    }
    groups.into_values().filter(|(worth, _)| *worth).map(|(_, group)| group).collect()
}

/// The numbers that one is made from.
fn inputs(number: &Number) -> impl Iterator<Item = usize> {
    let (a, b) = match number.made {
        Made::Two(_, a, b) => (Some(a), Some(b)),
        Made::Shift(_, a, _) | Made::ProductAdd { to: a, .. } => (Some(a), None),
        _ => (None, None),
    };
    a.into_iter().chain(b)
}

/// The instructions of the block with the numbers of these groups; nothing where they need too many variables, or what they are made
/// from is not there any more.
pub(super) fn rewritten(block: &Block, pairs: &Pairs<'_>, groups: &[&Group]) -> Option<Vec<Ins>> {
    let mut numbers: Vec<usize> = groups.iter().flat_map(|g| g.numbers.iter().copied()).collect();
    numbers.sort_unstable_by_key(|at| (pairs.numbers[*at].place, *at));
    let stores = || groups.iter().flat_map(|g| &g.stored).map(|at| pairs.stored[*at]);
    let vars = allocate(pairs, &numbers, stores().map(|stored| (stored.number, stored.second)))?;
    let mut ins = block.ins.clone();
    for stored in stores() {
        let second = block.ins[stored.second];
        let offset = second.offset.wrapping_sub(stored.above);
        let b = Val::Var(vars[stored.number]);
        ins[stored.first] = Ins::NOP;
        ins[stored.second] = Ins { op: Op::Store(Width::I64), b, offset, ..second };
    }
    // By place, then in this order.
    let mut added: Vec<(usize, Ins)> = Vec::new();
    for at in numbers {
        let number = &pairs.numbers[at];
        added.push((number.place, made(block, pairs, number, &vars, vars[at])?));
        if matches!(number.made, Made::Join | Made::Extend { .. }) {
            continue;
        }
        let values = &pairs.values;
        let place = values.both(number.low, number.high);
        for (half, wide) in [(number.low, Wide::Low), (number.high, Wide::High)] {
            for var in values.holders(half, place) {
                let ins = Ins::new(Op::Wide(wide), Some(var), Val::Var(vars[at]), Val::ZERO);
                added.push((place, Ins { pc: pc(block, place), ..ins }));
            }
        }
    }
    added.sort_by_key(|(place, _)| *place);
    let mut all = Vec::with_capacity(ins.len() + added.len());
    let mut added = added.into_iter().peekable();
    for (at, ins) in ins.into_iter().enumerate() {
        while let Some((_, ins)) = added.next_if(|(place, _)| *place <= at) {
            all.push(ins);
        }
        if ins.op != Op::Nop {
            all.push(ins);
        }
    }
    all.extend(added.map(|(_, ins)| ins));
    Some(all)
}

/// The address of the instruction before a place.
fn pc(block: &Block, place: usize) -> u32 {
    block.ins.get(place.saturating_sub(1)).map_or(block.key, |ins| ins.pc)
}

/// A variable for each number; each is free again behind its last use.
fn allocate(
    pairs: &Pairs<'_>,
    numbers: &[usize],
    stores: impl Iterator<Item = (usize, usize)>,
) -> Option<Vec<Var>> {
    let halves = pairs.numbers.iter().map(|number| pairs.values.both(number.low, number.high));
    let mut last: Vec<usize> = halves.collect();
    for at in numbers {
        for from in inputs(&pairs.numbers[*at]) {
            last[from] = last[from].max(pairs.numbers[*at].place);
        }
    }
    for (number, at) in stores {
        last[number] = last[number].max(at);
    }
    let mut vars = vec![0; pairs.numbers.len()];
    let mut until = [None; WIDES as usize];
    for at in numbers {
        let place = pairs.numbers[*at].place;
        let free = until.iter().position(|until| until.is_none_or(|until| until < place))?;
        until[free] = Some(last[*at]);
        vars[*at] = WIDE + free as Var;
    }
    Some(vars)
}

/// The instruction that makes a number.
fn made(block: &Block, pairs: &Pairs<'_>, number: &Number, vars: &[Var], d: Var) -> Option<Ins> {
    let values = &pairs.values;
    let operand = |id| values.operand(id, number.place);
    let (op, a, b) = match number.made {
        Made::Join => (Wide::Join, operand(number.low)?, operand(number.high)?),
        Made::Extend { signed } => (Wide::Extend { signed }, operand(number.low)?, Val::ZERO),
        Made::Product { at, signed } => {
            (Wide::Product { signed }, block.ins[at].a, block.ins[at].b)
        }
        Made::ProductAdd { at, signed, subtract, to } => {
            let Ins { a, b, .. } = block.ins[at];
            let op = Op::Wide(Wide::ProductAdd { signed, subtract });
            let c = Val::Var(vars[to]);
            return Some(Ins { c, pc: block.ins[at].pc, ..Ins::new(op, Some(d), a, b) });
        }
        Made::Two(wide, a, b) => (wide, Val::Var(vars[a]), Val::Var(vars[b])),
        Made::Shift(wide, a, by) => (wide, Val::Var(vars[a]), Val::Const(by)),
        Made::Load { at, above } => {
            let ins = block.ins[at];
            let offset = ins.offset.wrapping_sub(above);
            return Some(Ins { op: Op::Load(Width::I64), d: Some(d), offset, ..ins });
        }
    };
    Some(Ins { pc: pc(block, number.place), ..Ins::new(Op::Wide(op), Some(d), a, b) })
}

/// About how many instructions of a processor these take, with `out` live behind the block.
pub(super) fn cost(facts: &Facts<'_>, block: &Block, ins: Vec<Ins>, out: Vars) -> usize {
    let (end, next) = (block.end.clone(), block.next.clone());
    let block = Block { ins, end, next, ..*block };
    let behind = behind(facts, &block, out);
    let costs = block.ins.iter().zip(&behind).filter(|(ins, live)| !is_dead(ins, **live));
    costs.map(|(ins, live)| of_instruction(ins, *live)).sum()
}

fn of_instruction(ins: &Ins, live: Vars) -> usize {
    match ins.op {
        Op::Nop | Op::Copy | Op::Wide(Wide::Low) => 0,
        // Compared, and made a number.
        Op::Bin(Bin::Slt | Bin::Sltu) => 3,
        // With the check of its bounds.
        Op::Load(_) | Op::Store(_) => 3,
        // Extended, shifted, and put together.
        Op::Wide(Wide::Join) => 3,
        Op::Wide(Wide::ProductAdd { .. }) => 2,
        Op::MulWide { .. } => 1 + usize::from(live.has(HI)),
        Op::MulAdd { .. } => 5 + usize::from(live.has(HI)),
        _ => 1,
    }
}
