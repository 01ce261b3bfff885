//! Jump tables: computed jumps of which the cases, and the number that chooses one, are known.
//!
//! A compiler makes of a `switch` a comparison of the number with that of cases, and a load from a
//! read-only table. Where both are found, the jump becomes one by the number, as Java has it: no
//! address is computed, nor looked for among all places of the function. The same goes for `goto *table[number & 127]`,
//! by which interpreters come from one instruction to the next.
//!
//! A compiler that is short of registers keeps the table's address in memory, where anything could be. If the function
//! has the address of one such table only, it is compared with that.

use crate::constants::moved_constants;
use crate::function::{Block, Function};
use crate::image::Image;
use crate::ir::{Bin, Cond, End, Ins, Op, Others, Val, Width};
use crate::vars::{INDEX, SAVED2, Var};
use std::collections::BTreeSet;

/// A number below `cases` at the end of a block: how many words a table has.
pub(crate) struct Guard {
    pub(crate) var: Var,
    pub(crate) cases: u32,
    /// Where the block compares it.
    pub(crate) at: usize,
}

/// Makes switches of the computed jumps of a function, after constants have been propagated.
pub(crate) fn find_switches(image: &Image<'_>, function: &mut Function) {
    for (at, before) in function.predecessors().iter().enumerate() {
        if !matches!(function.blocks[at].end, End::Table { .. }) {
            continue;
        }
        let found = bounded(image, function, at).or_else(|| match before.as_slice() {
            [from] => guarded(image, function, *from, at),
            _ => None,
        });
        if let Some(found) = found {
            become_switch(function, at, found);
        }
    }
}

/// A jump by a number.
struct Found {
    /// The block in which the number is made an offset, and where in that.
    shift: (usize, usize),
    index: Var,
    targets: Vec<u32>,
    next: Vec<usize>,
    others: Others,
    /// Where in the block the offset is added to what holds the table's address, and what must be there.
    check: Option<(usize, Var, u32)>,
}

fn become_switch(function: &mut Function, at: usize, found: Found) {
    let Found { shift: (shift_block, shift), index, targets, next, others, check } = found;
    let block = &mut function.blocks[at];
    if let Some((place, base, address)) = check {
        // Another table is none that the function has: then the number is none of the cases.
        let pc = block.ins[place].pc;
        let other = Val::Const(address.cast_signed());
        let differs = Ins::new(Op::Bin(Bin::Xor), Some(SAVED2), Val::Var(base), other);
        let none = Val::Const(targets.len() as i32);
        let number = Ins::new(Op::Select { when: true }, Some(INDEX), none, Val::Var(INDEX));
        let number = Ins { c: Val::Var(SAVED2), ..number };
        block.ins.splice(place..place, [differs, number].map(|ins| Ins { pc, ..ins }));
    }
    block.end = End::Switch { index: Val::Var(INDEX), targets, others };
    block.next = next;
    let block = &mut function.blocks[shift_block];
    let copy = Ins::new(Op::Copy, Some(INDEX), Val::Var(index), Val::ZERO);
    block.ins.insert(shift, Ins { pc: block.ins[shift].pc, ..copy });
}

/// A jump by a number that the block before, `from`, compares with that of the cases.
fn guarded(image: &Image<'_>, function: &Function, from: usize, at: usize) -> Option<Found> {
    let (before, block) = (&function.blocks[from], &function.blocks[at]);
    // A call sets more than it says itself; and nothing was compared where the function begins.
    if function.is_label(at) || at == function.entry || block.ins.iter().any(calls) {
        return None;
    }
    let guard = guard(before, at)?;
    let table = table_of(block, Some(before))?;
    if !is_compared(before, block, &guard, &table) {
        return None;
    }
    let TableJump { is_before, shift, index, base, .. } = table;
    let (address, check) = match base {
        Base::At(address) => (address, None),
        Base::In { place, var } => {
            let address = only_table(image, function, block, &table, guard.cases)?;
            (address, Some((place, var, address)))
        }
    };
    let (targets, next) = cases(image, block, address, &table, guard.cases)?;
    let others = match (&block.end, check) {
        (End::Table { to, .. }, Some(_)) => Others::Nowhere(*to),
        _ => Others::Never,
    };
    let shift = (if is_before { from } else { at }, shift);
    Some(Found { shift, index, targets, next, others, check })
}

