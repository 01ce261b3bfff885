//! A function once more, with what happens at its exits inside.
//!
//! A stub that calls the function costs a call and a return, which is most of what it costs. Where
//! all exits of a function are known it is cheaper to copy it behind the stub's beginning, and to
//! put the stub's end where it returns. What the stub keeps lies between the function's return
//! address and its own part of the stack then; [`super::stack`] says whether it may. The original
//! stays, and runs while probes are off.
//!
//! Parts that the compiler split off stay where they are, as they rarely run: from there the function
//! goes on in its old place, with an address of the stub in the place of its return address.
//!
//! Left out are functions with handlers of exceptions (but those that let none pass), with jump
//! tables that are not understood, and long ones, for which a call and a return are nothing.

mod emit;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register};
use object::elf;

use super::decode::{Insn, branch_target, is_near_branch};
use super::dwarf::{RBP, RSP};
use super::jump_tables::{ForeignTables, JumpTable, JumpTables, is_table_jump};
use super::{alignment, patch_site};
use crate::abi::SITE_REGISTER_SHIFT;
use crate::arch::Context;
use crate::elf::Object;
use crate::function::Function;
use crate::stub::StackUse;
use crate::unwind::{Row, Unwind};

/// Bytes of the longest function that is copied.
const LONGEST: u64 = 8192;
/// How far the frame address may be from a register: what fits in a list of calls.
const FRAMES: Range<i64> = 8..1 << SITE_REGISTER_SHIFT;
/// A function that can be copied.
#[derive(Debug)]
pub struct Copy {
    instructions: Vec<CopyInsn>,
    /// Jump tables, by the indices of instructions.
    tables: Vec<Vec<usize>>,
}

/// An instruction, and what holds in front of it.
#[derive(Debug)]
struct CopyInsn {
    /// Where it is in its section.
    at: Range<u64>,
    bytes: Vec<u8>,
    kind: Kind,
    row: Row,
    /// The alignment of its address, where the compiler requested one.
    alignment: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As it is.
    Plain,
    /// Padding in front of one for which the compiler requested an alignment.
    Padding,
    /// A call, of anything, as it is.
    Call,
    /// A call of 4 bytes' distance without relocation, to this offset of the section.
    Near(u64),
    /// A branch to the instruction with this index, on a condition or always.
    Branch(Option<u8>, usize),
    /// A tail call, on a condition or always.
    TailCall(Option<u8>, JumpTarget),
    /// A tail call through a register or memory.
    IndirectTailCall,
    /// A jump by a jump table.
    TableJump,
    /// It takes the address of the table with this number.
    TableAddress(usize),
    /// It refers to a place of the section whose distance the assembler knew.
    Relative(Distance),
    /// A jump to a part of the function that is elsewhere, on a condition or always.
    ColdPart(Option<u8>, JumpTarget),
    Return,
}

/// A distance of 4 bytes in an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Distance {
    /// Where it is in the section: it may have a relocation by now.
    field: u64,
    /// From its end to which offset of the section it is without.
    to: u64,
}

/// Where a tail call leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JumpTarget {
    /// Where its distance is, if that may have a relocation.
    field: Option<u64>,
    /// To which offset of the section if it has none.
    to: u64,
}

