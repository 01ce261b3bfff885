//! A hook of the user's that stubs have inside: a short function that calls nothing and needs no
//! stack, with what it changes and what it wants to know.

use std::collections::HashMap;

use iced_x86::{
    FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedRegister,
};
use object::elf;

use super::decode::{Insn, decode, is_near_branch};
use super::registers::{RDI, RSI, Set, bit, uses};
use crate::elf::Object;
use crate::function::Function;
use crate::user::{InlineHook, Naming, Step, SymbolName, WhyCalled};

/// Bytes of the longest function that stubs have inside.
const LONGEST: u64 = 512;
/// Registers that functions may change without saving them: all but rbx, rsp, rbp and r12 to r15.
const SCRATCH: Set = 0b0000_1111_1100_0111;
/// Relocations of instructions that mean the same in another object.
const KINDS: [u32; 10] = [
    elf::R_X86_64_PC32,
    elf::R_X86_64_PLT32,
    elf::R_X86_64_GOTPCREL,
    elf::R_X86_64_GOTPCRELX,
    elf::R_X86_64_REX_GOTPCRELX,
    elf::R_X86_64_32,
    elf::R_X86_64_32S,
    elf::R_X86_64_64,
    elf::R_X86_64_TPOFF32,
    elf::R_X86_64_GOTTPOFF,
];

