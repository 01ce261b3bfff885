//! What the instructions of a function refer to: what they call, where they jump, whose address
//! they take.
//!
//! Instructions are decoded one behind the other from the function's first byte; bytes that are no
//! instruction are passed over one by one.

use crate::PAGE_SIZE;
use crate::isa::Isa;
use crate::program::Program;
use crate::ranges::Range;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

/// What an instruction refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// It calls this address.
    Call(u64),
    /// It jumps to this address, always or on a condition.
    Jump(u64),
    /// It calls what a register or memory says.
    IndirectCall,
    /// It jumps to where a register or memory says: the end of a function that calls another, or a
    /// choice of cases.
    IndirectJump,
    /// It reads or writes at this address, or computes it. Known for x86-64 only.
    Address(u64),
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionReferences {
    /// Where it lies.
    pub range: Range,
    /// How it transfers control away, if not to the next one or back to a caller.
    pub transfer: Option<Target>,
    /// Addresses that it names beside that.
    pub addresses: [Option<u64>; 2],
}

/// The instructions of `range`, in order; none where its bytes are not in the file.
pub fn instructions<'a>(
    program: &'a Program<'_>,
    range: Range,
) -> impl Iterator<Item = InstructionReferences> + 'a {
    let isa = program.isa();
    let code = program.bytes(range).unwrap_or_default();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < code.len() {
            let address = range.start.wrapping_add(at as u64);
            let found = match isa {
                Isa::X86_64 => x86_64(address, &code[at..]),
                Isa::Aarch64 => aarch64(address, &code[at..]),
                Isa::Mips32 => mips32(address, &code[at..]),
            };
            match found {
                Some(found) => {
                    at += found.range.length() as usize;
                    return Some(found);
                }
                None => at += 1,
            }
        }
        None
    })
}

fn x86_64(address: u64, code: &[u8]) -> Option<InstructionReferences> {
    let code = &code[..code.len().min(15)];
    let decoded = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
    if decoded.is_invalid() {
        return None;
    }
    let transfer = match decoded.flow_control() {
        FlowControl::Call => Some(Target::Call(decoded.near_branch_target())),
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            Some(Target::Jump(decoded.near_branch_target()))
        }
        FlowControl::IndirectCall => Some(Target::IndirectCall),
        FlowControl::IndirectBranch => Some(Target::IndirectJump),
        _ => None,
    };
    Some(InstructionReferences {
        range: Range::with_length(address, decoded.len() as u64),
        transfer,
        addresses: [memory(&decoded), immediate(&decoded)],
    })
}

/// The address of a memory operand that is known without registers; that of a table where one is
/// indexed.
fn memory(decoded: &Instruction) -> Option<u64> {
    let has_memory =
        (0..decoded.op_count()).any(|operand| decoded.op_kind(operand) == OpKind::Memory);
    // Where a segment is added, the number is an offset in it.
    let segment = matches!(decoded.segment_prefix(), Register::FS | Register::GS);
    if !has_memory || segment {
        return None;
    }
    match decoded.is_ip_rel_memory_operand() {
        true => Some(decoded.ip_rel_memory_address()),
        false => {
            let far =
                decoded.memory_displ_size() >= 4 && decoded.memory_displacement64() >> 31 != 0;
            far.then(|| decoded.memory_displacement64())
        }
    }
}

/// A number that can be an address: kernels lie in the last 2 GiB, so that 32 bits with a sign will
/// do. Nothing is in the first page.
fn immediate(decoded: &Instruction) -> Option<u64> {
    let found = (0..decoded.op_count()).find_map(|operand| match decoded.op_kind(operand) {
        OpKind::Immediate32to64 | OpKind::Immediate64 => Some(decoded.immediate(operand)),
        // A move to half a register clears the other half.
        OpKind::Immediate32 => Some(decoded.immediate(operand)),
        _ => None,
    });
    found.filter(|value| *value >= PAGE_SIZE)
}

fn aarch64(address: u64, code: &[u8]) -> Option<InstructionReferences> {
    let word = u32::from_le_bytes(*code.first_chunk()?);
    let target = |low: u32, bits: u32| {
        let field = word << (32 - low - bits);
        address.wrapping_add_signed(i64::from(field.cast_signed() >> (32 - bits)) * 4)
    };
    let transfer = match word >> 24 {
        0x14..=0x17 => Some(Target::Jump(target(0, 26))),
        0x94..=0x97 => Some(Target::Call(target(0, 26))),
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => Some(Target::Jump(target(5, 19))),
        0x36 | 0x37 | 0xb6 | 0xb7 => Some(Target::Jump(target(5, 14))),
        0xd6 | 0xd7 => match (word >> 21) & 0xf {
            1 | 9 => Some(Target::IndirectCall),
            0 | 8 => Some(Target::IndirectJump),
            _ => None,
        },
        _ => None,
    };
    Some(InstructionReferences {
        range: Range::with_length(address, 4),
        transfer,
        addresses: [None; 2],
    })
}

