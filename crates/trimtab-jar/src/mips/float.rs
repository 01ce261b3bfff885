//! Floating-point instructions. Registers are 32 bits wide, and a double is in a pair of them
//! (`FR` = 0): what programs for either width (`-mfpxx`) run with.

use super::Word;
use crate::ir::{Convert, Float, Ins, Op, Round, Val, Width};
use crate::vars::{BITS, DOUBLE, FLAG, SINGLE, Var};

fn register(number: u8) -> Val {
    if number == 0 { Val::ZERO } else { Val::Var(number) }
}

/// Loads and stores of floating-point registers.
pub(super) fn memory(word: Word) -> Option<Ins> {
    let base = register(word.rs());
    let (bits, double) = (BITS + word.rt(), DOUBLE + word.rt() / 2);
    let ins = match word.op() {
        49 => Ins::new(Op::Load(Width::I32), Some(bits), base, Val::ZERO),
        53 => Ins::new(Op::Load(Width::F64), Some(double), base, Val::ZERO),
        57 => Ins::new(Op::Store(Width::I32), None, base, Val::Var(bits)),
        _ => Ins::new(Op::Store(Width::F64), None, base, Val::Var(double)),
    };
    Some(Ins { offset: word.signed(), ..ins })
}

/// `COP1X`: memory with an index, and multiplication with addition.
pub(super) fn indexed(word: Word) -> Option<Ins> {
    let (base, index) = (register(word.rs()), register(word.rt()));
    let (bits, double) = (BITS + word.sa(), DOUBLE + word.sa() / 2);
    let ins = match word.function() {
        0 => Ins::new(Op::Load(Width::I32), Some(bits), base, Val::ZERO),
        1 => Ins::new(Op::Load(Width::F64), Some(double), base, Val::ZERO),
        8 => Ins::new(Op::Store(Width::I32), None, base, Val::Var(BITS + word.rd())),
        9 => Ins::new(Op::Store(Width::F64), None, base, Val::Var(DOUBLE + word.rd() / 2)),
        // `prefx`.
        15 => return Some(Ins::NOP),
        function @ 32..=63 => {
            let form = form(function & 7)?;
            let op = Op::FloatMulAdd { subtract: function & 8 != 0, negate: function & 16 != 0 };
            let ins = Ins::new(
                op,
                Some(form(word.sa())),
                operand(form, word.rd()),
                operand(form, word.rt()),
            );
            return Some(Ins { c: operand(form, word.rs()), ..ins });
        }
        _ => return None,
    };
    Some(Ins { c: index, ..ins })
}

type Form = fn(u8) -> Var;

fn single(number: u8) -> Var {
    SINGLE + number
}

fn double(number: u8) -> Var {
    DOUBLE + number / 2
}

fn form(format: u32) -> Option<Form> {
    match format {
        0 => Some(single),
        1 => Some(double),
        _ => None,
    }
}

fn operand(form: Form, number: u8) -> Val {
    Val::Var(form(number))
}

/// `COP1`.
pub(super) fn coprocessor(word: Word) -> Option<Ins> {
    let (rt, low) = (register(word.rt()), BITS + word.rd());
    // The high half of a pair is the bits of its odd register.
    let high = BITS + (word.rd() | 1);
    let copy = |d, a| Some(Ins::new(Op::Copy, Some(d), a, Val::ZERO));
    match word.rs() {
        0 => copy(word.rt(), Val::Var(low)),
        2 => Some(Ins::new(Op::GetControl, Some(word.rt()), Val::ZERO, Val::ZERO)),
        3 => copy(word.rt(), Val::Var(high)),
        4 => copy(low, rt),
        // Only the whole register sets what rounding is like.
        6 if word.rd() == 31 => Some(Ins::new(Op::SetControl, None, rt, Val::ZERO)),
        6 => None,
        7 => copy(high, rt),
        16 => arithmetic(word, single),
        17 => arithmetic(word, double),
        20 => {
            let from = Val::Var(low);
            let (convert, d) = match word.function() {
                32 => (Convert::IntToSingle, single(word.sa())),
                33 => (Convert::IntToDouble, double(word.sa())),
                _ => return None,
            };
            Some(Ins::new(Op::Convert(convert), Some(d), from, Val::ZERO))
        }
        _ => None,
    }
}

fn arithmetic(word: Word, form: Form) -> Option<Ins> {
    let is_double = form(0) == DOUBLE;
    let (a, b, d) = (operand(form, word.rd()), operand(form, word.rt()), form(word.sa()));
    let two = |op| Some(Ins::new(Op::Float(op), Some(d), a, b));
    let one = |op| Some(Ins::new(Op::Float(op), Some(d), a, Val::ZERO));
    let to_int = |round| {
        let convert =
            if is_double { Convert::DoubleToInt(round) } else { Convert::SingleToInt(round) };
        Some(Ins::new(Op::Convert(convert), Some(BITS + word.sa()), a, Val::ZERO))
    };
    let select =
        |when, c| Some(Ins { c, ..Ins::new(Op::Select { when }, Some(d), a, Val::Var(d)) });
    match word.function() {
        0 => two(Float::Add),
        1 => two(Float::Sub),
        2 => two(Float::Mul),
        3 => two(Float::Div),
        4 => one(Float::Sqrt),
        5 => one(Float::Abs),
        6 => one(Float::Move),
        7 => one(Float::Neg),
        12 => to_int(Round::Nearest),
        13 => to_int(Round::Zero),
        14 => to_int(Round::Up),
        15 => to_int(Round::Down),
        17 => select(word.rt() & 1 != 0, Val::Var(FLAG + (word.rt() >> 2))),
        18 => select(false, register(word.rt())),
        19 => select(true, register(word.rt())),
        21 => one(Float::Reciprocal),
        22 => one(Float::ReciprocalSqrt),
        32 if is_double => {
            let op = Op::Convert(Convert::DoubleToSingle);
            Some(Ins::new(op, Some(single(word.sa())), a, Val::ZERO))
        }
        33 if !is_double => {
            let op = Op::Convert(Convert::SingleToDouble);
            Some(Ins::new(op, Some(double(word.sa())), a, Val::ZERO))
        }
        36 => to_int(Round::Current),
        function @ 48..=63 => {
            let op = Op::FloatCompare { bits: (function & 15) as u8 };
            Some(Ins::new(op, Some(FLAG + (word.sa() >> 2)), a, b))
        }
        _ => None,
    }
}
