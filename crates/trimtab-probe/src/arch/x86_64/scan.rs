//! Finds what the instructions of a section lead to.

use std::ops::Range;

use iced_x86::{FlowControl, Instruction, Mnemonic, Register};
use object::elf;

use super::decode::DISTANCES_8;
use super::decode::{Insn, branch_target, decode, is_near_branch, relative_target};
use super::jump_tables::is_table_jump;
use super::thunk;
use crate::elf::{Object, Relocation};
use crate::references::{Branch, Pointer, References};

/// How the names of such functions of gcc and clang begin that jump to an address in a register.
const THUNKS: [&[u8]; 2] = [b"__x86_indirect_thunk", b"__llvm_retpoline"];

/// Finds what the instructions of a part of a section lead to.
pub fn scan(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
    let code = decode(object, section, range.start, range.end);
    let end = code.last().map_or(range.start, |(instruction, _)| instruction.next_ip());
    found.incomplete |= end != range.end;
    let is_anchored = has_anchors(object, section, &range);
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
            if !is_call && relocation.is_some_and(|relocation| is_thunk(object, relocation)) {
                found.computed.insert((section, range.start));
            }
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
        take_addresses(object, section, decoded, is_anchored, found);
    }
    if (0..code.len()).any(|index| is_by_address(&code, index)) {
        found.computed.insert((section, range.start));
    }
    if code.first().is_none_or(|(first, _)| can_begin_loop(first)) {
        found.open.insert((section, range.start));
    }
}

/// Whether code computes distances from its own labels: to the table of addresses, as the large code model
/// does, or to anything else. The address of such a label is the other part of the sum, and not that of a
/// function, even where a function begins there.
fn has_anchors(object: &Object, section: usize, range: &Range<u64>) -> bool {
    let relocations = &object.relocations[section];
    let first = relocations.partition_point(|relocation| relocation.offset < range.start);
    let mut inside = relocations[first..].iter().take_while(|it| it.offset < range.end);
    inside.any(|relocation| DISTANCES_8.contains(&relocation.kind))
}

/// Finds the addresses in an instruction that is no branch. Where the function has anchors
/// ([`has_anchors`]), addresses of code without relocation are such.
fn take_addresses(
    object: &Object,
    section: usize,
    decoded: &Insn,
    is_anchored: bool,
    found: &mut References,
) {
    let (instruction, constants) = decoded;
    let fields = [(constants.displacement_offset(), true), (constants.immediate_offset(), false)];
    for (field, is_displacement) in fields.into_iter().filter(|&(field, _)| field != 0) {
        let at = instruction.ip() + field as u64;
        let relocation = object.relocation_at(section, at);
        let behind = instruction.next_ip().wrapping_sub(at) as i64;
        let is_relative = is_displacement && instruction.is_ip_rel_memory_operand();
        let (target, kind, addend) = match relocation.map(|relocation| relocation.kind) {
            // The assembler knew where it is.
            None if is_relative => {
                let target = (section, instruction.ip_rel_memory_address());
                (Some(target), elf::R_X86_64_PC32, -behind)
            }
            Some(kind @ (elf::R_X86_64_PC32 | elf::R_X86_64_PLT32)) => {
                let target =
                    relocation.and_then(|it| relative_target(object, it, instruction.next_ip()));
                (target, kind, -behind)
            }
            Some(kind @ (elf::R_X86_64_32 | elf::R_X86_64_32S | elf::R_X86_64_64)) => {
                let target = relocation.and_then(|it| object.target(it));
                (target.and_then(|(to, at)| Some((to, u64::try_from(at).ok()?))), kind, 0)
            }
            // The distance from the table of addresses, which is not known: it is added.
            Some(kind @ elf::R_X86_64_GOTOFF64) => {
                let target = relocation.and_then(|it| object.target(it));
                (target.and_then(|(to, at)| Some((to, u64::try_from(at).ok()?))), kind, 0)
            }
            // By way of the table of addresses: it has those of symbols.
            _ => continue,
        };
        let Some(target) = target else { continue };
        found.take_address(object, target);
        if relocation.is_some_and(|relocation| found.follow(object, relocation, target)) {
            continue;
        }
        // Other instructions read or write what is at the place, or there and behind it.
        let is_anchor = is_anchored && relocation.is_none();
        let is_address = is_relative && instruction.mnemonic() == Mnemonic::Lea && !is_anchor;
        let is_pointer = !is_displacement || is_address;
        if is_pointer {
            found.point(target, Pointer { at: (section, at), kind, addend });
        } else {
            found.fixed.insert(target);
        }
    }
}

/// Whether what is jumped to jumps to the address in a register in turn: compilers use it in place of
/// such jumps against wrong speculation.
fn is_thunk(object: &Object, relocation: &Relocation) -> bool {
    let name = &object.symbols[relocation.symbol as usize].name;
    THUNKS.iter().any(|thunk| name.starts_with(thunk))
}

/// Whether the instruction with an index jumps by an address that no table of distances has.
fn is_by_address(code: &[Insn], index: usize) -> bool {
    thunk::is_jump(code, index)
        || code[index].0.flow_control() == FlowControl::IndirectBranch
            && !is_table_jump(code, index)
}

/// Whether a loop can begin with the first instruction of a function: not with one that takes room on
/// the stack or is for those who call by address.
fn can_begin_loop(first: &Instruction) -> bool {
    let mnemonic = first.mnemonic();
    let makes_room = mnemonic == Mnemonic::Sub && first.op0_register() == Register::RSP;
    !makes_room && !matches!(mnemonic, Mnemonic::Push | Mnemonic::Endbr64)
}