/// Calls through the table of global offsets, most of a position-independent program's, are indirect.
fn mips32(address: u64, code: &[u8]) -> Option<InstructionReferences> {
    let word = u32::from_le_bytes(*code.first_chunk()?);
    let near = i64::from(word.cast_signed() << 16 >> 14);
    let branch = address.wrapping_add(4).wrapping_add_signed(near);
    let jump = (address.wrapping_add(4) & !0x0fff_ffff) | u64::from((word & 0x03ff_ffff) << 2);
    let transfer = match (word >> 26, word & 63) {
        (0, 8) if (word >> 21) & 31 == 31 => None,
        (0, 8) => Some(Target::IndirectJump),
        (0, 9) => Some(Target::IndirectCall),
        (1, _) if (word >> 16) & 31 < 4 => Some(Target::Jump(branch)),
        (1, _) if matches!((word >> 16) & 31, 16..=19) => Some(Target::Call(branch)),
        (2, _) => Some(Target::Jump(jump)),
        (3, _) => Some(Target::Call(jump)),
        (4..=7 | 20..=23, _) => Some(Target::Jump(branch)),
        (17, _) if (word >> 21) & 31 == 8 => Some(Target::Jump(branch)),
        _ => None,
    };
    Some(InstructionReferences {
        range: Range::with_length(address, 4),
        transfer,
        addresses: [None; 2],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x86(code: &[u8]) -> (Option<Target>, [Option<u64>; 2]) {
        let found = x86_64(0x1000, code).unwrap();
        (found.transfer, found.addresses)
    }

    #[test]
    fn calls_jumps_and_addresses_are_told_apart() {
        assert_eq!(x86(&[0xe8, 0, 1, 0, 0]), (Some(Target::Call(0x1105)), [None; 2]));
        assert_eq!(x86(&[0xe9, 0xfb, 0xff, 0xff, 0xff]), (Some(Target::Jump(0x1000)), [None; 2]));
        assert_eq!(x86(&[0x74, 0x10]), (Some(Target::Jump(0x1012)), [None; 2]));
        assert_eq!(x86(&[0xff, 0xd0]), (Some(Target::IndirectCall), [None; 2]));
        assert_eq!(x86(&[0xff, 0xe0]), (Some(Target::IndirectJump), [None; 2]));
        // call *0x100(%rip)
        let through = (Some(Target::IndirectCall), [Some(0x1106), None]);
        assert_eq!(x86(&[0xff, 0x15, 0, 1, 0, 0]), through);
        // lea 0x100(%rip), %rax
        assert_eq!(x86(&[0x48, 0x8d, 0x05, 0, 1, 0, 0]), (None, [Some(0x1107), None]));
        // mov $0xffffffff81000000, %rax
        let kernel = 0xffff_ffff_8100_0000;
        assert_eq!(x86(&[0x48, 0xc7, 0xc0, 0, 0, 0, 0x81]), (None, [None, Some(kernel)]));
        // call *-0x7f000000(, %rax, 8): a table of the kernel's
        let table = (Some(Target::IndirectCall), [Some(kernel), None]);
        assert_eq!(x86(&[0xff, 0x14, 0xc5, 0, 0, 0, 0x81]), table);
        // mov %gs:0x81000000, %rax; mov 8(%rax), %rax; ret
        assert_eq!(x86(&[0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0x81]), (None, [None; 2]));
        assert_eq!(x86(&[0x48, 0x8b, 0x40, 8]), (None, [None; 2]));
        assert_eq!(x86(&[0xc3]), (None, [None; 2]));
    }

    #[test]
    fn calls_of_mips_are_known() {
        let found = |word: u32| mips32(0x40_1000, &word.to_le_bytes()).unwrap().transfer;
        assert_eq!(found(0x0c10_0000), Some(Target::Call(0x40_0000)), "jal");
        assert_eq!(found(0x0810_0000), Some(Target::Jump(0x40_0000)), "j");
        assert_eq!(found(0x0411_0001), Some(Target::Call(0x40_1008)), "bal");
        assert_eq!(found(0x0441_fffe), Some(Target::Jump(0x40_0ffc)), "bgez");
        assert_eq!(found(0x1040_0003), Some(Target::Jump(0x40_1010)), "beqz");
        assert_eq!(found(0x4501_0001), Some(Target::Jump(0x40_1008)), "bc1t");
        assert_eq!(found(0x0320_f809), Some(Target::IndirectCall), "jalr t9");
        assert_eq!(found(0x0320_0008), Some(Target::IndirectJump), "jr t9");
        assert_eq!(found(0x03e0_0008), None, "jr ra");
        assert_eq!(found(0x2402_0001), None, "li v0, 1");
        assert_eq!(mips32(0, &[0; 3]), None, "half an instruction");
    }

    #[test]
    fn calls_of_aarch64_are_known() {
        for (word, transfer) in [
            (0x9400_0003_u32, Some(Target::Call(0x100c))),
            (0x1400_0003, Some(Target::Jump(0x100c))),
            (0x5400_0040, Some(Target::Jump(0x1008))),
            (0xd63f_0000, Some(Target::IndirectCall)),
            (0xd61f_0000, Some(Target::IndirectJump)),
            (0xd65f_03c0, None),
        ] {
            assert_eq!(aarch64(0x1000, &word.to_le_bytes()).unwrap().transfer, transfer);
        }
        assert_eq!(aarch64(0, &[0, 0]), None);
    }

    #[test]
    fn a_real_program_calls_its_functions() {
        let bytes = include_bytes!("../../../testdata/programs/lld-x86_64.elf");
        let program = Program::parse(bytes).unwrap();
        let mut calls = 0;
        for id in program.function_ids() {
            let range = program.function(id).range;
            let mut end = range.start;
            for found in instructions(&program, range) {
                assert!(found.range.start >= end && found.range.end <= range.end);
                end = found.range.end;
                if let Some(Target::Call(to)) = found.transfer {
                    calls += u32::from(program.function_at(to).is_some());
                }
            }
        }
        assert!(calls > 0);
    }
}