/// Whether the number that is made an offset is the one that the block before compares.
fn is_compared(before: &Block, block: &Block, guard: &Guard, table: &TableJump) -> bool {
    let changes = |ins: &[Ins]| ins.iter().any(|ins| sets(ins, guard.var));
    let changed = match table.is_before {
        true => table.shift < guard.at || changes(&before.ins[guard.at..table.shift]),
        false => changes(&before.ins[guard.at..]) || changes(&block.ins[..table.shift]),
    };
    guard.var == table.index && !changed
}

/// The one table with as many cases that the function has the address of.
fn only_table(
    image: &Image<'_>,
    function: &Function,
    block: &Block,
    table: &TableJump,
    count: u32,
) -> Option<u32> {
    let ins = function.blocks.iter().flat_map(|block| &block.ins);
    let constants: BTreeSet<u32> = ins.flat_map(moved_constants).collect();
    let mut tables = constants.into_iter().filter(|address| {
        image.constant(address.wrapping_add_signed(table.offset)).is_some()
            && cases(image, block, *address, table, count).is_some()
    });
    let found = tables.next()?;
    tables.next().is_none().then_some(found)
}

/// The largest number of what a table of labels is looked up with.
const MOST: u32 = 1023;

/// A jump within the function by a number that cannot be larger than one that is known. All words that it can choose
/// are looked at: those behind the table lead nowhere.
fn bounded(image: &Image<'_>, function: &Function, at: usize) -> Option<Found> {
    let block = &function.blocks[at];
    let End::Table { to, targets, is_goto: true } = &block.end else { return None };
    let table = table_of(block, None)?;
    let TableJump { shift, index, base: Base::At(address), .. } = table else { return None };
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
        let word = image.label(table.word(address, number))?;
        targets.binary_search(&word.wrapping_add(table.add)).ok()
    };
    let places: Vec<usize> = (0..=most).map_while(place).collect();
    let count = places.len() as u32;
    if count < 2 || (count + 1..=most).any(|number| place(number).is_some()) {
        return None;
    }
    let next = places.iter().map(|at| block.next.get(*at).copied()).collect::<Option<Vec<_>>>()?;
    let targets = places.iter().map(|at| targets[*at]).collect();
    let others = if count <= most { Others::Nowhere(*to) } else { Others::Never };
    Some(Found { shift: (at, shift), index, targets, next, others, check: None })
}

/// Where the address of a table comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Base {
    At(u32),
    /// A variable, which the instruction at `place` adds.
    In {
        place: usize,
        var: Var,
    },
}

/// How a block jumps by a table.
#[derive(Debug)]
struct TableJump {
    /// Where the number is made an offset, in the block itself or in the one before.
    shift: usize,
    is_before: bool,
    index: Var,
    base: Base,
    /// What the load adds to the address.
    offset: i32,
    /// What is added to the words.
    add: u32,
}

impl TableJump {
    /// Where the word of a case is.
    fn word(&self, address: u32, case: u32) -> u32 {
        address.wrapping_add_signed(self.offset).wrapping_add(4 * case)
    }
}

