//! What a function does with the stack: whether it keeps to the part below its return address.
//!
//! A function without arguments on the stack does not notice what lies between its return address
//! and the frame of its caller. Its stub keeps there what it has to keep; that is the fastest
//! place, and what unwinders, longjmp and coroutines keep right by themselves. Only where it can be
//! proven does a stub do so: each access to the stack must be direct, at a known distance from the
//! frame address, and the address of nothing on the stack may be taken but to give it to a callee.
//!
//! What cannot be seen otherwise is whether an address below the return address is that of a variable,
//! or a step on the way to an argument: `s.field[i - 9]` may be either. And whoever the function ends
//! with by a tail call gets the arguments on the stack that it got. Where debug information says that it
//! got none ([`crate::prototypes`]), neither can be. It does not excuse what is seen to lead above the
//! return address, nor what may go from frame to frame by the frame pointer.

use std::collections::HashSet;

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::decode::{Insn, branch_target, decode, is_near_branch};
use super::dwarf::{RBP, RDI, RSI, RSP};
use super::thunk;
use crate::arch::Context;
use crate::elf::Object;
use crate::function::{Function, Place};
use crate::reason::Reason;
use crate::stub::StackUse;
use crate::unwind::{Row, Unwind};

/// Functions that are looked at to see what one, its parts and those that it ends with do.
const FUNCTIONS: usize = 16;

/// Registers in which callees get addresses.
const ARGUMENTS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// Registers that callees keep.
const CALLEE_SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// Where the return address is, relative to the frame address.
const RETURN_ADDRESS: i64 = -8;
/// Where the frame pointer of the caller is, if it is saved. A function's own frame pointer leads
/// there, by which code goes from frame to frame.
const FRAME_RECORD: i64 = -16;

/// Instructions between where an address is taken and the call that it is given to.
const STEPS: usize = 64;

/// Functions of the C and C++ libraries that have no arguments on the stack, with which others like
/// to end.
const LIBRARY: [&[u8]; 24] = [
    b"_ZdaPv", b"_ZdlPv", b"_ZdlPvm", b"_Znam", b"_Znwm", b"calloc", b"fclose", b"fputc", b"fputs",
    b"free", b"fwrite", b"malloc", b"memchr", b"memcmp", b"memcpy", b"memmove", b"memset", b"puts",
    b"realloc", b"strchr", b"strcmp", b"strcpy", b"strlen", b"strncmp",
];

/// Looks at each instruction of a function, of the parts that the compiler split off, and of the
/// functions that it ends with by a tail call.
///
/// # Errors
/// What is done with the stack makes a stub impossible.
pub fn analyze(
    context: &Context<'_>,
    function: &Function,
    code: &[Insn],
    unwind: &Unwind,
) -> Result<StackUse, Reason> {
    let mut analysis = StackAnalysis::default();
    analysis.analyze_all(context, function, code, unwind)?;
    let mut open = std::mem::take(&mut analysis.leads_to);
    let mut seen = HashSet::from([(function.section, function.start)]);
    while let Some(end) = open.pop().filter(|_| analysis.local_only) {
        let Some(next) = context.function_at(end.target) else {
            return Ok(StackUse::IncomingArguments);
        };
        if !seen.insert((next.section, next.start)) {
            continue;
        }
        let unwind = context.unwind.of(next.section, next.start);
        let unwind = unwind.filter(|_| seen.len() <= FUNCTIONS);
        let is_part = next.is_part();
        let mut other = StackAnalysis::default();
        if let Some(unwind) = unwind {
            other.frame_pointer = end.frame_pointer.filter(|_| is_part);
            let code = decode(context.object, next.section, next.start, next.end());
            let looked = other.analyze_all(context, next, &code, unwind);
            if is_part && !end.of_callee {
                looked?;
            } else {
                other.local_only &= looked.is_ok();
            }
        } else {
            other.local_only = false;
        }
        let of_callee = end.of_callee || !is_part;
        if is_part {
            analysis.take(&other, of_callee);
        } else {
            // A callee, which must not have arguments on the stack: they would be ours.
            analysis.local_only &= end.at_entry_depth && end.target == (next.section, next.start);
            analysis.take(&other, of_callee);
        }
        open.extend(other.leads_to.into_iter().map(|exit| Exit { of_callee, ..exit }));
    }
    if !analysis.local_only {
        return Ok(StackUse::IncomingArguments);
    }
    let is_sure = analysis.keeps_below && analysis.ends_without;
    let has_none = || {
        context.prototypes.has_all_in_registers(function)
            && (analysis.ends_without || has_usual_convention(code, unwind))
    };
    Ok(if is_sure || has_none() { StackUse::LocalOnly } else { StackUse::IncomingArguments })
}

