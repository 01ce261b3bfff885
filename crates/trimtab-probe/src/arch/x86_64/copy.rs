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
//! Left out are functions with handlers of exceptions (but those that let none pass), with tables of
//! jumps that are not understood, and long ones, for which a call and a return are nothing.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register};
use object::elf;

use super::asm::{Assembler, Label, Return, State};
use super::decode::{Decoded, branch_target, is_near_branch};
use super::jump_tables::{Others, Table, Tables, is_switch};
use super::{RBP, RSP, alignment, patch_site};
use crate::ProbeError;
use crate::abi::SITE_REGISTER_SHIFT;
use crate::arch::Known;
use crate::elf::Object;
use crate::function::Function;
use crate::stub::{Copied, Inside, Lead, StackUse};
use crate::unwind::{Row, Unwind};

/// Bytes of the longest function that is copied.
const LONGEST: u64 = 8192;
/// How far the frame address may be from a register: what fits in a list of calls.
const FRAMES: Range<i64> = 8..1 << SITE_REGISTER_SHIFT;
/// Bytes between the return address and the function's own part of the stack: a word of the stub's,
/// and one in the place of the return address.
const BETWEEN: i64 = 16;
/// What holds where the function returns.
const AT_RETURN: State = State { depth: 8 + BETWEEN, place: Return::Stack };
/// Where what [`Assembler::return_to`] writes is returned to: behind a call.
const RETURN_TO: usize = 5;
/// What holds when it has returned.
const LEFT: State = State { depth: AT_RETURN.depth - 8, place: Return::Stack };

/// A function that can be copied.
#[derive(Debug)]
pub struct Copy {
    instructions: Vec<Copyable>,
    /// Tables of jumps, by the indices of instructions.
    tables: Vec<Vec<usize>>,
}

/// An instruction, and what holds in front of it.
#[derive(Debug)]
struct Copyable {
    /// Where it is in its section.
    at: Range<u64>,
    bytes: Vec<u8>,
    kind: Kind,
    row: Row,
    /// Of which number its place is a multiple, where the compiler wished it.
    alignment: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As it is.
    Plain,
    /// It fills the room in front of one that the compiler wished at a round place.
    Padding,
    /// A call, of anything, as it is.
    Call,
    /// A call of 4 bytes' distance without relocation, to this offset of the section.
    Near(u64),
    /// A branch to the instruction with this index, on a condition or always.
    Branch(Option<u8>, usize),
    /// A jump to another function, on a condition or always.
    Tail(Option<u8>, End),
    /// A jump to another function, through a register or memory.
    Anywhere,
    /// A jump to where a table says.
    Switch,
    /// It takes the address of the table with this number.
    Table(usize),
    /// It refers to a place of the section whose distance the assembler knew.
    Place(Distance),
    /// A jump to a part of the function that is elsewhere, on a condition or always.
    Away(Option<u8>, End),
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

/// Where a jump to another function leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    /// Where its distance is, if that may have a relocation.
    field: Option<u64>,
    /// To which offset of the section if it has none.
    to: u64,
}

/// Where the parts of a copy are.
pub struct Written {
    /// What is to be linked.
    pub inside: Inside,
    /// Where calls return to, and the frame address of the function there: register and offset.
    pub sites: Vec<(usize, (u16, i64))>,
    /// Tables of jumps, and where they lead, to be written behind the code.
    pub tables: Vec<(Label, Vec<Label>)>,
    /// Jumps within the function: the number of the instruction, where it ends, and where it leads.
    jumps: Vec<(usize, usize, Label)>,
    /// Where there may be padding.
    padded: Vec<usize>,
}

impl Written {
    /// The jumps that would reach in the short form.
    pub fn short(&self, asm: &Assembler) -> HashSet<usize> {
        let reaches = |&&(_, end, label): &&(usize, usize, Label)| {
            let target = asm.offset(label).unwrap_or(usize::MAX);
            let between = end.min(target)..=end.max(target);
            // Padding is longer where what is in front of it is shorter.
            let padded = self.padded.iter().filter(|at| between.contains(at)).count();
            // One that leads back is shorter itself, and where it ends is nearer.
            target.abs_diff(end) + padded * alignment::LONGEST <= i8::MAX as usize
        };
        self.jumps.iter().filter(reaches).map(|(index, ..)| *index).collect()
    }
}