/// How a block jumps by a table, where it does; `from` is the only block that comes before it, if that is known.
fn table_of(block: &Block, from: Option<&Block>) -> Option<TableJump> {
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
    let (place, ins) = made(address, at)?;
    // The number as an offset: where that is made, and of which variable.
    let scaled = |var: Var| {
        let (at, ins, is_before) = match made(var, place) {
            Some((at, ins)) => (at, ins, false),
            None => {
                let all = &from?.ins;
                let at = all.iter().rposition(|ins| sets(ins, var))?;
                (at, all[at], true)
            }
        };
        match (ins.op, ins.a, ins.b) {
            (Op::Bin(Bin::Shl), Val::Var(index), Val::Const(2)) => Some((at, is_before, index)),
            _ => None,
        }
    };
    let sums = match (ins.op, ins.a, ins.b) {
        (Op::Bin(Bin::Add), Val::Var(var), Val::Const(by))
        | (Op::Bin(Bin::Add), Val::Const(by), Val::Var(var)) => {
            [(Some(var), Base::At(by.cast_unsigned())), (None, Base::At(0))]
        }
        (Op::Bin(Bin::Add), Val::Var(a), Val::Var(b)) => {
            [(Some(a), Base::In { place, var: b }), (Some(b), Base::In { place, var: a })]
        }
        _ => return None,
    };
    sums.into_iter().find_map(|(var, base)| {
        let (shift, is_before, index) = scaled(var?)?;
        Some(TableJump { shift, is_before, index, base, offset, add })
    })
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
pub(crate) fn guard(block: &Block, to: usize) -> Option<Guard> {
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
    let made = |flag: Var, before: usize| {
        let at = block.ins[..before].iter().rposition(|ins| sets(ins, flag))?;
        Some((at, block.ins[at]))
    };
    let (mut at, mut ins) = made(flag, block.ins.len())?;
    // Where the delay slot sets the register, its value is kept.
    if let (Op::Copy, Val::Var(flag)) = (ins.op, ins.a) {
        (at, ins) = made(flag, at)?;
    }
    match (ins.op, ins.a, ins.b) {
        (Op::Bin(Bin::Sltu), Val::Var(var), Val::Const(cases)) if holds => {
            Some(Guard { var, cases: cases.cast_unsigned(), at })
        }
        _ => None,
    }
}

/// Whether an instruction may set what it does not name.
fn calls(ins: &Ins) -> bool {
    matches!(ins.op, Op::Call(_) | Op::Syscall)
}

/// Whether an instruction may set a variable.
pub(crate) fn sets(ins: &Ins, var: Var) -> bool {
    calls(ins) || ins.defs().has(var)
}

/// The cases of a table: what they lead to, and the blocks there.
fn cases(
    image: &Image<'_>,
    block: &Block,
    address: u32,
    table: &TableJump,
    cases: u32,
) -> Option<(Vec<u32>, Vec<usize>)> {
    let End::Table { targets, .. } = &block.end else { return None };
    // One with many holes is shorter as a search for the place, and fits into a method.
    if cases == 0 || cases as usize > (4 * targets.len()).max(256) {
        return None;
    }
    let (mut to, mut next) = (Vec::new(), Vec::new());
    for case in 0..cases {
        let word = image.constant(table.word(address, case))?;
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
            end: End::Table { to: Val::Var(2), targets: [4, 8].into(), is_goto: true },
            next: vec![1, 2],
            live_in: Vars::NONE,
        }
    }

    #[test]
    fn the_parts_of_a_table_are_found() {
        let table = table_of(&jump(), None).unwrap();
        assert_eq!((table.shift, table.index, table.add), (0, 4, GP.cast_unsigned()));
        assert_eq!((table.base, table.word(TABLE - 16, 1)), (Base::At(TABLE - 16), TABLE + 4));
        let mut other = jump();
        other.ins[0].b = Val::Const(3);
        assert!(table_of(&other, None).is_none(), "words are four bytes");
    }

    #[test]
    fn an_offset_that_a_delay_slot_makes_is_found() {
        let mut jump = jump();
        let shift = jump.ins.remove(0);
        let before = Block {
            key: 0,
            ins: vec![
                bin(Bin::Sltu, 2, Val::Var(4), Val::Const(7)),
                Ins::new(Op::Copy, Some(SAVED2), Val::Var(2), Val::ZERO),
                shift,
            ],
            end: End::Branch {
                cond: Cond::Eq,
                a: Val::Var(SAVED2),
                b: Val::ZERO,
                taken: 4,
                next: 8,
            },
            next: vec![1, 2],
            live_in: Vars::NONE,
        };
        assert!(table_of(&jump, None).is_none());
        let table = table_of(&jump, Some(&before)).unwrap();
        assert_eq!((table.is_before, table.shift, table.index), (true, 2, 4));
        let guard = guard(&before, 2).unwrap();
        assert_eq!((guard.var, guard.cases, guard.at), (4, 7, 0));
        assert!(is_compared(&before, &jump, &guard, &table));
        let mut other = before.clone();
        other.ins.insert(1, bin(Bin::Add, 4, Val::Var(4), Val::Const(1)));
        let table = table_of(&jump, Some(&other)).unwrap();
        assert!(!is_compared(&other, &jump, &guard, &table), "it is another number");
    }

    #[test]
    fn a_table_whose_address_a_variable_holds_is_found() {
        let mut jump = jump();
        jump.ins[1] = bin(Bin::Add, 2, Val::Var(9), Val::Var(2));
        let table = table_of(&jump, None).unwrap();
        assert_eq!((table.index, table.base), (4, Base::In { place: 1, var: 9 }));
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
        let (jump, table) = (jump(), table_of(&jump(), None).unwrap());
        assert!(is_compared(&block, &jump, &found, &table));
        block.ins.push(bin(Bin::Add, 4, Val::Var(4), Val::Const(1)));
        assert!(!is_compared(&block, &jump, &found, &table), "it is another number");
        block.ins.pop();
        block.next = vec![2, 2];
        assert!(guard(&block, 2).is_none(), "both edges lead there");
    }
}
