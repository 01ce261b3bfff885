//! Constants within a function: addresses from the table of global offsets, calls through them,
//! `gp` itself.
//!
//! A forward data flow over the integer registers; the value of a register at a block's start is
//! known where all ways there agree on it.

mod tails;

use std::collections::BTreeSet;

use crate::function::{Block, Function, holds};
use crate::image::Image;
use crate::ir::{Bin, Callee, End, Ins, Op, Un, Val, Width};
use crate::vars::{GP, RA, RESULTS, SP, T9, Var, Vars};

/// Blocks of a function that are split, at most: constants are found anew behind each.
const MOST_SPLITS: usize = 64;

/// Registers that are followed.
const FOLLOWED: usize = 32;

/// What is known of each register.
#[derive(Clone, PartialEq, Eq)]
struct KnownValues([Option<i32>; FOLLOWED]);

impl KnownValues {
    fn get(&self, value: Val) -> Option<i32> {
        match value {
            Val::Const(value) => Some(value),
            Val::Var(0) => Some(0),
            Val::Var(var) => self.0.get(usize::from(var)).copied().flatten(),
        }
    }

    fn set(&mut self, var: Var, value: Option<i32>) {
        if let Some(known) = self.0.get_mut(usize::from(var)) {
            *known = value;
        }
    }

    /// Forgets what the other does not say as well; tells whether that changed anything.
    fn meet(&mut self, other: &KnownValues) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if *mine != *theirs {
                *mine = None;
            }
        }
        *self != before
    }
}

/// Finds constants, and writes them where they are read.
pub(crate) fn propagate(image: &Image<'_>, function: &mut Function) {
    let mut known = known_before(image, function);
    for _ in 0..MOST_SPLITS {
        if !tails::split(image, function, &known) {
            break;
        }
        known = known_before(image, function);
    }
    for (block, known) in function.blocks.iter_mut().zip(known) {
        if let Some(state) = known {
            rewrite(image, block, state);
        }
    }
}

/// What is known before each block; none of those that no way leads to.
fn known_before(image: &Image<'_>, function: &Function) -> Vec<Option<KnownValues>> {
    let mut begin = KnownValues([None; FOLLOWED]);
    begin.set(GP, Some(image.gp.cast_signed()));
    // The convention of position-independent code: `t9` is the function's own address.
    begin.set(T9, Some(function.start.cast_signed()));
    let mut known: Vec<Option<KnownValues>> = vec![None; function.blocks.len()];
    if let Some(entry) = known.get_mut(function.entry) {
        *entry = Some(begin);
    }
    let mut open = vec![function.entry];
    // Whoever jumps there has set other registers.
    let mut landed = KnownValues([None; FOLLOWED]);
    landed.set(GP, Some(image.gp.cast_signed()));
    for at in function.label_blocks() {
        known[at] = Some(landed.clone());
        open.push(at);
    }
    while let Some(at) = open.pop() {
        let Some(mut state) = known[at].clone() else { continue };
        let block = &function.blocks[at];
        for ins in &block.ins {
            step(image, &mut state, ins);
        }
        for next in &block.next {
            let changed = match &mut known[*next] {
                Some(there) => there.meet(&state),
                empty => {
                    *empty = Some(state.clone());
                    true
                }
            };
            if changed {
                open.push(*next);
            }
        }
    }
    known
}

/// What is known behind an instruction.
fn step(image: &Image<'_>, state: &mut KnownValues, ins: &Ins) {
    let value = evaluate(image, state, ins);
    for var in ins.sets().iter() {
        let value = if Some(var) == ins.d { value } else { None };
        // Where `gp` comes back from the stack, it is what it was.
        let value = if var == GP { value.or(Some(image.gp.cast_signed())) } else { value };
        state.set(var, value);
    }
    if let Op::Call(_) = ins.op {
        for var in RESULTS.iter() {
            state.set(var, None);
        }
    }
}

