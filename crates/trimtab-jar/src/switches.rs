//! Jump tables: computed jumps of which the cases, and the number that chooses one, are known.
//!
//! A compiler makes of a `switch` a comparison of the number with that of cases, and a load from a
//! read-only table. Where both are found, the jump becomes one by the number, as Java has it: no
//! address is computed, nor looked for among all places of the function. The same goes for `goto *table[number & 127]`,
//! by which interpreters come from one instruction to the next.

use crate::function::{Block, Function};
use crate::image::Image;
use crate::ir::{Bin, Cond, End, Ins, Op, Val, Width};
use crate::vars::{INDEX, Var};

/// A number below `cases` at the end of a block: how many words a table has.
struct Guard {
    var: Var,
    cases: u32,
}

/// Makes switches of the computed jumps of a function, after constants have been propagated.
pub(crate) fn find_switches(image: &Image<'_>, function: &mut Function) {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); function.blocks.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        for next in &block.next {
            before[*next].push(index);
        }
    }
    for (at, before) in before.iter().enumerate() {
        if let Some(found) = bounded(image, &function.blocks[at]) {
            become_switch(&mut function.blocks[at], found);
            continue;
        }
        let block = &function.blocks[at];
        let (End::Table { .. }, [from]) = (&block.end, before.as_slice()) else { continue };
        // A call sets more than it says itself; and nothing was compared where the function begins.
        let lands = function.is_label(at);
        if lands || at == function.entry || block.ins.iter().any(calls) {
            continue;
        }
        let Some((shift, index, table)) = table_of(block) else { continue };
        let Some(guard) = guard(&function.blocks[*from], at) else { continue };
        let changed = block.ins[..shift].iter().any(|ins| ins.defs().has(index));
        if guard.var != index || changed {
            continue;
        }
        let Some((targets, next)) = cases(image, block, &table, guard.cases) else { continue };
        become_switch(&mut function.blocks[at], Found { shift, index, targets, next, to: None });
    }
}

/// A jump by a number.
struct Found {
    /// Where in the block the number is made an offset.
    shift: usize,
    index: Var,
    targets: Vec<u32>,
    next: Vec<usize>,
    /// The place, where the number may be none of the cases.
    to: Option<Val>,
}

fn become_switch(block: &mut Block, found: Found) {
    let Found { shift, index, targets, next, to } = found;
    let copy = Ins::new(Op::Copy, Some(INDEX), Val::Var(index), Val::ZERO);
    block.ins.insert(shift, Ins { pc: block.ins[shift].pc, ..copy });
    block.end = End::Switch { index: Val::Var(INDEX), targets, to };
    block.next = next;
}

/// The largest number of what a table of labels is looked up with.
const MOST: u32 = 1023;

/// A jump within the function by a number that cannot be larger than one that is known. All words that it can choose
/// are looked at: those behind the table lead nowhere.
fn bounded(image: &Image<'_>, block: &Block) -> Option<Found> {
    let End::Table { to, targets, is_goto: true } = &block.end else { return None };
    let (shift, index, table) = table_of(block)?;
    let made = block.ins[..shift].iter().rposition(|ins| ins.defs().has(index))?;
    if block.ins[made..].iter().any(calls) {
        return None;
    }
    let most = match (block.ins[made].op, block.ins[made].b) {
        (Op::Bin(Bin::And), Val::Const(mask)) => mask.cast_unsigned(),
        (Op::Load(Width::U8), _) => 255,
        _ => return None,
    };
    if most > MOST {
        return None;
    }
    let place = |number: u32| {
        let word = image.label(table.address.wrapping_add(4 * number))?;
        targets.binary_search(&word.wrapping_add(table.add)).ok()
    };
    let places: Vec<usize> = (0..=most).map_while(place).collect();
    let count = places.len() as u32;
    if count < 2 || (count + 1..=most).any(|number| place(number).is_some()) {
        return None;
    }
    let next = places.iter().map(|at| block.next.get(*at).copied()).collect::<Option<Vec<_>>>()?;
    let targets = places.iter().map(|at| targets[*at]).collect();
    let to = (count <= most).then_some(*to);
    Some(Found { shift, index, targets, next, to })
}

/// Where a table is, and what is added to its words.
struct Table {
    address: u32,
    add: u32,
}

/// The table that a block jumps by: where in the block the number is made an offset, and the number.
fn table_of(block: &Block) -> Option<(usize, Var, Table)> {
    let End::Table { to: Val::Var(to), .. } = block.end else { return None };
    let made = |var: Var, before: usize| {
        let at = block.ins[..before].iter().rposition(|ins| ins.defs().has(var))?;
        Some((at, block.ins[at]))
    };
    let (mut at, mut ins) = made(to, block.ins.len())?;
    let mut add = 0u32;
    // Tables of position-independent code are relative to `gp`.
    if let Some((var, constant)) = sum(&ins) {
        add = constant.cast_unsigned();
        (at, ins) = made(var, at)?;
    }
    let (Op::Load(Width::I32), Val::Var(address), Val::ZERO) = (ins.op, ins.a, ins.c) else {
        return None;
    };
    let offset = ins.offset;
    let (at, ins) = made(address, at)?;
    let (scaled, base) = sum(&ins)?;
    let (at, ins) = made(scaled, at)?;
    match (ins.op, ins.a, ins.b) {
        (Op::Bin(Bin::Shl), Val::Var(index), Val::Const(2)) => {
            let address = base.wrapping_add(offset).cast_unsigned();
            Some((at, index, Table { address, add }))
        }
        _ => None,
    }
}

