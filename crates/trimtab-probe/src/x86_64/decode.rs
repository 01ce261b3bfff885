//! The instructions of a section, and where they lead.

use std::ops::Range;

use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use object::elf;

use crate::elf::{Object, Relocation};
use crate::function::{Branch, Place, References};

/// An instruction and where its constants are.
pub type Decoded = (Instruction, ConstantOffsets);

/// Decodes `range` of a section. Ends at the first bytes that are no instruction.
pub fn decode(object: &Object, section: usize, start: u64, end: u64) -> Vec<Decoded> {
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

/// Where in this object a branch leads; none where it leads elsewhere or cannot be told.
pub fn branch_target(object: &Object, section: usize, decoded: &Decoded) -> Option<Place> {
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
fn relative_target(object: &Object, relocation: &Relocation, next: u64) -> Option<Place> {
    let (section, offset) = object.target(relocation)?;
    let behind = next.wrapping_sub(relocation.offset) as i64;
    Some((section, u64::try_from(offset.wrapping_add(behind)).ok()?))
}

/// Finds what the instructions of a part of a section lead to.
pub fn sweep(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
    let code = decode(object, section, range.start, range.end);
    let end = code.last().map_or(range.start, |(instruction, _)| instruction.next_ip());
    found.incomplete |= end != range.end;
    for decoded in &code {
        let (instruction, constants) = decoded;
        if is_near_branch(instruction) {
            let Some(target) = branch_target(object, section, decoded) else { continue };
            let is_call = instruction.flow_control() == FlowControl::Call;
            let is_inside = !is_call && target.0 == section && range.contains(&target.1);
            let is_loop = is_inside && target.1 == range.start;
            if is_loop {
                found.loops.insert(target);
            }
            found.targets.insert(target);
            let field = instruction.ip() + constants.immediate_offset() as u64;
            let relocation = object.relocation_at(section, field);
            let named = relocation.is_some_and(|r| found.follow(object, r, target));
            match relocation {
                // It would begin the function anew.
                Some(_) if is_loop => _ = found.fixed.insert(target),
                _ if is_inside || named => {}
                _ if constants.immediate_size() == 4 => {
                    let branch = Branch { at: (section, field), is_call };
                    found.branches.entry(target).or_default().push(branch);
                }
                _ => _ = found.fixed.insert(target),
            }
            continue;
        }
        let displacement = instruction.ip() + constants.displacement_offset() as u64;
        if instruction.is_ip_rel_memory_operand()
            && object.relocation_at(section, displacement).is_none()
        {
            found.fixed.insert((section, instruction.ip_rel_memory_address()));
        }
        for field in [constants.displacement_offset(), constants.immediate_offset()] {
            if field == 0 {
                continue;
            }
            let at = instruction.ip() + field as u64;
            let Some(relocation) = object.relocation_at(section, at) else { continue };
            let target = match relocation.kind {
                elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => {
                    relative_target(object, relocation, instruction.next_ip())
                }
                elf::R_X86_64_32 | elf::R_X86_64_32S | elf::R_X86_64_64 => object
                    .target(relocation)
                    .and_then(|(section, offset)| Some((section, u64::try_from(offset).ok()?))),
                // By way of the table of addresses: it has those of symbols.
                _ => None,
            };
            if let Some(target) = target {
                found.take_address(object, target);
                if !found.follow(object, relocation, target) {
                    found.fixed.insert(target);
                }
            }
        }
    }
}
