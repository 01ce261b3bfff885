//! The instructions of a section, and where they lead.

use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, Instruction, OpKind};

use object::elf;

use crate::elf::{Object, Relocation};
use crate::function::Place;

/// An instruction and where its constants are.
pub type Insn = (Instruction, ConstantOffsets);

/// Kinds of relocations that hold a distance of 8 bytes from where they are, as immediates of code: the
/// label that the code adds it to stays where it is when the instruction is elsewhere.
pub const DISTANCES_8: [u32; 3] =
    [elf::R_X86_64_PC64, elf::R_X86_64_GOTPC64, elf::R_X86_64_GOTPCREL64];

/// Decodes `range` of a section. Ends at the first bytes that are no instruction.
pub fn decode(object: &Object, section: usize, start: u64, end: u64) -> Vec<Insn> {
    let data = &object.sections[section].data;
    let Some(bytes) = data.get(start as usize..end as usize) else { return Vec::new() };
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut decoded = Vec::with_capacity(bytes.len() / 4);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        decoded.push((instruction, decoder.get_constant_offsets(&instruction)));
    }
    decoded
}

/// Where in this object a branch leads; none if it leads elsewhere or is not known.
pub fn branch_target(object: &Object, section: usize, decoded: &Insn) -> Option<Place> {
    let (instruction, constants) = decoded;
    if !is_near_branch(instruction) {
        return None;
    }
    let field = instruction.ip() + constants.immediate_offset() as u64;
    match object.relocation_at(section, field) {
        Some(relocation) => relative_target(object, relocation, instruction.next_ip()),
        None => Some((section, instruction.near_branch_target())),
    }
}

/// Whether the target is in the instruction itself.
pub fn is_near_branch(instruction: &Instruction) -> bool {
    instruction.op_count() > 0
        && matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        )
}

/// Where a relocation of an instruction leads that is relative to the instruction's end.
pub fn relative_target(object: &Object, relocation: &Relocation, next: u64) -> Option<Place> {
    let (section, offset) = object.target(relocation)?;
    let behind = next.wrapping_sub(relocation.offset) as i64;
    Some((section, u64::try_from(offset.wrapping_add(behind)).ok()?))
}
