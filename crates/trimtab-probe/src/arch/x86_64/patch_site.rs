//! The first instructions of a function: those that make room for a jump, and run elsewhere.

use std::ops::Range;

use iced_x86::{Code, FlowControl, Mnemonic};
use object::elf;

use super::decode::{DISTANCES_8, Insn, branch_target, is_near_branch};
use crate::elf::Object;
use crate::function::Function;
use crate::reason::{Reason, is_tracer};
use crate::references::CodeMap;
use crate::relocation_edits::SectionEnd;
use crate::unwind::{Unwind, passes_through};

/// Bytes of a jump to anywhere.
pub const JUMP: u64 = 5;

/// What is moved.
#[derive(Debug)]
pub struct PatchSite {
    /// Where the jump is put: behind `endbr64`, if there is one.
    pub at: u64,
    /// Behind the last byte that is overwritten or no longer used.
    pub end: u64,
    /// The instructions that were there.
    pub instructions: Vec<Insn>,
    /// Whether what follows is reached from them.
    pub continues: bool,
}

/// Relocations whose instructions the linker replaces in pairs.
const PAIRED: [u32; 4] = [
    elf::R_X86_64_TLSGD,
    elf::R_X86_64_TLSLD,
    elf::R_X86_64_GOTPC32_TLSDESC,
    elf::R_X86_64_TLSDESC_CALL,
];

impl PatchSite {
    /// Finds what is to be moved of a function, whose instructions are `code`.
    ///
    /// # Errors
    /// Why nothing can be.
    pub fn of(
        object: &Object,
        map: &CodeMap,
        function: &Function,
        code: &[Insn],
        unwind: &Unwind,
    ) -> Result<Self, Reason> {
        let section = function.section;
        let landing = code.first().is_some_and(|(first, _)| first.mnemonic() == Mnemonic::Endbr64);
        let at = function.start + if landing { 4 } else { 0 };
        let mut end = at;
        let mut continues = true;
        let mut instructions = Vec::new();
        for decoded in code.iter().skip(usize::from(landing)) {
            let (instruction, _) = decoded;
            check(object, function, decoded, unwind)?;
            end = instruction.next_ip();
            continues = !matches!(
                instruction.flow_control(),
                FlowControl::Return
                    | FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch
            );
            instructions.push(*decoded);
            if end >= at + JUMP || !continues {
                break;
            }
        }
        if end < at + JUMP {
            if continues && end >= function.end() {
                return Err(Reason::TooShort);
            }
            end = self::room(object, map, function, end, at + JUMP)?;
        }
        if map.loops_to_start(function) {
            return Err(Reason::Loop);
        }
        if map.is_entered(section, function.start + 1..end) {
            return Err(Reason::Entered);
        }
        Ok(Self { at, end, instructions, continues })
    }

    /// Writes the instructions behind the stub, and the way back: see
    /// [`Arch::move_prologue`](crate::arch::Arch::move_prologue).
    pub fn write(&self, to: &mut SectionEnd<'_>) -> Vec<(u64, u64)> {
        let body = to.end();
        let mut rows = Vec::new();
        for decoded in &self.instructions {
            let (instruction, _) = decoded;
            let from = instruction.ip()..instruction.next_ip();
            let at = to.end();
            rows.push((from.start, at - body));
            let has_relocation = to.move_relocations(from.clone(), at, &DISTANCES_8);
            let target = branch_target(to.object, to.section, decoded);
            let data = to.data();
            match target {
                Some((_, target)) if is_near_branch(instruction) && !has_relocation => {
                    let last = data[from.start as usize..]
                        .iter()
                        .position(|byte| matches!(byte, 0x70..=0x7f | 0x0f | 0xe8 | 0xe9 | 0xeb))
                        .map_or(from.start as usize, |place| place + from.start as usize);
                    match data[last] {
                        0xe8 => data.push(0xe8),
                        0xe9 | 0xeb => data.push(0xe9),
                        0x0f => data.extend([0x0f, 0x80 | data[last + 1] & 15]),
                        condition => data.extend([0x0f, 0x80 | condition & 15]),
                    }
                    push_distance(data, target);
                }
                _ => data.extend_from_within(from.start as usize..from.end as usize),
            }
        }
        let data = to.data();
        rows.push((self.end, data.len() as u64 - body));
        if self.continues {
            data.push(0xe9);
            push_distance(data, self.end);
        }
        rows
    }