/// Whether a function has the calling convention of the system for certain, not that of Windows, in
/// which callees have room above their return address also when all arguments are in registers.
/// gcc's debug information does not tell. There, rdi and rsi are to be kept.
fn has_usual_convention(code: &[Insn], unwind: &Unwind) -> bool {
    let saved = unwind.rows.iter().filter_map(|row| row.saved.as_ref()).flatten();
    let keeps = saved.into_iter().any(|(register, _)| matches!(*register, RDI | RSI));
    let mut info = InstructionInfoFactory::new();
    let mut changes = |(instruction, _): &Insn| {
        info.info(instruction).used_registers().iter().any(|used| {
            let is_written = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite);
            let register = used.register().full_register();
            is_written && matches!(register, Register::RDI | Register::RSI)
        })
    };
    !keeps && code.iter().any(&mut changes)
}

/// A jump out of a function.
struct Exit {
    target: Place,
    /// Whether the stack pointer is where it was at the entry: so it is when another function is
    /// called by a tail call.
    at_entry_depth: bool,
    frame_pointer: Option<i64>,
    /// Whether it is of a function that was reached by such a jump.
    of_callee: bool,
}

struct StackAnalysis {
    info: InstructionInfoFactory,
    /// Whether nothing is seen that leads above the return address, or may whatever the arguments
    /// are.
    local_only: bool,
    /// Whether no address on the stack may be a step on the way to an argument there.
    keeps_below: bool,
    /// Whether none of the functions that it ends with may have arguments there.
    ends_without: bool,
    /// How far below the frame address rbp points, from where it is made a frame pointer.
    frame_pointer: Option<i64>,
    leads_to: Vec<Exit>,
}

impl Default for StackAnalysis {
    fn default() -> Self {
        Self {
            info: InstructionInfoFactory::new(),
            local_only: true,
            keeps_below: true,
            ends_without: true,
            frame_pointer: None,
            leads_to: Vec::new(),
        }
    }
}

impl StackAnalysis {
    /// What another one saw is true of this one, too: a part's, or a callee's.
    fn take(&mut self, other: &Self, is_callee: bool) {
        if is_callee {
            self.ends_without &= other.local_only && other.keeps_below && other.ends_without;
        } else {
            self.local_only &= other.local_only;
            self.keeps_below &= other.keeps_below;
            self.ends_without &= other.ends_without;
        }
    }

