//! What Java's floating-point arithmetic leaves open, or does in one way only.
//!
//! The numbers that are none (NaN) of a processor of MIPS tell quiet from signalling ones the other way around than those of
//! today's machines, and C libraries look at that: `fmax`, `pow`, `hypot`. So what arithmetic made becomes one that is quiet to
//! MIPS before its bits can be seen: where it is stored, passed, given back, or moved to a register for integers. What
//! was only loaded or moved keeps its bits, whatever they mean.
//!
//! Java always rounds to nearest. Where a program may say otherwise, arithmetic looks at the control register.

use crate::function::{Block, Function};
use crate::ir::{Bin, Convert, End, Float, Ins, Op, Val, Width};
use crate::vars::{
    BITS, DOUBLE, FLAG, FLOAT_RESULTS, SINGLE, Var, Vars, forms, forms_of_half, forms_of_pair,
};

/// All forms of registers for floating-point arguments.
const ARGUMENTS: Vars = forms_of_pair(12).or(forms_of_pair(14));

/// Makes numbers that are none quiet where their bits can be seen.
pub(crate) fn quiet(function: &mut Function) {
    if !function.blocks.iter().flat_map(|block| &block.ins).any(makes) {
        return;
    }
    let mut before: Vec<Option<Vars>> = vec![None; function.blocks.len()];
    before[function.entry] = Some(Vars::NONE);
    let mut open = vec![function.entry];
    for label in function.label_blocks() {
        before[label] = Some(Vars::NONE);
        open.push(label);
    }
    while let Some(at) = open.pop() {
        let block = &function.blocks[at];
        let mut state = before[at].unwrap_or_default();
        walk(block, &mut state, |_, _| {});
        for to in &block.next {
            let met = before[*to].unwrap_or_default().or(state);
            if before[*to] != Some(met) {
                before[*to] = Some(met);
                open.push(*to);
            }
        }
    }
    for (block, before) in function.blocks.iter_mut().zip(before) {
        let mut found = Vec::new();
        walk(block, &mut before.unwrap_or_default(), |at, var| found.push((at, var)));
        for (at, var) in found.into_iter().rev() {
            let pc = block.ins.get(at).or(block.ins.last()).map_or(block.key & !3, |ins| ins.pc);
            let ins = Ins::new(Op::Float(Float::Quiet), Some(var), Val::Var(var), Val::ZERO);
            block.ins.insert(at, Ins { pc, ..ins });
        }
    }
}

/// Whether an instruction makes a number.
fn makes(ins: &Ins) -> bool {
    match ins.op {
        Op::Float(float) => !matches!(float, Float::Abs | Float::Neg | Float::Move | Float::Quiet),
        Op::FloatMulAdd { .. } | Op::Convert(Convert::DoubleToSingle | Convert::SingleToDouble) => {
            true
        }
        _ => false,
    }
}

/// Goes through a block. `state` are the variables that arithmetic made; says before which instruction, or the end, which
/// of them have to be quiet.
fn walk(block: &Block, state: &mut Vars, mut needs: impl FnMut(usize, Var)) {
    let mut see = |at: usize, seen: Vars, state: &mut Vars| {
        for var in state.and(seen).iter() {
            // A register that holds either a `float` or a half of a `double` is not known well enough.
            if !forms(var).without(Vars::of(&[var])).meets(*state) {
                needs(at, var);
            }
        }
        *state = state.without(seen);
    };
    for (at, ins) in block.ins.iter().enumerate() {
        let seen = match ins.op {
            Op::Store(Width::F64) => ins.uses().and(NATURAL.without(SINGLES)),
            Op::Call(_) => natural(ARGUMENTS),
            _ => ins.uses().iter().fold(Vars::NONE, |all, var| match var {
                BITS..SINGLE => all.or(natural(forms_of_half(var - BITS))),
                _ => all,
            }),
        };
        see(at, seen, state);
        let carries = match ins.op {
            Op::Float(Float::Abs | Float::Neg | Float::Move) | Op::Select { .. } => {
                ins.uses().meets(*state)
            }
            _ => makes(ins),
        };
        let set = match ins.op {
            Op::Call(_) => FLOAT_RESULTS,
            _ => ins.defs(),
        };
        *state = state.without(set);
        if carries && let Some(d) = ins.d {
            state.add(d);
        }
        *state = state.and(NATURAL);
    }
    let seen = match block.end {
        End::Return => FLOAT_RESULTS,
        End::Tail(_) | End::Table { is_goto: false, .. } => ARGUMENTS.or(FLOAT_RESULTS),
        _ => return,
    };
    see(block.ins.len(), natural(seen), state);
}

/// The forms that arithmetic sets.
const NATURAL: Vars = Vars::between(SINGLE, FLAG);
const SINGLES: Vars = Vars::between(SINGLE, DOUBLE);

fn natural(vars: Vars) -> Vars {
    vars.and(NATURAL)
}

/// Whether a function makes the processor round otherwise than to nearest, by itself: `fma` does. Most others of a C library
/// that set the control register make it round to nearest for a while, and then as before.
pub(crate) fn sets_rounding(function: &Function) -> bool {
    function.blocks.iter().any(|block| {
        block.ins.iter().enumerate().any(|(at, ins)| {
            let Op::SetControl = ins.op else { return false };
            let Val::Var(var) = ins.a else { return ins.a != Val::ZERO };
            let made = block.ins[..at].iter().rev().find(|other| other.defs().has(var));
            made.is_some_and(|made| match (made.op, made.a, made.b) {
                (Op::Bin(Bin::Or), _, Val::Const(bits)) => bits & 3 != 0,
                (Op::Insert { low: 0, .. }, Val::Const(bits), _) => bits & 3 != 0,
                _ => false,
            })
        })
    })
}
