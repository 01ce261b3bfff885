//! The jump tables of a function, as compilers write them for position-independent code: distances
//! from the table to places in the function. A copy of the function needs tables of its own.

use std::collections::HashMap;

use iced_x86::{Code, OpKind, Register};
use object::elf;

use super::decode::{Insn, decode};
use crate::arch::Context;
use crate::elf::Object;
use crate::function::{Function, Place};

/// Instructions between where a distance is read and the jump that it is for.
const STEPS: usize = 12;
/// Bytes of a distance.
const ENTRY: u64 = 4;

/// Functions whose tables are looked at to see whether one is known to them.
const OTHERS: usize = 8;

/// Places of a section, each by the distance of a table.
#[derive(Debug)]
pub struct JumpTable {
    /// Where the table is.
    place: Place,
    /// Where its distances lead.
    pub targets: Vec<u64>,
}

/// The tables of a function.
#[derive(Debug, Default)]
pub struct JumpTables {
    all: Vec<JumpTable>,
    /// By the instruction that takes its address: the number of a table.
    by_instruction: HashMap<u64, usize>,
}

impl JumpTables {
    /// Finds the tables whose address a function takes; none where it is not certain how long one is.
    pub fn of(context: &Context<'_>, function: &Function, code: &[Insn]) -> Option<Self> {
        let mut tables = Self::default();
        for decoded in code {
            let Some(place) = address_taken(context.object, function.section, decoded) else {
                continue;
            };
            let number = match tables.all.iter().position(|table| table.place == place) {
                Some(number) => number,
                None => {
                    let targets = targets(context, function, place)?;
                    if targets.is_empty() {
                        continue;
                    }
                    tables.all.push(JumpTable { place, targets });
                    tables.all.len() - 1
                }
            };
            tables.by_instruction.insert(decoded.0.ip(), number);
        }
        Some(tables)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The tables.
    pub fn all(&self) -> &[JumpTable] {
        &self.all
    }

    /// Whether one of them leads to this offset.
    pub fn lead_to(&self, offset: u64) -> bool {
        self.all.iter().any(|table| table.targets.contains(&offset))
    }

    /// The number of the table whose address the instruction at an offset takes.
    pub fn taken_at(&self, offset: u64) -> Option<usize> {
        self.by_instruction.get(&offset).copied()
    }

    /// Whether a distance in data is one of a table.
    pub fn has(&self, (section, offset): Place) -> bool {
        self.all.iter().any(|table| {
            let (of, start) = table.place;
            let length = table.targets.len() as u64 * ENTRY;
            section == of && (start..start + length).contains(&offset)
        })
    }
}

/// The tables of other functions than the one that is looked at.
#[derive(Debug, Default)]
pub struct ForeignTables {
    /// By where one begins.
    known: HashMap<Place, JumpTables>,
}

impl ForeignTables {
    /// Whether a distance in data belongs to a table of another function, by which that jumps. What it
    /// would lead to from its own place is an accident then.
    pub fn have(&mut self, context: &Context<'_>, function: &Function, distance: Place) -> bool {
        let Some(start) = context.map.taken_before(distance) else { return false };
        if !self.known.contains_key(&start) {
            if self.known.len() >= OTHERS {
                return false;
            }
            let tables = tables_around(context, function, start).unwrap_or_default();
            self.known.insert(start, tables);
        }
        self.known.get(&start).is_some_and(|tables| tables.has(distance))
    }
}

/// The tables of the function that the first distance of one leads into, if it has jumps by them.
fn tables_around(
    context: &Context<'_>,
    except: &Function,
    (section, start): Place,
) -> Option<JumpTables> {
    let relocation = context.object.relocation_at(section, start)?;
    let (target, offset) = context.object.target(relocation)?;
    let function = context.function_at((target, u64::try_from(offset).ok()?))?;
    if (function.section, function.start) == (except.section, except.start) {
        return None;
    }
    let code = decode(context.object, function.section, function.start, function.end());
    let jumps = (0..code.len()).any(|index| is_table_jump(&code, index));
    jumps.then(|| JumpTables::of(context, function, &code)).flatten()
}

/// The place in data whose address an instruction takes, and does nothing else.
fn address_taken(object: &Object, section: usize, decoded: &Insn) -> Option<Place> {
    let (instruction, constants) = decoded;
    if instruction.code() != Code::Lea_r64_m || !instruction.is_ip_rel_memory_operand() {
        return None;
    }
    let field = instruction.ip() + constants.displacement_offset() as u64;
    let relocation = object.relocation_at(section, field)?;
    let (target, offset) = object.target(relocation)?;
    let behind = instruction.next_ip().wrapping_sub(field) as i64;
    let place = (target, u64::try_from(offset.checked_add(behind)?).ok()?);
    let is_data = !object.sections[target].is_text() && object.sections[target].has(elf::SHF_ALLOC);
    (relocation.kind == elf::R_X86_64_PC32 && is_data).then_some(place)
}

/// Where the distances lead that begin at a place, up to where another table begins; nowhere if the
/// first does not lead into the function. None if another one does not.
fn targets(
    context: &Context<'_>,
    function: &Function,
    (section, start): Place,
) -> Option<Vec<u64>> {
    let mut targets = Vec::new();
    for offset in (start..).step_by(ENTRY as usize) {
        let Some(relocation) = context.object.relocation_at(section, offset) else { break };
        if offset > start && context.map.is_taken((section, offset)) {
            break;
        }
        // The distance is from the table, and the relocation's from the entry.
        let target = context.object.target(relocation).and_then(|(target, value)| {
            let value = u64::try_from(value.checked_sub((offset - start) as i64)?).ok()?;
            let is_inside = function.contains((target, value));
            (relocation.kind == elf::R_X86_64_PC32 && is_inside).then_some(value)
        });
        match target {
            Some(target) => targets.push(target),
            None if targets.is_empty() => break,
            None => return None,
        }
    }
    Some(targets)
}

/// Whether the jump with an index goes where a table's distance branches: in front of it the distance is
/// read, and added to where the table is.
pub fn is_table_jump(code: &[Insn], index: usize) -> bool {
    let Some((jump, _)) = code.get(index).filter(|(jump, _)| jump.code() == Code::Jmp_rm64) else {
        return false;
    };
    let register = jump.op0_register();
    if jump.op0_kind() != OpKind::Register || !register.is_gpr64() {
        return false;
    }
    let before = &code[index.saturating_sub(STEPS)..index];
    let is_added = before.iter().any(|(it, _)| {
        matches!(it.code(), Code::Add_r64_rm64 | Code::Add_rm64_r64)
            && it.op0_kind() == OpKind::Register
            && it.op0_register() == register
            && it.op1_kind() == OpKind::Register
    });
    let is_read = before.iter().any(|(it, _)| {
        it.code() == Code::Movsxd_r64_rm32
            && it.op1_kind() == OpKind::Memory
            && it.memory_base() != Register::None
            && it.memory_index_scale() == ENTRY as u32
    });
    is_added && is_read
}
