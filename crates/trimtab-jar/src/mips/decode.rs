//! Instructions without a delay slot, but for floating-point numbers.

use super::{Word, float};
use crate::ir::{Bin, Cond, Ins, Op, Un, Val, Width};
use crate::vars::{FLAG, HI, LO, Var};

fn register(number: u8) -> Val {
    if number == 0 { Val::ZERO } else { Val::Var(number) }
}

/// The instruction at `pc`.
pub(crate) fn decode(pc: u32, word: u32) -> Ins {
    let found = if word == 0 { Some(Ins::NOP) } else { plain(Word(word)) };
    let unknown = Ins { op: Op::Unknown, offset: word.cast_signed(), ..Ins::NOP };
    Ins { pc, ..found.unwrap_or(unknown) }
}

fn bin(op: Bin, d: Var, a: Val, b: Val) -> Option<Ins> {
    Some(match (op, a, b) {
        (Bin::Add | Bin::Or | Bin::Xor | Bin::Sub | Bin::Shl, a, Val::Const(0))
        | (Bin::Add | Bin::Or | Bin::Xor, Val::Const(0), a) => {
            Ins::new(Op::Copy, Some(d), a, Val::ZERO)
        }
        _ => Ins::new(Op::Bin(op), Some(d), a, b),
    })
}

fn plain(word: Word) -> Option<Ins> {
    let (rs, rt) = (register(word.rs()), register(word.rt()));
    let d = word.rt();
    let signed = Val::Const(word.signed());
    let unsigned = Val::Const(word.unsigned());
    match word.op() {
        0 => special(word),
        1 if matches!(word.rt(), 8..=14) => {
            let (cond, is_signed) = trap(word.rt() & 7)?;
            Some(trapping(cond, is_signed, rs, signed, 0))
        }
        // `synci`.
        1 if word.rt() == 31 => Some(Ins::NOP),
        8 | 9 => bin(Bin::Add, d, rs, signed),
        10 => bin(Bin::Slt, d, rs, signed),
        11 => bin(Bin::Sltu, d, rs, signed),
        12 => bin(Bin::And, d, rs, unsigned),
        13 => bin(Bin::Or, d, rs, unsigned),
        14 => bin(Bin::Xor, d, rs, unsigned),
        15 => Some(Ins::new(Op::Copy, Some(d), Val::Const(word.unsigned() << 16), Val::ZERO)),
        17 => float::coprocessor(word),
        19 => float::indexed(word),
        28 => special2(word),
        31 => special3(word),
        32..=38 => {
            let op = match word.op() {
                32 => Op::Load(Width::I8),
                33 => Op::Load(Width::I16),
                34 => Op::LoadPart { left: true },
                35 => Op::Load(Width::I32),
                36 => Op::Load(Width::U8),
                37 => Op::Load(Width::U16),
                _ => Op::LoadPart { left: false },
            };
            let old = if matches!(op, Op::LoadPart { .. }) { rt } else { Val::ZERO };
            Some(Ins { offset: word.signed(), ..Ins::new(op, Some(d), rs, old) })
        }
        40..=43 | 46 => {
            let op = match word.op() {
                40 => Op::Store(Width::I8),
                41 => Op::Store(Width::I16),
                42 => Op::StorePart { left: true },
                43 => Op::Store(Width::I32),
                _ => Op::StorePart { left: false },
            };
            Some(Ins { offset: word.signed(), ..Ins::new(op, None, rs, rt) })
        }
        // `cache` and `pref`.
        47 | 51 => Some(Ins::NOP),
        48 => {
            Some(Ins { offset: word.signed(), ..Ins::new(Op::LoadLinked, Some(d), rs, Val::ZERO) })
        }
        56 => {
            Some(Ins { offset: word.signed(), ..Ins::new(Op::StoreConditional, Some(d), rs, rt) })
        }
        49 | 53 | 57 | 61 => float::memory(word),
        _ => None,
    }
}

fn trap(bits: u8) -> Option<(Cond, bool)> {
    Some(match bits {
        0 => (Cond::Ge, true),
        1 => (Cond::Ge, false),
        2 => (Cond::Lt, true),
        3 => (Cond::Lt, false),
        4 => (Cond::Eq, true),
        6 => (Cond::Ne, true),
        _ => return None,
    })
}

fn trapping(cond: Cond, signed: bool, a: Val, b: Val, code: u16) -> Ins {
    Ins::new(Op::Trap { cond, signed, code }, None, a, b)
}