/// Reads a function. What only its object knows gets a name there.
///
/// # Errors
/// Why it has to be called.
pub fn read(object: &mut Object, function: &Function) -> Result<InlineHook, WhyCalled> {
    if function.size > LONGEST {
        return Err(WhyCalled::Long);
    }
    let code = decode(object, function.section, function.start, function.end());
    if code.last().map(|(it, _)| it.next_ip()) != Some(function.end()) {
        return Err(WhyCalled::Other);
    }
    // What calls also saves registers: the call is what says why.
    let calls =
        |(it, _): &Insn| matches!(it.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    if code.iter().any(calls) {
        return Err(WhyCalled::Calls);
    }
    let indices: HashMap<u64, usize> =
        code.iter().enumerate().map(|(index, (it, _))| (it.ip(), index)).collect();
    let mut info = InstructionInfoFactory::new();
    let mut names = Vec::new();
    let mut steps = Vec::with_capacity(code.len());
    let mut changes = 0;
    for decoded in &code {
        let used = info.info(&decoded.0).used_registers();
        changes |= changed(used)?;
        steps.push(step(object, function, decoded, &indices, &mut names)?);
    }
    let goes_on = |step: &Step| matches!(step, Step::Plain(..) | Step::Branch(Some(_), _));
    if steps.last().is_some_and(goes_on) {
        return Err(WhyCalled::Calls);
    }
    let wanted = read_first(&mut info, &code, &steps);
    Ok(InlineHook {
        steps,
        changes,
        reads_function: wanted & RDI != 0,
        reads_time: wanted & RSI != 0,
        names,
    })
}

/// Registers that are not as they were when it has run: its own, and those in which it is told what
/// it wants to know.
pub fn spoils(hook: &InlineHook) -> Vec<Register> {
    let mut all = hook.changes;
    if hook.reads_function {
        all |= RDI;
    }
    if hook.reads_time {
        all |= RSI | bit(Register::RAX) | bit(Register::RDX);
    }
    let known = [
        Register::RAX,
        Register::RCX,
        Register::RDX,
        Register::RSI,
        Register::RDI,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
    ];
    known.into_iter().filter(|&register| all & bit(register) != 0).collect()
}

/// What an instruction changes, if it uses nothing but registers that it need not save.
fn changed(used: &[UsedRegister]) -> Result<Set, WhyCalled> {
    let mut changes = 0;
    for one in used {
        let it = one.register();
        let is_stack = matches!(it.full_register(), Register::RSP | Register::RBP);
        if it.is_segment_register() || it.is_ip() {
            continue;
        }
        if !it.is_gpr() {
            return Err(WhyCalled::Vectors);
        }
        let is_read = matches!(one.access(), OpAccess::Read | OpAccess::CondRead);
        // Returning uses the stack pointer, and nothing else here does.
        if is_stack && !is_read && it.full_register() == Register::RBP {
            return Err(WhyCalled::Stack);
        }
        if !is_stack && !is_read && one.access() != OpAccess::NoMemAccess {
            if SCRATCH & bit(it) == 0 {
                return Err(WhyCalled::Stack);
            }
            changes |= bit(it);
        }
    }
    Ok(changes)
}

fn step(
    object: &mut Object,
    function: &Function,
    (instruction, constants): &Insn,
    indices: &HashMap<u64, usize>,
    names: &mut Vec<SymbolName>,
) -> Result<Step, WhyCalled> {
    // Long: each property of an instruction rules out some, in this order.
    let (section, at) = (function.section, instruction.ip());
    match instruction.flow_control() {
        FlowControl::Next => {}
        FlowControl::Return => {
            let is_plain = instruction.mnemonic() == Mnemonic::Ret && instruction.op_count() == 0;
            return if is_plain { Ok(Step::Return) } else { Err(WhyCalled::Other) };
        }
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            let field = at + constants.immediate_offset() as u64;
            let is_known = is_near_branch(instruction)
                && (instruction.is_jmp_short_or_near() || instruction.is_jcc_short_or_near());
            if !is_known {
                return Err(WhyCalled::Other);
            }
            if object.relocation_at(section, field).is_some() {
                return Err(WhyCalled::Calls);
            }
            let target = indices.get(&instruction.near_branch_target()).copied();
            let condition = (instruction.condition_code() as u8).checked_sub(1);
            return target.map(|to| Step::Branch(condition, to)).ok_or(WhyCalled::Calls);
        }
        FlowControl::IndirectBranch => return Err(WhyCalled::Calls),
        _ => return Err(WhyCalled::Other),
    }
    let is_stack = |register: Register| register.full_register() == Register::RSP;
    let mut operands = (0..instruction.op_count()).map(|index| instruction.op_register(index));
    let uses_stack = is_stack(instruction.memory_base())
        || operands.any(is_stack)
        || instruction.is_stack_instruction();
    if uses_stack {
        return Err(WhyCalled::Stack);
    }
    if instruction.mnemonic() == Mnemonic::Endbr64 {
        return Ok(Step::Plain(Vec::new(), Vec::new()));
    }
    let data = &object.sections[section].data;
    let bytes = data.get(at as usize..instruction.next_ip() as usize);
    let bytes = bytes.ok_or(WhyCalled::Other)?.to_vec();
    let all = &object.relocations[section];
    let first = all.partition_point(|relocation| relocation.offset < at);
    let behind = all.partition_point(|relocation| relocation.offset < instruction.next_ip());
    let relocations = all[first..behind].to_vec();
    let displacement = at + constants.displacement_offset() as u64;
    let is_relative = (0..instruction.op_count())
        .any(|index| instruction.op_kind(index) == OpKind::Memory)
        && instruction.is_ip_rel_memory_operand();
    if is_relative && !relocations.iter().any(|it| it.offset == displacement) {
        return Err(WhyCalled::Other);
    }
    let mut namings = Vec::with_capacity(relocations.len());
    for relocation in relocations {
        if !KINDS.contains(&relocation.kind) {
            return Err(WhyCalled::Other);
        }
        let (wanted, offset) =
            SymbolName::of(object, relocation.symbol).ok_or(WhyCalled::Unnamed)?;
        let name = names.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            names.push(wanted);
            names.len() - 1
        });
        namings.push(Naming {
            offset: relocation.offset - at,
            kind: relocation.kind,
            name,
            addend: relocation.addend.wrapping_add(offset),
        });
    }
    Ok(Step::Plain(bytes, namings))
}

/// Registers that may be read before they are written.
fn read_first(info: &mut InstructionInfoFactory, code: &[Insn], steps: &[Step]) -> Set {
    let own: Vec<(Set, Set)> = code.iter().map(|(it, _)| uses(info, it)).collect();
    let mut wanted = vec![0; code.len()];
    loop {
        let mut is_done = true;
        for index in (0..code.len()).rev() {
            let at = |index: usize| wanted.get(index).copied().unwrap_or(0);
            let behind = match steps[index] {
                Step::Return => 0,
                Step::Branch(None, to) => at(to),
                Step::Branch(Some(_), to) => at(to) | at(index + 1),
                Step::Plain(..) => at(index + 1),
            };
            let (reads, writes) = own[index];
            let now = reads | (behind & !writes);
            is_done &= now == wanted[index];
            wanted[index] = now;
        }
        if is_done {
            return wanted.first().copied().unwrap_or(0);
        }
    }
}