fn evaluate(image: &Image<'_>, state: &KnownValues, ins: &Ins) -> Option<i32> {
    ins.d?;
    let a = state.get(ins.a)?;
    match ins.op {
        Op::Copy => Some(a),
        Op::Bin(op) => Some(compute(op, a, state.get(ins.b)?)),
        Op::Un(op) => Some(match op {
            Un::LeadingZeros => a.leading_zeros() as i32,
            Un::LeadingOnes => a.leading_ones() as i32,
            Un::SignByte => i32::from(a as i8),
            Un::SignHalf => i32::from(a as i16),
            Un::SwapBytesOfHalves => (a >> 8) & 0x00ff_00ff | (a & 0x00ff_00ff) << 8,
        }),
        Op::Load(Width::I32) if ins.c == Val::ZERO => {
            image.constant(a.wrapping_add(ins.offset).cast_unsigned()).map(u32::cast_signed)
        }
        _ => None,
    }
}

fn compute(op: Bin, a: i32, b: i32) -> i32 {
    match op {
        Bin::Add => a.wrapping_add(b),
        Bin::Sub => a.wrapping_sub(b),
        Bin::And => a & b,
        Bin::Or => a | b,
        Bin::Xor => a ^ b,
        Bin::Nor => !(a | b),
        Bin::Shl => a.wrapping_shl(b.cast_unsigned()),
        Bin::Shr => a.cast_unsigned().wrapping_shr(b.cast_unsigned()).cast_signed(),
        Bin::Sar => a.wrapping_shr(b.cast_unsigned()),
        Bin::Rotr => a.cast_unsigned().rotate_right(b.cast_unsigned() & 31).cast_signed(),
        Bin::Mul => a.wrapping_mul(b),
        Bin::Min => a.min(b),
        Bin::Slt => i32::from(a < b),
        Bin::Sltu => i32::from(a.cast_unsigned() < b.cast_unsigned()),
    }
}

fn rewrite(image: &Image<'_>, block: &mut Block, mut state: KnownValues) {
    for ins in &mut block.ins {
        // Saving `gp` is of no use where it is known.
        if ins.op == Op::Store(Width::I32) && ins.a == Val::Var(SP) && ins.b == Val::Var(GP) {
            *ins = Ins { pc: ins.pc, ..Ins::NOP };
            continue;
        }
        let value = evaluate(image, &state, ins);
        let before = state.clone();
        step(image, &mut state, ins);
        if let Some(value) = value {
            *ins = Ins { pc: ins.pc, ..Ins::new(Op::Copy, ins.d, Val::Const(value), Val::ZERO) };
            continue;
        }
        for operand in [&mut ins.a, &mut ins.b, &mut ins.c] {
            if let Some(value) = before.get(*operand) {
                *operand = Val::Const(value);
            }
        }
        if let Op::Call(callee) = &mut ins.op {
            direct(callee, &before);
        }
        simplify(ins);
    }
    block.ins.retain(|ins| ins.op != Op::Nop && ins.d != Some(GP));
    let replace = |value: &mut Val| {
        if let Some(known) = state.get(*value) {
            *value = Val::Const(known);
        }
    };
    match &mut block.end {
        End::Branch { cond, a, b, taken, next } => {
            replace(a);
            replace(b);
            if let (Val::Const(a), Val::Const(b)) = (&a, &b) {
                let (to, index) = if holds(*cond, *a, *b) { (*taken, 0) } else { (*next, 1) };
                block.end = End::Jump(to);
                block.next = block.next.get(index).copied().into_iter().collect();
            }
        }
        End::Table { to, .. } => {
            if let Some(known) = state.get(*to) {
                block.end = End::Tail(Callee::At(known.cast_unsigned()));
                block.next.clear();
            }
        }
        End::Tail(callee) => direct(callee, &state),
        End::Away(to) | End::Switch { index: to, .. } => replace(to),
        End::Jump(_) | End::Try { .. } | End::Return | End::Stop => {}
    }
}

