//! How MIPS32 code goes on.
//!
//! A jump and the instruction in its delay slot count as one instruction of eight bytes: nothing may
//! come between them.
//!
//! Source: *MIPS Architecture for Programmers, Volume II-A: The MIPS32 Instruction Set*, release 5.

use super::{Flow, Instruction};

/// Bytes of every instruction.
const LENGTH: usize = 4;

/// The instruction at `address`, where `code` goes on with it.
pub(super) fn decode(address: u64, code: &[u8]) -> Option<Instruction> {
    let bytes = code.get(..LENGTH)?.try_into().ok()?;
    let word = u32::from_le_bytes(bytes);
    let near = i64::from(word.cast_signed() << 16 >> 14);
    let branch = address.wrapping_add(4).wrapping_add_signed(near);
    let jump = (address.wrapping_add(4) & !0x0fff_ffff) | u64::from((word & 0x03ff_ffff) << 2);
    let (rs, rt) = ((word >> 21) & 31, (word >> 16) & 31);
    // None where no delay slot follows.
    let flow = match word >> 26 {
        0 => match word & 63 {
            8 => Some(Flow::Away),
            9 => Some(Flow::Next),
            // `break`.
            13 => return Some(Instruction { length: LENGTH, flow: Flow::Trap }),
            _ => None,
        },
        1 => match rt {
            1 | 3 if rs == 0 => Some(Flow::Jump(branch)),
            0..=3 => Some(Flow::Conditional(branch)),
            // Calls.
            16..=19 => Some(Flow::Next),
            _ => None,
        },
        2 => Some(Flow::Jump(jump)),
        3 => Some(Flow::Next),
        4 | 20 if rs == rt => Some(Flow::Jump(branch)),
        4..=7 | 20..=23 => Some(Flow::Conditional(branch)),
        // `bc1f` and the like.
        17 if rs == 8 => Some(Flow::Conditional(branch)),
        _ => None,
    };
    Some(match flow {
        // The last instruction of a damaged function has no slot.
        Some(flow) => Instruction { length: (2 * LENGTH).min(code.len()), flow },
        None => Instruction { length: LENGTH, flow: Flow::Next },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(word: u32) -> (usize, Flow) {
        let code: Vec<u8> = [word, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        let instruction = decode(0x40_1000, &code).unwrap();
        (instruction.length, instruction.flow)
    }

    #[test]
    fn jumps_take_their_delay_slot_with_them() {
        assert_eq!(flow(0x2402_0001), (4, Flow::Next), "li v0, 1");
        assert_eq!(flow(0x1040_0003), (8, Flow::Conditional(0x40_1010)), "beqz v0, +3");
        assert_eq!(flow(0x1000_fffe), (8, Flow::Jump(0x40_0ffc)), "b -2");
        assert_eq!(flow(0x0810_0000), (8, Flow::Jump(0x40_0000)), "j 0x400000");
        assert_eq!(flow(0x0c10_0000), (8, Flow::Next), "jal 0x400000");
        assert_eq!(flow(0x03e0_0008), (8, Flow::Away), "jr ra");
        assert_eq!(flow(0x0320_f809), (8, Flow::Next), "jalr t9");
        assert_eq!(flow(0x0411_0001), (8, Flow::Next), "bal +1");
        assert_eq!(flow(0x0441_0001), (8, Flow::Conditional(0x40_1008)), "bgez v0, +1");
        assert_eq!(flow(0x4501_0001), (8, Flow::Conditional(0x40_1008)), "bc1t +1");
        assert_eq!(flow(0x0000_000d), (4, Flow::Trap), "break");
        assert_eq!(decode(0, &[0; 3]), None, "half an instruction");
        let cut = decode(0, &0x03e0_0008_u32.to_le_bytes()).unwrap();
        assert_eq!((cut.length, cut.flow), (4, Flow::Away), "the slot is not in the file");
    }
}
