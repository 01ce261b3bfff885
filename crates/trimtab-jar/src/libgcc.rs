//! Functions of the compiler's own library that compute with 64-bit numbers, which a 32-bit processor has no instructions
//! for: Java has.
//!
//! What is the same for all operands is replaced: quotients, remainders, and conversions to floating-point numbers.
//! Conversions to integers are not, as what is too large for these becomes something else in Java.

use crate::function::{Function, new_block, new_function};
use crate::image::Image;
use crate::ir::{Bin, Cond, Convert, End, Ins, Op, Val, Wide};
use crate::vars::{A0, A1, A2, A3, DOUBLE, SINGLE, V0, V1, Var, WIDE};
use std::collections::BTreeMap;

/// What such a function computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Quotient { signed: bool },
    Remainder { signed: bool },
    ToDouble { signed: bool },
    ToSingle,
}

use Arithmetic::{Quotient, Remainder, ToDouble, ToSingle};

/// By their names in `libgcc` and in `compiler-rt`.
const FUNCTIONS: [(&str, Arithmetic); 7] = [
    ("__divdi3", Quotient { signed: true }),
    ("__udivdi3", Quotient { signed: false }),
    ("__moddi3", Remainder { signed: true }),
    ("__umoddi3", Remainder { signed: false }),
    ("__floatdidf", ToDouble { signed: true }),
    ("__floatundidf", ToDouble { signed: false }),
    ("__floatdisf", ToSingle),
];

/// Those of a program, by address. Where instructions are counted there are none, and where another rounding than to
/// nearest can be asked for, no conversions. Without symbols there are none.
pub(crate) fn arithmetic(image: &Image<'_>, counted: bool) -> BTreeMap<u32, Arithmetic> {
    let divides = |what: &Arithmetic| matches!(what, Quotient { .. } | Remainder { .. });
    let rounds = image.sets_rounding();
    FUNCTIONS
        .iter()
        .filter(|(_, what)| !counted && (divides(what) || !rounds))
        .filter_map(|(name, what)| Some((*image.symbols.get(*name)?, *what)))
        .collect()
}

/// A function that does this.
pub(crate) fn computing(start: u32, name: &str, what: Arithmetic) -> Function {
    let (a, b, result) = (WIDE, WIDE + 1, WIDE + 2);
    let ins =
        |op, d: Var, a: Var, b: Val| Ins { pc: start, ..Ins::new(op, Some(d), Val::Var(a), b) };
    let join = |d, low, high| ins(Op::Wide(Wide::Join), d, low, Val::Var(high));
    let divide = |wide| {
        let either = ins(Op::Bin(Bin::Or), V0, A2, Val::Var(A3));
        // As the library has it: no number that says why.
        let trap = Op::Trap { cond: Cond::Eq, signed: true, code: 0 };
        vec![
            either,
            Ins { pc: start, ..Ins::new(trap, None, Val::Var(V0), Val::ZERO) },
            join(a, A0, A1),
            join(b, A2, A3),
            ins(Op::Wide(wide), result, a, Val::Var(b)),
            ins(Op::Wide(Wide::Low), V0, result, Val::ZERO),
            ins(Op::Wide(Wide::High), V1, result, Val::ZERO),
        ]
    };
    let convert = |convert, d| vec![join(a, A0, A1), ins(Op::Convert(convert), d, a, Val::ZERO)];
    let all = match what {
        Quotient { signed } => divide(Wide::Div { signed }),
        Remainder { signed } => divide(Wide::Rem { signed }),
        ToDouble { signed } => convert(Convert::LongToDouble { signed }, DOUBLE),
        ToSingle => convert(Convert::LongToSingle, SINGLE),
    };
    new_function(start, name, vec![new_block(start, all, End::Return)], 0)
}