fn special(word: Word) -> Option<Ins> {
    let (rs, rt) = (register(word.rs()), register(word.rt()));
    let d = word.rd();
    let amount = Val::Const(i32::from(word.sa()));
    let wide = |op| Some(Ins::new(op, None, rs, rt));
    match word.function() {
        0 => bin(Bin::Shl, d, rt, amount),
        1 => Some(Ins {
            c: Val::Var(FLAG + (word.rt() >> 2)),
            ..Ins::new(Op::Select { when: word.rt() & 1 != 0 }, Some(d), rs, register(d))
        }),
        2 => bin(if word.rs() & 1 != 0 { Bin::Rotr } else { Bin::Shr }, d, rt, amount),
        3 => bin(Bin::Sar, d, rt, amount),
        4 => bin(Bin::Shl, d, rt, rs),
        6 => bin(if word.sa() & 1 != 0 { Bin::Rotr } else { Bin::Shr }, d, rt, rs),
        7 => bin(Bin::Sar, d, rt, rs),
        10 | 11 => {
            let op = Op::Select { when: word.function() == 11 };
            Some(Ins { c: rt, ..Ins::new(op, Some(d), rs, register(d)) })
        }
        12 => Some(Ins { op: Op::Syscall, ..Ins::NOP }),
        13 => Some(Ins { op: Op::Break { code: (word.0 >> 16 & 0x3ff) as u16 }, ..Ins::NOP }),
        // `sync`.
        15 => Some(Ins { op: Op::Fence { full: true }, ..Ins::NOP }),
        16 => Some(Ins::new(Op::Copy, Some(d), Val::Var(HI), Val::ZERO)),
        17 => Some(Ins::new(Op::Copy, Some(HI), rs, Val::ZERO)),
        18 => Some(Ins::new(Op::Copy, Some(d), Val::Var(LO), Val::ZERO)),
        19 => Some(Ins::new(Op::Copy, Some(LO), rs, Val::ZERO)),
        24 => wide(Op::MulWide { signed: true }),
        25 => wide(Op::MulWide { signed: false }),
        26 => wide(Op::DivWide { signed: true }),
        27 => wide(Op::DivWide { signed: false }),
        32 | 33 => bin(Bin::Add, d, rs, rt),
        34 | 35 => bin(Bin::Sub, d, rs, rt),
        36 => bin(Bin::And, d, rs, rt),
        37 => bin(Bin::Or, d, rs, rt),
        38 => bin(Bin::Xor, d, rs, rt),
        39 => bin(Bin::Nor, d, rs, rt),
        42 => bin(Bin::Slt, d, rs, rt),
        43 => bin(Bin::Sltu, d, rs, rt),
        function @ 48..=54 => {
            let (cond, signed) = trap((function & 7) as u8)?;
            Some(trapping(cond, signed, rs, rt, (word.0 >> 6 & 0x3ff) as u16))
        }
        _ => None,
    }
}

fn special2(word: Word) -> Option<Ins> {
    let (rs, rt) = (register(word.rs()), register(word.rt()));
    let accumulate =
        |signed, subtract| Some(Ins::new(Op::MulAdd { signed, subtract }, None, rs, rt));
    match word.function() {
        0 => accumulate(true, false),
        1 => accumulate(false, false),
        2 => bin(Bin::Mul, word.rd(), rs, rt),
        4 => accumulate(true, true),
        5 => accumulate(false, true),
        32 => Some(Ins::new(Op::Un(Un::LeadingZeros), Some(word.rd()), rs, Val::ZERO)),
        33 => Some(Ins::new(Op::Un(Un::LeadingOnes), Some(word.rd()), rs, Val::ZERO)),
        _ => None,
    }
}

fn special3(word: Word) -> Option<Ins> {
    let (rs, rt) = (register(word.rs()), register(word.rt()));
    let (low, high) = (word.sa(), word.rd());
    match word.function() {
        0 if low + high < 32 => {
            Some(Ins::new(Op::Extract { low, size: high + 1 }, Some(word.rt()), rs, Val::ZERO))
        }
        4 if high >= low => {
            let op = Op::Insert { low, size: high - low + 1 };
            Some(Ins::new(op, Some(word.rt()), rs, rt))
        }
        32 => {
            let un = match word.sa() {
                2 => Un::SwapBytesOfHalves,
                16 => Un::SignByte,
                24 => Un::SignHalf,
                _ => return None,
            };
            Some(Ins::new(Op::Un(un), Some(word.rd()), rt, Val::ZERO))
        }
        // `rdhwr`: the thread's pointer. The size of a line to write back, and the count of cycles,
        // are zero to programs: neither is needed.
        59 if word.rd() == 29 => Some(Ins::new(Op::Thread, Some(word.rt()), Val::ZERO, Val::ZERO)),
        59 if word.rd() < 4 => Some(Ins::new(Op::Copy, Some(word.rt()), Val::ZERO, Val::ZERO)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_operands_that_the_manual_says() {
        let ins = |word| decode(0x40_0000, word);
        let (v0, a0) = (Val::Var(2), Val::Var(4));
        let add = ins(0x2482_fffc);
        assert_eq!((add.op, add.d, add.a, add.b), (Op::Bin(Bin::Add), Some(2), a0, Val::Const(-4)));
        let load = ins(0x8c82_0008);
        assert_eq!((load.op, load.d, load.a, load.offset), (Op::Load(Width::I32), Some(2), a0, 8));
        let store = ins(0xac82_0008);
        assert_eq!((store.op, store.d, store.a, store.b), (Op::Store(Width::I32), None, a0, v0));
        // movn v0, a0, v1
        let select = ins(0x0083_100b);
        assert_eq!(select.op, Op::Select { when: true });
        assert_eq!((select.a, select.b, select.c), (a0, v0, Val::Var(3)));
        // ext v0, a0, 4, 8; ins v0, a0, 4, 8
        assert_eq!(ins(0x7c82_3900).op, Op::Extract { low: 4, size: 8 });
        assert_eq!(ins(0x7c82_5904).op, Op::Insert { low: 4, size: 8 });
        // seb v0, a0; rdhwr v1, $29
        assert_eq!(ins(0x7c04_1420).op, Op::Un(Un::SignByte));
        assert_eq!(ins(0x7c03_e83b).op, Op::Thread);
        // What register 0 is set to is lost; a word that is no instruction is kept.
        assert_eq!(ins(0x0000_0025).d, None);
        assert_eq!((ins(0xffff_ffff).op, ins(0xffff_ffff).offset), (Op::Unknown, -1));
    }

    #[test]
    fn any_word_is_decoded() {
        for high in 0..=0xffff_u32 {
            for low in [0, 0x3b, 0x7ff, 0x1234, 0xffff] {
                let ins = decode(0, high << 16 | low);
                assert!(ins.d != Some(0));
            }
        }
    }
}
