//! MIPS32 instructions.
//!
//! Source: *MIPS Architecture for Programmers, Volume II-A: The MIPS32 Instruction Set*, release 5.

mod control;
mod decode;
mod float;

pub(crate) use control::{Control, Where, control};
pub(crate) use decode::decode;

/// An instruction's word, by its fields.
#[derive(Debug, Clone, Copy)]
struct Word(u32);

impl Word {
    fn op(self) -> u32 {
        self.0 >> 26
    }

    fn rs(self) -> u8 {
        (self.0 >> 21 & 31) as u8
    }

    fn rt(self) -> u8 {
        (self.0 >> 16 & 31) as u8
    }

    fn rd(self) -> u8 {
        (self.0 >> 11 & 31) as u8
    }

    fn sa(self) -> u8 {
        (self.0 >> 6 & 31) as u8
    }

    fn function(self) -> u32 {
        self.0 & 63
    }

    fn signed(self) -> i32 {
        i32::from(self.0 as i16)
    }

    fn unsigned(self) -> i32 {
        (self.0 & 0xffff) as i32
    }
}
