//! Jumps, branches and calls.

use super::Word;
use crate::ir::{Cond, Val};
use crate::vars::{FLAG, Var};

/// Where a jump leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    At(u32),
    Register(Var),
}

/// What an instruction with a delay slot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Jump(Where),
    Call(Where),
    /// `likely`: the slot is only executed if the branch is taken.
    Branch {
        cond: Cond,
        a: Val,
        b: Val,
        to: u32,
        likely: bool,
    },
    /// A branch that also sets `ra`, on a condition: nothing that compilers make.
    BranchAndLink,
}

fn register(number: u8) -> Val {
    if number == 0 { Val::ZERO } else { Val::Var(number) }
}

/// What the instruction at `pc` does, if it has a delay slot.
pub(crate) fn control(pc: u32, word: u32) -> Option<Control> {
    let word = Word(word);
    let near = pc.wrapping_add(4).wrapping_add_signed(word.signed() << 2);
    let far = (pc.wrapping_add(4) & 0xf000_0000) | ((word.0 & 0x03ff_ffff) << 2);
    let (rs, rt) = (word.rs(), word.rt());
    let branch = |cond, b| {
        let likely = word.op() >= 20 || word.op() == 1 && rt & 2 != 0;
        Some(Control::Branch { cond, a: register(rs), b, to: near, likely })
    };
    match word.op() {
        0 => match word.function() {
            8 => Some(Control::Jump(Where::Register(rs))),
            9 if word.rd() == 0 => Some(Control::Jump(Where::Register(rs))),
            9 => Some(Control::Call(Where::Register(rs))),
            _ => None,
        },
        1 => match rt {
            1 | 3 if rs == 0 => Some(Control::Jump(Where::At(near))),
            0 | 2 => branch(Cond::Lt, Val::ZERO),
            1 | 3 => branch(Cond::Ge, Val::ZERO),
            17 if rs == 0 => Some(Control::Call(Where::At(near))),
            16..=19 => Some(Control::BranchAndLink),
            _ => None,
        },
        2 => Some(Control::Jump(Where::At(far))),
        3 => Some(Control::Call(Where::At(far))),
        4 | 20 if rs == rt => Some(Control::Jump(Where::At(near))),
        4 | 20 => branch(Cond::Eq, register(rt)),
        5 | 21 => branch(Cond::Ne, register(rt)),
        6 | 22 if rt == 0 => branch(Cond::Le, Val::ZERO),
        7 | 23 if rt == 0 => branch(Cond::Gt, Val::ZERO),
        17 if rs == 8 => {
            let flag = FLAG + (rt >> 2);
            let cond = if rt & 1 != 0 { Cond::Ne } else { Cond::Eq };
            let likely = rt & 2 != 0;
            Some(Control::Branch { cond, a: Val::Var(flag), b: Val::ZERO, to: near, likely })
        }
        _ => None,
    }
}
