//! Registers of stubs by their numbers in DWARF, and how unwinders know a stub.

use super::decode::SP;
use crate::cfi::StubFrame;

/// Number of the register that points at a stub's frame.
pub const FRAME: u16 = 19;
/// Number of a register that holds nothing when functions are entered and when they have returned.
pub const SCRATCH: u16 = 16;
/// What stands where the body returns to in stubs that have a frame: `movz xzr, #0x5442`, which no
/// compiler writes. `probe/aarch64.h` has it, too.
pub const MARK: [u8; 4] = 0xd28a_885fu32.to_le_bytes();
/// The CFI of stubs with a frame.
pub const STUB_FRAME: StubFrame =
    StubFrame { stack: SP, frame: FRAME, mark: &MARK, signal_return: Some(SIGNAL_RETURN) };
/// `mov x8, #139`, with which Linux has handlers of signals return.
pub const SIGNAL_RETURN: u32 = 0xd280_1168;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::header::number_in;

    #[test]
    fn the_run_time_has_the_same_numbers() {
        let header = include_str!("../../../../../probe/aarch64.h");
        let mut mark = [0; 8];
        mark[..MARK.len()].copy_from_slice(&MARK);
        assert_eq!(number_in(header, "STUB_MARK"), Some(u64::from_le_bytes(mark)));
        assert_eq!(number_in(header, "FRAME_REGISTER"), Some(STUB_FRAME.frame.into()));
        assert_eq!(number_in(header, "STACK_REGISTER"), Some(STUB_FRAME.stack.into()));
    }
}