impl Copy {
    /// Reads a function, from where its body begins; none if it cannot be copied.
    pub fn of(
        known: &Known<'_>,
        function: &Function,
        (body, code, tables): (u64, &[Decoded], &Tables),
        unwind: &Unwind,
        place: StackUse,
    ) -> Option<Self> {
        let object = known.object;
        let is_handled = unwind.table.is_some() && !can_share_table(unwind);
        let is_fit = place == StackUse::Own && function.size <= LONGEST && !is_handled;
        if !is_fit
            || patch_site::is_traced(object, function.section, function.start..function.end())
        {
            return None;
        }
        // What knows a place in the original would not know it in a copy.
        let mut others = Others::default();
        let is_fine = |from| tables.has(from) || others.have(known, function, from);
        if known.map.is_known_inside(function, is_fine) {
            return None;
        }
        let first = code.partition_point(|(instruction, _)| instruction.ip() < body);
        // Compilers put traps where nothing comes.
        let is_trap = |(it, _): &&Decoded| it.flow_control() == FlowControl::Exception;
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
            let is_part = |place| known.function_at(place).is_some_and(Function::is_part);
            let kind = match kind(object, function, decoded, target)? {
                Kind::Tail(condition, end)
                    if branch_target(object, function.section, decoded).is_some_and(is_part) =>
                {
                    Kind::Away(condition, end)
                }
                Kind::Anywhere if !tables.is_empty() && is_switch(code, index) => Kind::Switch,
                // It may be a switch that is not understood.
                Kind::Anywhere if !tables.is_empty() && is_by_register(instruction) => return None,
                Kind::Return | Kind::Tail(..) | Kind::Anywhere if !is_at_entry => return None,
                Kind::Plain => tables.taken_at(at.start).map_or(Kind::Plain, Kind::Table),
                kind => kind,
            };
            let bytes = &object.sections[function.section].data;
            let bytes = bytes.get(at.start as usize..at.end as usize)?.to_vec();
            instructions.push(Copyable { at, bytes, kind, row, alignment: None });
        }
        find_alignment(code, &mut instructions);
        // Behind a call that never returns there may be nothing.
        let does_not_go_on = |it: &Copyable| {
            !matches!(
                it.kind,
                Kind::Plain
                    | Kind::Padding
                    | Kind::Table(_)
                    | Kind::Place(_)
                    | Kind::Branch(Some(_), _)
                    | Kind::Tail(Some(_), _)
                    | Kind::Away(Some(_), _)
            )
        };
        let ends = instructions.last().is_some_and(does_not_go_on);
        let is_end =
            |it: &Copyable| matches!(it.kind, Kind::Return | Kind::Tail(..) | Kind::Anywhere);
        let returns = instructions.iter().any(is_end);
        let targets = |table: &Table| {
            table.targets.iter().map(|target| indices.get(target).copied()).collect()
        };
        let tables = tables.all().iter().map(targets).collect::<Option<Vec<Vec<usize>>>>()?;
        (ends && returns).then_some(Self { instructions, tables })
    }

    /// Writes the copy. Where the function returns first, `leave` writes what happens at its end,
    /// from where the word in the place of the return address is gone. Jumps that are known to be
    /// `short` have the short form.
    pub fn write<W>(
        &self,
        writer: &mut W,
        short: &HashSet<usize>,
        asm: impl Fn(&mut W) -> &mut Assembler,
        mut leave: impl FnMut(&mut W) -> Result<(), ProbeError>,
    ) -> Result<Written, ProbeError> {
        let inside = Inside { copied: Vec::new(), leads: Vec::new() };
        let labels: Vec<Label> = self.instructions.iter().map(|_| asm(writer).label()).collect();
        let table = |targets: &Vec<usize>| {
            (asm(writer).label(), targets.iter().map(|&target| labels[target]).collect())
        };
        let tables = self.tables.iter().map(table).collect();
        let mut written =
            Written { inside, sites: Vec::new(), tables, jumps: Vec::new(), padded: Vec::new() };
        let (returned, left) = (asm(writer).label(), asm(writer).label());
        let mut tails = Vec::new();
        let mut aways = Vec::new();
        let mut is_left = false;
        let mut told: Option<&Row> = None;
        for (index, it) in self.instructions.iter().enumerate() {
            let asm_ = asm(writer);
            if let Some(alignment) = it.alignment {
                alignment::fill(&mut asm_.code, alignment);
                written.padded.push(asm_.code.len());
            }
            asm_.bind(labels[index]);
            match it.kind {
                Kind::Padding => {}
                Kind::Return => {
                    told = None;
                    asm_.resume(AT_RETURN);
                    if is_left {
                        asm_.jump(returned);
                        continue;
                    }
                    is_left = true;
                    asm_.bind(returned);
                    asm_.drop(8)?;
                    asm_.bind(left);
                    leave(writer)?;
                }
                Kind::Tail(None, end) => {
                    told = None;
                    tail(asm_, end, left, &mut written)?;
                }
                Kind::Anywhere => {
                    told = None;
                    asm_.resume(AT_RETURN);
                    asm_.drop(8)?;
                    let to = asm_.code.len();
                    asm_.instruction(&called(&it.bytes));
                    written.inside.copied.push(Copied { from: it.at.clone(), to });
                    written.sites.push((asm_.code.len(), (RSP, 0)));
                    asm_.jump(left);
                }
                Kind::Away(None, end) => {
                    told = None;
                    away(asm_, &it.row, end, left, &mut written);
                }
                kind => {
                    if told != Some(&it.row) {
                        asm_.tell_row(&it.row, BETWEEN);
                        told = Some(&it.row);
                    }
                    match kind {
                        Kind::Branch(condition, to) if short.contains(&index) => {
                            asm_.jump_shortly(condition, labels[to]);
                            written.jumps.push((index, asm_.code.len(), labels[to]));
                        }
                        Kind::Branch(condition, to) => {
                            asm_.jump_on(condition, labels[to]);
                            written.jumps.push((index, asm_.code.len(), labels[to]));
                        }
                        Kind::Tail(Some(condition), end) => {
                            let label = asm_.label();
                            asm_.jump_on(Some(condition), label);
                            tails.push((label, end));
                        }
                        Kind::Away(Some(condition), end) => {
                            let label = asm_.label();
                            asm_.jump_on(Some(condition), label);
                            aways.push((label, &it.row, end));
                        }
                        Kind::Table(table) => {
                            let (label, _) = written.tables[table];
                            asm_.address_of(&it.bytes, label);
                        }
                        Kind::Near(to) => {
                            let field = asm_.call_elsewhere();
                            let from = it.at.end - 4;
                            written.inside.leads.push(Lead { from: Some(from), field, to });
                        }
                        Kind::Place(Distance { field, to }) => {
                            let at = asm_.code.len() + (field - it.at.start) as usize;
                            asm_.code.extend(&it.bytes);
                            written.inside.leads.push(Lead { from: Some(field), field: at, to });
                        }
                        _ => {
                            let to = asm_.code.len();
                            asm_.code.extend(&it.bytes);
                            written.inside.copied.push(Copied { from: it.at.clone(), to });
                        }
                    }
                    if let (Kind::Call | Kind::Near(_), Some(cfa)) = (kind, it.row.cfa) {
                        written.sites.push((asm_.code.len(), cfa));
                    }
                }
            }
        }
        for (label, end) in tails {
            asm(writer).bind(label);
            tail(asm(writer), end, left, &mut written)?;
        }
        for (label, row, end) in aways {
            asm(writer).bind(label);
            away(asm(writer), row, end, left, &mut written);
        }
        if !is_left {
            let asm = asm(writer);
            asm.resume(LEFT);
            asm.bind(left);
            leave(writer)?;
        }
        Ok(written)
    }
}