    fn analyze_all(
        &mut self,
        context: &Context<'_>,
        function: &Function,
        code: &[Insn],
        unwind: &Unwind,
    ) -> Result<(), Reason> {
        let end = code.last().map(|(instruction, _)| instruction.next_ip());
        self.local_only &= end == Some(function.end());
        for (index, decoded) in code.iter().enumerate() {
            let (instruction, _) = decoded;
            let row = unwind.at(instruction.ip() - function.start);
            if !self.is_local_handed_on(instruction, row, &code[index + 1..]) {
                self.analyze(instruction, row)?;
            }
            let cfa = row.and_then(|row| row.cfa);
            let at_entry_depth = cfa.is_none_or(|cfa| cfa == (RSP, 8));
            match instruction.flow_control() {
                // With its frame still there the function does not end: a jump table.
                FlowControl::IndirectBranch => self.ends_without &= !at_entry_depth,
                FlowControl::Return if thunk::is_jump(code, index) => {
                    self.ends_without &= !at_entry_depth;
                }
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    match branch_target(context.object, function.section, decoded) {
                        Some(target) if function.contains(target) => {}
                        Some(target) => {
                            let frame_pointer = self.frame_pointer;
                            let of_callee = false;
                            let exit = Exit { target, at_entry_depth, frame_pointer, of_callee };
                            self.leads_to.push(exit);
                        }
                        None => {
                            self.local_only &= at_entry_depth;
                            self.ends_without &=
                                leads_to_library(context.object, function, decoded);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether an address on the stack is taken that can only be of a variable of the function: it
    /// lies below the return address, and is given to a callee as it is, so that it is the address
    /// of something, and no step on the way to another one.
    fn is_local_handed_on(
        &mut self,
        instruction: &Instruction,
        row: Option<&Row>,
        behind: &[Insn],
    ) -> bool {
        let offset = match instruction.code() {
            Code::Mov_rm64_r64 | Code::Mov_r64_rm64
                if instruction.op1_register() == Register::RSP =>
            {
                0
            }
            Code::Lea_r64_m
                if instruction.memory_base() == Register::RSP
                    && instruction.memory_index() == Register::None =>
            {
                instruction.memory_displacement64() as i64
            }
            _ => return false,
        };
        let cfa = row.and_then(|row| row.cfa).filter(|(register, _)| *register == RSP);
        let Some((_, distance)) = cfa else { return false };
        let place = offset.wrapping_sub(distance);
        place < RETURN_ADDRESS && self.is_handed_on(instruction.op0_register(), place, behind)
    }

    /// Whether an address on the stack, relative to the frame address, comes to a callee from a
    /// register: on one way is enough, as it is the same address on all of them.
    fn is_handed_on(&mut self, register: Register, place: i64, behind: &[Insn]) -> bool {
        for (index, (next, _)) in behind.iter().enumerate().take(STEPS) {
            let used = self.info.info(next).used_registers();
            if used.iter().any(|used| used.register().full_register() == register) {
                if copies(next, register) {
                    let copy = next.op0_register();
                    if ARGUMENTS.contains(&copy)
                        && self.is_handed_on(copy, place, &behind[index + 1..])
                    {
                        return true;
                    }
                } else if !is_access_below(next, register, place) {
                    return false;
                }
            }
            match next.flow_control() {
                FlowControl::Next | FlowControl::ConditionalBranch => {}
                FlowControl::Call | FlowControl::IndirectCall
                    if CALLEE_SAVED.contains(&register) => {}
                FlowControl::Call | FlowControl::IndirectCall => {
                    return ARGUMENTS.contains(&register);
                }
                _ => return false,
            }
        }
        false
    }

    fn analyze(&mut self, instruction: &Instruction, row: Option<&Row>) -> Result<(), Reason> {
        let cfa = row.and_then(|row| row.cfa);
        let stack = cfa.filter(|(register, _)| *register == RSP).map(|(_, offset)| offset);
        let frame = cfa
            .filter(|(register, _)| *register == RBP)
            .map(|(_, offset)| offset)
            .or(self.frame_pointer);
        if cfa.is_none() {
            self.local_only = false;
        }
        if touches(instruction, Register::RSP) {
            match instruction.mnemonic() {
                Mnemonic::Sub | Mnemonic::Add
                    if instruction.op0_register() == Register::RSP
                        && is_immediate(instruction.op1_kind()) => {}
                Mnemonic::Mov
                    if instruction.op0_register() == Register::RBP
                        && instruction.op1_register() == Register::RSP =>
                {
                    match (stack, self.frame_pointer) {
                        (Some(offset), None) => self.frame_pointer = Some(offset),
                        (Some(offset), Some(known)) if offset == known => {}
                        _ => self.local_only = false,
                    }
                }
                Mnemonic::Mov
                    if instruction.op0_register() == Register::RSP
                        && instruction.op1_register() == Register::RBP => {}
                // Another stack. What the compiler computes from its own pointers is not.
                Mnemonic::Mov | Mnemonic::Xchg | Mnemonic::Pop
                    if instruction.op0_register() == Register::RSP
                        && (instruction.mnemonic() != Mnemonic::Mov || is_foreign(instruction)) =>
                {
                    return Err(Reason::Stack);
                }
                Mnemonic::And | Mnemonic::Sub | Mnemonic::Cmp => self.keeps_below = false,
                // Its address is looked at below.
                Mnemonic::Lea
                    if instruction.memory_base() == Register::RSP
                        || (instruction.memory_base() == Register::RBP && frame.is_some()) => {}
                Mnemonic::Mov | Mnemonic::Add if instruction.op1_register() == Register::RSP => {
                    // With a frame pointer it is somewhere below.
                    let place = stack.map_or(i64::MIN, |distance| -distance);
                    self.take_address(place < RETURN_ADDRESS);
                }
                _ => self.local_only = false,
            }
        }
        if touches(instruction, Register::RBP) && frame.is_some() {
            let fine = matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
                || (instruction.mnemonic() == Mnemonic::Mov
                    && [instruction.op0_register(), instruction.op1_register()]
                        .contains(&Register::RSP));
            self.local_only &= fine;
        }
        self.analyze_memory(instruction, stack, frame)
    }

    fn analyze_memory(
        &mut self,
        instruction: &Instruction,
        stack: Option<i64>,
        frame: Option<i64>,
    ) -> Result<(), Reason> {
        let has_memory =
            (0..instruction.op_count()).any(|place| instruction.op_kind(place) == OpKind::Memory);
        if !has_memory {
            return Ok(());
        }
        let base = instruction.memory_base().full_register();
        let index = instruction.memory_index().full_register();
        let distance = match base {
            Register::RSP => stack,
            Register::RBP if frame.is_some() => frame,
            _ if index == Register::RSP || (index == Register::RBP && frame.is_some()) => {
                self.local_only = false;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if instruction.mnemonic() == Mnemonic::Nop {
            return Ok(());
        }
        let displacement = instruction.memory_displacement64() as i64;
        let direct = index == Register::None && instruction.mnemonic() != Mnemonic::Lea;
        let Some(distance) = distance else {
            // A frame pointer, and rsp somewhere below it.
            self.local_only &= base == Register::RSP;
            self.keeps_below &= direct && displacement < 0;
            return Ok(());
        };
        let first = displacement.wrapping_sub(distance);
        if !direct {
            let is_of_frames = base == Register::RBP && first >= FRAME_RECORD;
            let is_indexed = index != Register::None;
            // An index may be negative, and an array ends where the next thing begins.
            self.take_address(!is_of_frames && (is_indexed || first < RETURN_ADDRESS));
            return Ok(());
        }
        let size = instruction.memory_size().size().max(1) as i64;
        if first < 0 && first.saturating_add(size) > RETURN_ADDRESS {
            return Err(Reason::ReturnAddress);
        }
        self.local_only &= first.saturating_add(size) <= RETURN_ADDRESS;
        Ok(())
    }

    /// An address on the stack is made, from where it may go on. It is one that is made of variables,
    /// or of arguments.
    fn take_address(&mut self, is_of_variables: bool) {
        self.local_only &= is_of_variables;
        self.keeps_below = false;
    }
}

/// Whether a branch leads to a function of [`LIBRARY`].
fn leads_to_library(object: &Object, function: &Function, (jump, constants): &Insn) -> bool {
    let field = jump.ip() + constants.immediate_offset() as u64;
    let symbol = is_near_branch(jump)
        .then(|| object.relocation_at(function.section, field))
        .flatten()
        .and_then(|relocation| object.symbols.get(relocation.symbol as usize));
    symbol.is_some_and(|symbol| LIBRARY.binary_search(&symbol.name.as_slice()).is_ok())
}

/// Whether an instruction copies a register to another, and does nothing else.
fn copies(instruction: &Instruction, register: Register) -> bool {
    matches!(instruction.code(), Code::Mov_rm64_r64 | Code::Mov_r64_rm64)
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() != register
        && instruction.op1_register() == register
}

/// Whether all that an instruction does with a register is to access what it points at, where this
/// is below the return address if the register points at `place`.
fn is_access_below(instruction: &Instruction, register: Register, place: i64) -> bool {
    let end = (instruction.memory_displacement64() as i64)
        .saturating_add(place)
        .saturating_add(instruction.memory_size().size().max(1) as i64);
    let is_operand = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && instruction.op_register(operand).full_register() == register
    });
    let accesses = instruction.memory_base() == register
        && instruction.memory_index() == Register::None
        && instruction.mnemonic() != Mnemonic::Lea;
    accesses && !is_operand && end <= RETURN_ADDRESS
}

/// Whether a register is an operand that is written out.
fn touches(instruction: &Instruction, register: Register) -> bool {
    (0..instruction.op_count()).any(|place| {
        instruction.op_kind(place) == OpKind::Register
            && instruction.op_register(place).full_register() == register
    })
}

/// Whether the second operand is memory that is not the function's own. Scopes with arrays of
/// variable length save the stack pointer in the frame.
fn is_foreign(instruction: &Instruction) -> bool {
    instruction.op1_kind() == OpKind::Memory
        && !matches!(instruction.memory_base(), Register::RSP | Register::RBP)
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
            | OpKind::Immediate32
            | OpKind::Immediate8to32
    )
}