fn direct(callee: &mut Callee, state: &KnownValues) {
    if let Callee::Through(to) = callee
        && let Some(known) = state.get(*to)
    {
        *callee = Callee::At(known.cast_unsigned());
    }
}

/// What is no operation any more once an operand is known.
fn simplify(ins: &mut Ins) {
    let same = match (ins.op, ins.a, ins.b) {
        (Op::Bin(Bin::Add | Bin::Or | Bin::Xor), Val::Const(0), other) => other,
        (
            Op::Bin(Bin::Add | Bin::Sub | Bin::Or | Bin::Xor | Bin::Shl | Bin::Shr | Bin::Sar),
            other,
            Val::Const(0),
        ) => other,
        _ => return,
    };
    *ins = Ins { pc: ins.pc, ..Ins::new(Op::Copy, ins.d, same, Val::ZERO) };
}

/// The functions whose addresses are used for more than calls, as far as constants show it: values
/// that live instructions of this function move about.
pub(crate) fn moved_constants(ins: &Ins) -> impl Iterator<Item = u32> {
    let operands = match ins.op {
        Op::Call(_) => [Val::ZERO; 3],
        _ => [ins.a, ins.b, ins.c],
    };
    operands.into_iter().filter_map(|operand| match operand {
        Val::Const(value) => Some(value.cast_unsigned()),
        Val::Var(_) => None,
    })
}

/// What functions' addresses may be sums of, where a function keeps the first part for later: the table of
/// global offsets has starts of 64 KiB for what lies near them, and compilers put these on the stack.
pub(crate) struct PartialAddresses {
    /// Multiples of 64 KiB that the function moves about.
    pages: BTreeSet<u32>,
    /// What it adds to values that are not known.
    offsets: BTreeSet<i32>,
    /// Those that make the address of a call.
    calls: BTreeSet<i32>,
}

/// More sums are looked at nowhere: what compilers make has a few.
const MOST_SUMS: usize = 1 << 16;

impl PartialAddresses {
    pub(crate) fn of(function: &Function) -> PartialAddresses {
        let ins = || function.blocks.iter().flat_map(|block| &block.ins);
        let offset = |ins: &Ins| match (ins.op, ins.a, ins.b) {
            (Op::Bin(Bin::Add), Val::Var(_), Val::Const(by)) => Some((by, ins.d == Some(T9))),
            _ => None,
        };
        let offsets = || ins().filter_map(offset);
        let is_page = |value: &u32| *value != 0 && value.is_multiple_of(1 << 16);
        PartialAddresses {
            pages: ins().flat_map(moved_constants).filter(is_page).collect(),
            calls: offsets().filter(|(_, calls)| *calls).map(|(by, _)| by).collect(),
            offsets: offsets().map(|(by, _)| by).collect(),
        }
    }

    /// Where there may be functions that only these sums name.
    pub(crate) fn called(&self) -> impl Iterator<Item = u32> {
        let sum = |page: u32| self.calls.iter().map(move |by| page.wrapping_add_signed(*by));
        self.pages.iter().flat_map(move |page| sum(*page)).take(MOST_SUMS)
    }

    /// Which of these ascending addresses are such sums.
    pub(crate) fn among(&self, starts: &[u32]) -> Vec<usize> {
        let reach = |page: u32| {
            let from = starts.partition_point(|start| *start < page.saturating_sub(1 << 15));
            let near = starts[from..].iter().take_while(move |start| **start < page + (1 << 15));
            near.enumerate().map(move |(index, start)| (from + index, start.wrapping_sub(page)))
        };
        let all = self.pages.iter().flat_map(|page| reach(*page));
        all.filter(|(_, offset)| self.offsets.contains(&offset.cast_signed()))
            .map(|(index, _)| index)
            .collect()
    }
}