/// Finds what the compiler wished at round places: what follows padding, and where loops begin.
fn find_alignment(code: &[Decoded], instructions: &mut [Copyable]) {
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

/// A jump to another function becomes a call of it.
fn tail(
    asm: &mut Assembler,
    end: End,
    left: Label,
    written: &mut Written,
) -> Result<(), ProbeError> {
    asm.resume(AT_RETURN);
    asm.drop(8)?;
    let field = asm.call_elsewhere();
    written.inside.leads.push(Lead { from: end.field, field, to: end.to });
    // The frame address of the function is the stack pointer here.
    written.sites.push((asm.code.len(), (RSP, 0)));
    asm.jump(left);
    Ok(())
}

/// A jump to a part of the function that is elsewhere. From there it goes on in its old place, and
/// returns to the stub.
fn away(asm: &mut Assembler, row: &Row, end: End, left: Label, written: &mut Written) {
    let returned = asm.code.len() + RETURN_TO;
    asm.return_to(left, LEFT, row, BETWEEN);
    written.sites.push((returned, (RSP, 0)));
    let field = asm.jump_elsewhere();
    written.inside.leads.push(Lead { from: end.field, field, to: end.to });
}

/// A jump through a register or memory as a call.
fn called(jump: &[u8]) -> Vec<u8> {
    let mut call = jump.to_vec();
    // Behind prefixes, which are less: the number of the operation is in the middle of the byte.
    if let Some(operands) = call.iter().position(|byte| *byte == 0xff).map(|opcode| opcode + 1)
        && let Some(operands) = call.get_mut(operands)
    {
        *operands = *operands & !0x38 | 2 << 3;
    }
    call
}

/// What becomes of an instruction; none if the function cannot be copied.
fn kind(
    object: &Object,
    function: &Function,
    decoded: &Decoded,
    index_of: impl Fn(u64) -> Option<usize>,
) -> Option<Kind> {
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
        return is_plain.then_some(Kind::Place(Distance { field: displacement, to }));
    }
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::Exception | FlowControl::Interrupt => Some(Kind::Plain),
        FlowControl::IndirectCall => Some(Kind::Call),
        // Nothing inside is known elsewhere, but to tables: it leads to another function otherwise.
        FlowControl::IndirectBranch => {
            let uses_stack = [instruction.memory_base(), instruction.op0_register()];
            let fits = instruction.code() == Code::Jmp_rm64 && !uses_stack.contains(&Register::RSP);
            fits.then_some(Kind::Anywhere)
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
                (None, Some((_, to))) => Some(Kind::Tail(condition, End { field: wide, to })),
                (Some(_), Some(target)) if function.contains(target) => None,
                (Some(relocation), _) => {
                    let is_distance =
                        matches!(relocation.kind, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32);
                    let end = End { field: wide, to: 0 };
                    (is_distance && wide.is_some()).then_some(Kind::Tail(condition, end))
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
/// restored then, which compilers need not tell: it is still where it was saved, too.
fn is_as_at_entry(row: &Row) -> bool {
    row.cfa == Some((RSP, 8))
}