impl Copy {
    /// Reads a function, from where its body begins; none if it cannot be copied.
    pub fn of(
        context: &Context<'_>,
        function: &Function,
        (body, code, tables): (u64, &[Insn], &JumpTables),
        unwind: &Unwind,
        place: StackUse,
    ) -> Option<Self> {
        // Long: each instruction is judged by what was found of the function before it.
        let object = context.object;
        let is_handled = unwind.table.is_some() && !can_share_table(unwind);
        let is_fit = place == StackUse::LocalOnly && function.size <= LONGEST && !is_handled;
        if !is_fit
            || patch_site::is_traced(object, function.section, function.start..function.end())
        {
            return None;
        }
        // What knows a place in the original would not know it in a copy.
        let mut others = ForeignTables::default();
        let is_fine = |from| tables.has(from) || others.have(context, function, from);
        if context.map.is_referenced_inside(function, is_fine) {
            return None;
        }
        let first = code.partition_point(|(instruction, _)| instruction.ip() < body);
        // Compilers put traps where nothing comes.
        let is_trap = |(it, _): &&Insn| it.flow_control() == FlowControl::Exception;
        let traps = code.iter().rev().take_while(is_trap).count();
        let code = &code[first..code.len().max(traps + first) - traps];
        let indices: HashMap<u64, usize> =
            code.iter().enumerate().map(|(index, (it, _))| (it.ip(), index)).collect();
        let mut instructions = Vec::with_capacity(code.len());
        for (index, decoded) in code.iter().enumerate() {
            let (instruction, _) = decoded;
            let at = instruction.ip()..instruction.next_ip();
            let row = unwind.at(at.start - function.start)?.clone();
            let (register, offset) = row.cfa.filter(|_| row.is_plain())?;
            let is_at_entry = is_as_at_entry(&row);
            if !matches!(register, RSP | RBP) || !FRAMES.contains(&offset) {
                return None;
            }
            let target = |offset: u64| match offset {
                start if start == function.start => Some(0),
                offset => indices.get(&offset).copied(),
            };
            let is_part = |place| context.function_at(place).is_some_and(Function::is_part);
            let kind = match kind(object, function, decoded, target)? {
                Kind::TailCall(condition, end)
                    if branch_target(object, function.section, decoded).is_some_and(is_part) =>
                {
                    Kind::ColdPart(condition, end)
                }
                Kind::IndirectTailCall if !tables.is_empty() && is_table_jump(code, index) => {
                    Kind::TableJump
                }
                // It may be a switch that is not understood.
                Kind::IndirectTailCall if !tables.is_empty() && is_by_register(instruction) => {
                    return None;
                }
                Kind::Return | Kind::TailCall(..) | Kind::IndirectTailCall if !is_at_entry => {
                    return None;
                }
                Kind::Plain => tables.taken_at(at.start).map_or(Kind::Plain, Kind::TableAddress),
                kind => kind,
            };
            let bytes = &object.sections[function.section].data;
            let bytes = bytes.get(at.start as usize..at.end as usize)?.to_vec();
            instructions.push(CopyInsn { at, bytes, kind, row, alignment: None });
        }
        find_alignment(code, &mut instructions);
        // Behind a call that never returns there may be nothing.
        let does_not_go_on = |it: &CopyInsn| {
            !matches!(
                it.kind,
                Kind::Plain
                    | Kind::Padding
                    | Kind::TableAddress(_)
                    | Kind::Relative(_)
                    | Kind::Branch(Some(_), _)
                    | Kind::TailCall(Some(_), _)
                    | Kind::ColdPart(Some(_), _)
            )
        };
        let ends = instructions.last().is_some_and(does_not_go_on);
        let is_end = |it: &CopyInsn| {
            matches!(it.kind, Kind::Return | Kind::TailCall(..) | Kind::IndirectTailCall)
        };
        let returns = instructions.iter().any(is_end);
        let targets = |table: &JumpTable| {
            table.targets.iter().map(|target| indices.get(target).copied()).collect()
        };
        let tables = tables.all().iter().map(targets).collect::<Option<Vec<Vec<usize>>>>()?;
        (ends && returns).then_some(Self { instructions, tables })
    }

    /// Whether the function has a frame pointer, and so is part of a chain of them.
    pub fn has_frame_pointer(&self) -> bool {
        self.instructions.iter().any(|it| it.row.cfa.is_some_and(|(register, _)| register == RBP))
    }
}

/// Finds the alignments that the compiler requested: of what follows padding, and of loops.
fn find_alignment(code: &[Insn], instructions: &mut [CopyInsn]) {
    let loops: HashSet<usize> = instructions
        .iter()
        .enumerate()
        .filter_map(|(index, it)| match it.kind {
            Kind::Branch(_, to) if to <= index => Some(to),
            _ => None,
        })
        .collect();
    let mut nops = 0;
    for (index, (instruction, _)) in code.iter().enumerate() {
        if instruction.mnemonic() == Mnemonic::Nop && instructions[index].kind == Kind::Plain {
            nops += 1;
            continue;
        }
        let alignment = alignment::alignment_of(instruction.ip());
        if alignment.is_some() && (nops > 0 || loops.contains(&index)) {
            instructions[index].alignment = alignment;
            for before in &mut instructions[index - nops..index] {
                before.kind = Kind::Padding;
            }
        }
        nops = 0;
    }
}

