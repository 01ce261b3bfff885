//! How AArch64 code goes on.
//!
//! Source: *Arm Architecture Reference Manual for A-profile*, section C4.1, "A64 instruction set
//! encoding", group "Branches, exception generating and system instructions".

use super::{Flow, Instruction};

/// Bytes of every instruction.
const LENGTH: usize = 4;

/// The instruction at `address`, where `code` goes on with it.
pub(super) fn decode(address: u64, code: &[u8]) -> Option<Instruction> {
    let bytes = code.get(..LENGTH)?.try_into().ok()?;
    let word = u32::from_le_bytes(bytes);
    // The distance in a field of `bits` bits whose lowest is `low`, in instructions.
    let target = |low: u32, bits: u32| {
        let field = word << (32 - low - bits);
        let distance = i64::from(field.cast_signed() >> (32 - bits)) * LENGTH as i64;
        address.wrapping_add_signed(distance)
    };
    let flow = match word >> 24 {
        // `udf`: all of its high half is zero.
        0x00 if word >> 16 == 0 => Flow::Trap,
        0x14..=0x17 => Flow::Jump(target(0, 26)),
        // `cbz` and `cbnz`, of half and whole registers.
        0x34 | 0x35 | 0xb4 | 0xb5 => Flow::Conditional(target(5, 19)),
        // `tbz` and `tbnz`.
        0x36 | 0x37 | 0xb6 | 0xb7 => Flow::Conditional(target(5, 14)),
        // `b.cond` and `bc.cond`.
        0x54 => Flow::Conditional(target(5, 19)),
        // `brk` and `hlt`; `svc` and the like come back.
        0xd4 if matches!((word >> 21) & 7, 1 | 2) => Flow::Trap,
        // Jumps to registers: calls come back, all others go away.
        0xd6 | 0xd7 => match (word >> 21) & 0xf {
            1 | 9 => Flow::Next,
            _ => Flow::Away,
        },
        _ => Flow::Next,
    };
    Some(Instruction { length: LENGTH, flow })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as `llvm-mc` makes them, at address 0x1000.
    #[test]
    fn each_class_is_told_apart() {
        for (word, flow) in [
            (0xd503_201f_u32, Flow::Next),            // nop
            (0x1400_0003, Flow::Jump(0x100c)),        // b +12
            (0x17ff_ffff, Flow::Jump(0xffc)),         // b -4
            (0x9400_0003, Flow::Next),                // bl
            (0x5400_0040, Flow::Conditional(0x1008)), // b.eq +8
            (0x54ff_ffe1, Flow::Conditional(0xffc)),  // b.ne -4
            (0x3400_0040, Flow::Conditional(0x1008)), // cbz w0
            (0xb5ff_ffe0, Flow::Conditional(0xffc)),  // cbnz x0
            (0x3600_0040, Flow::Conditional(0x1008)), // tbz w0, #0
            (0xb77f_ffe0, Flow::Conditional(0xffc)),  // tbnz x0, #47
            (0xd61f_0000, Flow::Away),                // br x0
            (0xd63f_0000, Flow::Next),                // blr x0
            (0xd65f_03c0, Flow::Away),                // ret
            (0xd65f_0bff, Flow::Away),                // retaa
            (0xd71f_0801, Flow::Away),                // braa x0, x1
            (0xd73f_0801, Flow::Next),                // blraa x0, x1
            (0xd69f_03e0, Flow::Away),                // eret
            (0xd421_0000, Flow::Trap),                // brk #0x800
            (0xd400_0001, Flow::Next),                // svc #0
            (0x0000_0000, Flow::Trap),                // udf #0
        ] {
            let found = decode(0x1000, &word.to_le_bytes());
            assert_eq!(found, Some(Instruction { length: 4, flow }), "{word:08x}");
        }
        assert_eq!(decode(0x1000, &[0, 0, 0]), None);
    }
}