/// A variable and the constant that an instruction adds to it.
fn sum(ins: &Ins) -> Option<(Var, i32)> {
    match (ins.op, ins.a, ins.b) {
        (Op::Bin(Bin::Add), Val::Var(var), Val::Const(by))
        | (Op::Bin(Bin::Add), Val::Const(by), Val::Var(var)) => Some((var, by)),
        _ => None,
    }
}

/// What is known where a block goes on at the block `to` by a comparison with a constant.
fn guard(block: &Block, to: usize) -> Option<Guard> {
    let (cond, flag) = match &block.end {
        End::Branch { cond, a: Val::Var(flag), b: Val::ZERO, .. } => (*cond, *flag),
        _ => return None,
    };
    // The comparison has to hold on the one edge that leads there.
    let holds = match (cond, block.next.as_slice()) {
        (Cond::Ne, [taken, next]) => *taken == to && *next != to,
        (Cond::Eq, [taken, next]) => *next == to && *taken != to,
        _ => false,
    };
    let at = block.ins.iter().rposition(|ins| ins.defs().has(flag))?;
    let ins = block.ins[at];
    match (ins.op, ins.a, ins.b) {
        (Op::Bin(Bin::Sltu), Val::Var(var), Val::Const(cases))
            if holds && !block.ins[at..].iter().any(|ins| sets(ins, var)) =>
        {
            Some(Guard { var, cases: cases.cast_unsigned() })
        }
        _ => None,
    }
}

/// Whether an instruction may set what it does not name.
fn calls(ins: &Ins) -> bool {
    matches!(ins.op, Op::Call(_) | Op::Syscall)
}

/// Whether an instruction may set a variable.
fn sets(ins: &Ins, var: Var) -> bool {
    calls(ins) || ins.defs().has(var)
}

/// The cases of a table: what they lead to, and the blocks there.
fn cases(
    image: &Image<'_>,
    block: &Block,
    table: &Table,
    cases: u32,
) -> Option<(Vec<u32>, Vec<usize>)> {
    let End::Table { targets, .. } = &block.end else { return None };
    // One with many holes is shorter as a search for the place, and fits into a method.
    if cases == 0 || cases as usize > (2 * targets.len()).max(64) {
        return None;
    }
    let (mut to, mut next) = (Vec::new(), Vec::new());
    for case in 0..cases {
        let word = image.constant(table.address.wrapping_add(4 * case))?;
        let target = word.wrapping_add(table.add);
        let index = targets.binary_search(&target).ok()?;
        to.push(target);
        next.push(*block.next.get(index)?);
    }
    Some((to, next))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::vars::Vars;

    const TABLE: u32 = 0x8000;
    const GP: i32 = 0x40_0000;

    fn bin(op: Bin, d: Var, a: Val, b: Val) -> Ins {
        Ins::new(Op::Bin(op), Some(d), a, b)
    }

    fn jump() -> Block {
        let load =
            Ins { offset: 16, ..Ins::new(Op::Load(Width::I32), Some(2), Val::Var(2), Val::ZERO) };
        Block {
            key: 0,
            ins: vec![
                bin(Bin::Shl, 2, Val::Var(4), Val::Const(2)),
                bin(Bin::Add, 2, Val::Const(TABLE.cast_signed() - 16), Val::Var(2)),
                load,
                bin(Bin::Add, 2, Val::Var(2), Val::Const(GP)),
            ],
            end: End::Table { to: Val::Var(2), targets: vec![4, 8], is_goto: true },
            next: vec![1, 2],
            live_in: Vars::NONE,
        }
    }

    #[test]
    fn the_parts_of_a_table_are_found() {
        let (at, index, table) = table_of(&jump()).unwrap();
        assert_eq!((at, index, table.address, table.add), (0, 4, TABLE, GP.cast_unsigned()));
        let mut other = jump();
        other.ins[0].b = Val::Const(3);
        assert!(table_of(&other).is_none(), "words are four bytes");
    }

    #[test]
    fn a_guard_holds_on_its_own_edge_and_until_the_number_changes() {
        let mut block = Block {
            key: 0,
            ins: vec![bin(Bin::Sltu, 3, Val::Var(4), Val::Const(7))],
            end: End::Branch { cond: Cond::Eq, a: Val::Var(3), b: Val::ZERO, taken: 4, next: 8 },
            next: vec![1, 2],
            live_in: Vars::NONE,
        };
        let found = guard(&block, 2).unwrap();
        assert_eq!((found.var, found.cases), (4, 7));
        assert!(guard(&block, 1).is_none(), "there it does not hold");
        block.ins.push(bin(Bin::Add, 4, Val::Var(4), Val::Const(1)));
        assert!(guard(&block, 2).is_none(), "it is another number");
        block.ins.pop();
        block.next = vec![2, 2];
        assert!(guard(&block, 2).is_none(), "both edges lead there");
    }
}