/// Drops the blocks that no way leads to any more.
pub(crate) fn prune(function: &mut Function) {
    let mut reached = vec![false; function.blocks.len()];
    let mut open = vec![function.entry];
    open.extend(function.label_blocks());
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            open.extend(&function.blocks[at].next);
        }
    }
    let mut new_index = vec![0; reached.len()];
    let mut count = 0;
    for (new, reached) in new_index.iter_mut().zip(&reached) {
        *new = count;
        count += usize::from(*reached);
    }
    let mut keep = reached.iter();
    function.blocks.retain(|_| keep.next().copied().unwrap_or(false));
    function.entry = new_index[function.entry];
    for block in &mut function.blocks {
        for next in &mut block.next {
            *next = new_index[*next];
        }
    }
}

/// What holds what a caller left in its registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inherited {
    /// Callee-saved registers that hold what they held at the function's start.
    registers: Vars,
    /// Another register with the return address. A function that finds its own address by a branch and link to the next
    /// instruction, as its callers do not pass it in `t9`, keeps the return address there meanwhile.
    return_address: Option<Var>,
}

impl Inherited {
    const NOTHING: Inherited = Inherited { registers: Vars::NONE, return_address: None };

    /// Behind an instruction.
    fn after(self, ins: &Ins) -> Inherited {
        let copied = if ins.op == Op::Copy { ins.a.var() } else { None };
        let (mut registers, mut return_address) =
            (self.registers.without(ins.defs()), self.return_address);
        if return_address.is_some_and(|var| ins.defs().has(var)) {
            return_address = None;
        }
        if copied == Some(RA) && self.registers.has(RA) {
            return_address = ins.d;
        } else if copied.is_some() && copied == self.return_address && ins.d == Some(RA) {
            registers = registers.or(Vars::of(&[RA]));
        }
        Inherited { registers, return_address }
    }

    /// Where control comes from both.
    fn and(self, other: Inherited) -> Inherited {
        let return_address =
            self.return_address.filter(|_| self.return_address == other.return_address);
        Inherited { registers: self.registers.and(other.registers), return_address }
    }
}

/// Removes stores of callee-saved registers that hold what they held at the function's start: a method has its own.
pub(crate) fn drop_saves(function: &mut Function, kept: Vars) {
    let mut known: Vec<Option<Inherited>> = vec![None; function.blocks.len()];
    known[function.entry] = Some(Inherited { registers: kept, return_address: None });
    let mut open = vec![function.entry];
    for at in function.label_blocks() {
        known[at] = Some(Inherited::NOTHING);
        open.push(at);
    }
    while let Some(at) = open.pop() {
        let Some(mut state) = known[at] else { continue };
        let block = &function.blocks[at];
        for ins in &block.ins {
            state = state.after(ins);
        }
        for next in &block.next {
            let met = known[*next].map_or(state, |there| there.and(state));
            if known[*next] != Some(met) {
                known[*next] = Some(met);
                open.push(*next);
            }
        }
    }
    let restored: Vec<(Var, i32)> = function
        .blocks
        .iter()
        .flat_map(|block| &block.ins)
        .filter(|ins| matches!(ins.op, Op::Load(_)) && ins.a == Val::Var(SP))
        .filter_map(|ins| Some((ins.d?, ins.offset)))
        .collect();
    for (block, state) in function.blocks.iter_mut().zip(known) {
        let mut state = state.unwrap_or(Inherited::NOTHING);
        block.ins.retain(|ins| {
            let saves = matches!(ins.op, Op::Store(Width::I32 | Width::F64))
                && ins.a == Val::Var(SP)
                && ins.b.var().is_some_and(|var| {
                    // Kept elsewhere than where it is restored from, it is an argument.
                    let places = restored.iter().filter(|(to, _)| *to == var);
                    let mut places = places.peekable();
                    let alone = places.peek().is_none();
                    state.registers.has(var)
                        && (alone || places.any(|(_, offset)| *offset == ins.offset))
                });
            state = state.after(ins);
            !saves
        });
    }
}
