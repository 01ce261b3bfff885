//! Numbers of registers in DWARF, and how unwinders know a stub.

use crate::cfi::StubFrame;

/// Bytes of `endbr64`.
pub const LANDING: u64 = 4;
/// Number of rsp in DWARF.
pub const RSP: u16 = 7;
/// Number of rbp in DWARF.
pub const RBP: u16 = 6;
/// Number of rsi in DWARF.
pub const RSI: u16 = 4;
/// Number of rdi in DWARF.
pub const RDI: u16 = 5;
/// Number of rbx in DWARF.
pub const RBX: u16 = 3;
/// Number of r11 in DWARF.
pub const R11: u16 = 11;
/// Number of the return address in DWARF.
pub const RETURN: u16 = 16;

/// What stands where the body returns to in stubs that have a frame: `mov %r11, 8(%rbx)`, and
/// `nopl 84(%rax)`, which no compiler writes. `probe/x86_64.h` has it, too.
pub const MARK: [u8; 8] = [0x4c, 0x89, 0x5b, 0x08, 0x0f, 0x1f, 0x40, 0x54];
/// The CFI of stubs with a frame.
pub const STUB_FRAME: StubFrame =
    StubFrame { stack: RSP, frame: RBX, mark: &MARK, signal_return: None };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::header::number_in;

    #[test]
    fn the_run_time_has_the_same_numbers() {
        let header = include_str!("../../../../../probe/x86_64.h");
        let mut mark = [0; 8];
        mark[..MARK.len()].copy_from_slice(&MARK);
        assert_eq!(number_in(header, "STUB_MARK"), Some(u64::from_le_bytes(mark)));
        assert_eq!(number_in(header, "FRAME_REGISTER"), Some(STUB_FRAME.frame.into()));
        assert_eq!(number_in(header, "STACK_REGISTER"), Some(STUB_FRAME.stack.into()));
    }
}