/// Whether what holds of exceptions in a function, holds in a copy of it: none gets out, wherever it
/// comes from. The common part of its unwind information must be as that of stubs.
fn can_share_table(unwind: &Unwind) -> bool {
    unwind.lets_none_pass && (unwind.code_step, unwind.data_step) == (1, 8)
}

/// What becomes of an instruction; none if the function cannot be copied.
fn kind(
    object: &Object,
    function: &Function,
    decoded: &Insn,
    index_of: impl Fn(u64) -> Option<usize>,
) -> Option<Kind> {
    // Long: a case for each kind of control flow.
    let (instruction, constants) = decoded;
    let section = function.section;
    let field = instruction.ip() + constants.immediate_offset() as u64;
    let displacement = instruction.ip() + constants.displacement_offset() as u64;
    if instruction.is_ip_rel_memory_operand()
        && object.relocation_at(section, displacement).is_none()
    {
        // What follows the distance counts as well.
        let behind = instruction.next_ip().wrapping_sub(displacement + 4);
        let to = instruction.ip_rel_memory_address().wrapping_sub(behind);
        let is_plain = instruction.flow_control() == FlowControl::Next;
        return is_plain.then_some(Kind::Relative(Distance { field: displacement, to }));
    }
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::Exception | FlowControl::Interrupt => Some(Kind::Plain),
        FlowControl::IndirectCall => Some(Kind::Call),
        // Nothing inside is known elsewhere, but to tables: it leads to another function otherwise.
        FlowControl::IndirectBranch => {
            let uses_stack = [instruction.memory_base(), instruction.op0_register()];
            let fits = instruction.code() == Code::Jmp_rm64 && !uses_stack.contains(&Register::RSP);
            fits.then_some(Kind::IndirectTailCall)
        }
        FlowControl::Return => is_plain_return(instruction).then_some(Kind::Return),
        FlowControl::Call if !instruction.is_call_near() => None,
        FlowControl::Call => match object.relocation_at(section, field) {
            Some(_) => Some(Kind::Call),
            None if constants.immediate_size() == 4 => {
                Some(Kind::Near(instruction.near_branch_target()))
            }
            None => None,
        },
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            let is_known = is_near_branch(instruction)
                && (instruction.is_jmp_short_or_near() || instruction.is_jcc_short_or_near());
            if !is_known {
                return None;
            }
            // In the order of their numbers in opcodes, behind none.
            let condition = (instruction.condition_code() as u8).checked_sub(1);
            let wide = (constants.immediate_size() == 4).then_some(field);
            let relocation = object.relocation_at(section, field);
            let target = branch_target(object, section, decoded);
            match (relocation, target) {
                (None, Some((_, to))) if function.contains((section, to)) => {
                    Some(Kind::Branch(condition, index_of(to)?))
                }
                (None, Some((_, to))) => {
                    Some(Kind::TailCall(condition, JumpTarget { field: wide, to }))
                }
                (Some(_), Some(target)) if function.contains(target) => None,
                (Some(relocation), _) => {
                    let is_distance =
                        matches!(relocation.kind, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32);
                    let end = JumpTarget { field: wide, to: 0 };
                    (is_distance && wide.is_some()).then_some(Kind::TailCall(condition, end))
                }
                (None, None) => None,
            }
        }
        _ => None,
    }
}

/// Whether a register says where a jump leads.
fn is_by_register(jump: &Instruction) -> bool {
    jump.op0_kind() == OpKind::Register
}

/// Whether it returns, and drops nothing.
fn is_plain_return(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Ret && instruction.op_count() == 0
}

/// Whether the stack pointer is where it was when the function was entered. What was saved has been
/// restored then, for which compilers need not emit a row: it is still where it was saved, too.
fn is_as_at_entry(row: &Row) -> bool {
    row.cfa == Some((RSP, 8))
}