    /// Puts the jump to the stub in place.
    pub fn patch(&self, data: &mut [u8], stub: u64) {
        let distance = stub as i64 - (self.at + JUMP) as i64;
        let at = self.at as usize;
        data[at] = 0xe9;
        data[at + 1..at + 5].copy_from_slice(&(distance as i32).to_le_bytes());
    }
}

/// Whether instructions belong to a compiler's own means of tracing.
pub fn is_traced(object: &Object, section: usize, range: Range<u64>) -> bool {
    let relocations = &object.relocations[section];
    let first = relocations.partition_point(|relocation| relocation.offset < range.start);
    relocations[first..]
        .iter()
        .take_while(|relocation| relocation.offset < range.end)
        .any(|relocation| is_tracer(&object.symbols[relocation.symbol as usize].name))
}

/// The rest of a branch to an offset of the section that ends with it.
fn push_distance(data: &mut Vec<u8>, target: u64) {
    let distance = target as i64 - (data.len() as i64 + 4);
    data.extend((distance as i32).to_le_bytes());
}

/// Whether the bytes from `end` to `wanted` are nobody's: they are not reached from before, and
/// either in the function and jumped over, or padding behind it. Gives `wanted` then.
fn room(
    object: &Object,
    map: &CodeMap,
    function: &Function,
    end: u64,
    wanted: u64,
) -> Result<u64, Reason> {
    let inside = end.max(function.end()).min(wanted);
    if end < function.end() {
        // Code behind a return that nothing leads to would be dead. That something does and was
        // not seen is more likely.
        return Err(Reason::TooShort);
    }
    let length = object.sections[function.section].data.len() as u64;
    let limit = map.next_label(function.section, function.end()).unwrap_or(u64::MAX);
    if limit < wanted {
        return Err(Reason::TooShort);
    }
    let padding = super::decode::decode(object, function.section, inside, limit.min(length));
    let mut at = inside;
    for (instruction, _) in &padding {
        if at >= wanted {
            break;
        }
        if !matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
            return Err(Reason::TooShort);
        }
        at = instruction.next_ip();
    }
    // Behind the section's end there is room: it grows.
    if at >= wanted || at >= length { Ok(wanted) } else { Err(Reason::TooShort) }
}

/// Whether an instruction can run elsewhere.
fn check(
    object: &Object,
    function: &Function,
    decoded: &Insn,
    unwind: &Unwind,
) -> Result<(), Reason> {
    let (instruction, constants) = decoded;
    let section = function.section;
    let range = instruction.ip()..instruction.next_ip();
    let relocations = &object.relocations[section];
    let first = relocations.partition_point(|relocation| relocation.offset < range.start);
    for relocation in relocations[first..].iter().take_while(|r| r.offset < range.end) {
        if PAIRED.contains(&relocation.kind) {
            return Err(Reason::Immovable);
        }
    }
    if is_traced(object, section, range) {
        return Err(Reason::Traced);
    }
    if instruction.is_ip_rel_memory_operand() {
        let field = instruction.ip() + constants.displacement_offset() as u64;
        if object.relocation_at(section, field).is_none() {
            return Err(Reason::Immovable);
        }
    }
    if is_near_branch(instruction) {
        let relocated = object
            .relocation_at(section, instruction.ip() + constants.immediate_offset() as u64)
            .is_some();
        let known = instruction.is_jmp_short_or_near()
            || instruction.is_jcc_short_or_near()
            || instruction.is_call_near();
        let wide = !relocated
            || matches!(instruction.code(), Code::Jmp_rel32_64 | Code::Call_rel32_64)
            || instruction.is_jcc_near();
        // Short branches with a relocation cannot reach; loop and jrcxz have no long form.
        if !known || !wide || (!relocated && branch_target(object, section, decoded).is_none()) {
            return Err(Reason::Immovable);
        }
    }
    if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        && let Some((table, offset)) = unwind.table
    {
        let place = instruction.ip() - function.start;
        let data = object.sections[table].data.get(offset as usize..).unwrap_or_default();
        if !passes_through(data, place) {
            return Err(Reason::Exception);
        }
    }
    if matches!(instruction.flow_control(), FlowControl::XbeginXabortXend) {
        return Err(Reason::Immovable);
    }
    Ok(())
}
