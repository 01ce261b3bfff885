//! The first instructions of a function: the one that makes room for a jump, and runs elsewhere.

use object::elf;

use super::decode::{Flow, Instruction, LANDING, SIZE, SP, address_of, relocation, target};
use crate::elf::{Object, Relocation};
use crate::function::Function;
use crate::reason::{Reason, is_tracer};
use crate::references::CodeMap;
use crate::relocation_edits::SectionEnd;
use crate::unwind::{Unwind, passes_through};

/// `b`, without the distance.
const BRANCH: u32 = 0x1400_0000;
/// `bl`, without the distance.
const CALL: u32 = 0x9400_0000;
/// `adrp x16`.
const PAGE_IN_16: u32 = 0x9000_0010;
/// Relocations whose instructions the linker replaces together with the next.
const PAIRED: [u32; 3] = [
    elf::R_AARCH64_TLSGD_ADD_LO12_NC,
    elf::R_AARCH64_TLSLD_ADD_LO12_NC,
    elf::R_AARCH64_TLSDESC_CALL,
];

/// What is moved.
#[derive(Debug)]
pub struct PatchSite {
    /// First byte that changes: the jump, or an instruction that takes the place of one that may be
    /// called by way of a pointer, and is moved.
    pub start: u64,
    /// Where the jump is put.
    pub at: u64,
    /// Behind the jump.
    pub end: u64,
    /// The instructions that were there.
    pub instructions: Vec<Instruction>,
}

impl PatchSite {
    /// Finds what is to be moved of a function, whose instructions are `code`.
    ///
    /// `bti` stays, and the jump comes behind it. What signs the return address must see the one
    /// that the body returns to: it moves, and leaves a `bti c` behind.
    ///
    /// # Errors
    /// Why nothing can be.
    pub fn of(
        object: &Object,
        map: &CodeMap,
        function: &Function,
        code: &[Instruction],
        unwind: &Unwind,
    ) -> Result<Self, Reason> {
        let first = *code.first().ok_or(Reason::TooShort)?;
        let skipped = usize::from(first.is_landing());
        let count = 1 + usize::from(first.signs());
        let instructions = code.get(skipped..skipped + count).ok_or(Reason::TooShort)?.to_vec();
        let start = instructions[0].at;
        let end = start + SIZE * count as u64;
        for &instruction in &instructions {
            check(object, function, instruction, unwind)?;
        }
        if map.loops_to_start(function) {
            return Err(Reason::Loop);
        }
        let last = instructions[count - 1];
        let is_entered = map.is_entered(function.section, function.start + 1..end)
            || (!moves_stack(last) && has_hidden_table(object, function, code));
        if is_entered {
            return Err(Reason::Entered);
        }
        Ok(Self { start, at: end - SIZE, end, instructions })
    }

    /// Writes the instructions behind the stub, and the way back: see
    /// [`Arch::move_prologue`](crate::arch::Arch::move_prologue).
    pub fn write(&self, to: &mut SectionEnd<'_>) -> Vec<(u64, u64)> {
        let body = to.end();
        let mut rows = Vec::new();
        let mut continues = true;
        for &instruction in &self.instructions {
            rows.push((instruction.at, to.end() - body));
            continues = self.write_one(to, instruction);
        }
        rows.push((self.end, to.end() - body));
        if continues {
            branch(to, BRANCH, self.end);
        }
        rows
    }

    /// Writes an instruction so that it does at the end of the section what it did in its place.
    /// Says whether what follows it is still to be reached.
    fn write_one(&self, to: &mut SectionEnd<'_>, instruction: Instruction) -> bool {
        let from = instruction.at..instruction.next();
        let at = to.end();
        let here = relocation(to.object, to.section, instruction).copied();
        match (instruction.flow(), here) {
            (Flow::Conditional(distance), here) => {
                // It may not reach that far: to a branch that does.
                put(to, instruction.with_distance(8));
                branch(to, BRANCH, self.end);
                match here {
                    Some(relocation) => {
                        to.take_relocations(from);
                        let kind = elf::R_AARCH64_JUMP26;
                        let offset = at + 8;
                        to.changes.add(to.section, Relocation { offset, kind, ..relocation });
                        put(to, BRANCH);
                    }
                    None => branch(to, BRANCH, instruction.at.wrapping_add_signed(distance)),
                }
                return false;
            }
            (Flow::Branch(distance), None) => {
                branch(to, BRANCH, instruction.at.wrapping_add_signed(distance));
            }
            (Flow::Call(distance), None) => {
                branch(to, CALL, instruction.at.wrapping_add_signed(distance));
            }
            _ if instruction.address().is_some() => self.write_address(to, instruction, here),
            _ if instruction.literal().is_some() => write_literal(to, instruction),
            _ => {
                to.move_relocations(from, at, &[]);
                put(to, instruction.word);
            }
        }
        !matches!(
            instruction.flow(),
            Flow::Branch(_) | Flow::IndirectBranch | Flow::Return | Flow::Stop
        )
    }

    /// `adr` reaches 1 MiB: it becomes `adrp` and `add`.
    fn write_address(&self, to: &mut SectionEnd<'_>, adr: Instruction, here: Option<Relocation>) {
        let (symbol, addend) = match here {
            Some(relocation) => {
                to.take_relocations(adr.at..adr.next());
                (relocation.symbol, relocation.addend)
            }
            None => {
                let distance = adr.address().unwrap_or_default();
                (to.section_symbol, adr.at.wrapping_add_signed(distance) as i64)
            }
        };
        let register = u32::from(adr.register(0));
        relocate(to, elf::R_AARCH64_ADR_PREL_PG_HI21, symbol, addend);
        put(to, 0x9000_0000 | register);
        relocate(to, elf::R_AARCH64_ADD_ABS_LO12_NC, symbol, addend);
        put(to, 0x9100_0000 | register << 5 | register);
    }

    /// Puts the jump to the stub in place.
    pub fn patch(&self, data: &mut [u8], stub: u64) {
        let mut write = |at: u64, word: u32| {
            data[at as usize..][..4].copy_from_slice(&word.to_le_bytes());
        };
        if self.start < self.at {
            write(self.start, LANDING);
        }
        write(self.at, BRANCH | distance(self.at, stub));
    }
}

/// A literal's instruction reaches 1 MiB: x16, in which nothing is when a function begins, gets the
/// address.
fn write_literal(to: &mut SectionEnd<'_>, load: Instruction) {
    let place = load.at.wrapping_add_signed(load.literal().unwrap_or_default()) as i64;
    let Some((word, kind)) = with_base(load) else { return };
    let symbol = to.section_symbol;
    relocate(to, elf::R_AARCH64_ADR_PREL_PG_HI21, symbol, place);
    put(to, PAGE_IN_16);
    relocate(to, kind, symbol, place);
    put(to, word | 16 << 5);
}

/// A load of a literal as one with a base, and how that is relocated; none for a prefetch.
fn with_base(load: Instruction) -> Option<(u32, u32)> {
    let (word, kind) = match (load.word >> 26 & 1, load.word >> 30) {
        (0, 0) => (0xb940_0000, elf::R_AARCH64_LDST32_ABS_LO12_NC),
        (0, 1) => (0xf940_0000, elf::R_AARCH64_LDST64_ABS_LO12_NC),
        (0, 2) => (0xb980_0000, elf::R_AARCH64_LDST32_ABS_LO12_NC),
        (1, 0) => (0xbd40_0000, elf::R_AARCH64_LDST32_ABS_LO12_NC),
        (1, 1) => (0xfd40_0000, elf::R_AARCH64_LDST64_ABS_LO12_NC),
        (1, 2) => (0x3dc0_0000, elf::R_AARCH64_LDST128_ABS_LO12_NC),
        _ => return None,
    };
    Some((word | u32::from(load.register(0)), kind))
}

/// Whether the address fits the load: the relocation has room for aligned ones only.
fn is_aligned(load: Instruction, place: u64) -> bool {
    let size = match with_base(load) {
        Some((_, elf::R_AARCH64_LDST32_ABS_LO12_NC)) => 4,
        Some((_, elf::R_AARCH64_LDST64_ABS_LO12_NC)) => 8,
        _ => 16,
    };
    place.is_multiple_of(size)
}

fn put(to: &mut SectionEnd<'_>, word: u32) {
    to.data().extend(word.to_le_bytes());
}

/// A branch to an offset of the section.
fn branch(to: &mut SectionEnd<'_>, word: u32, target: u64) {
    let word = word | distance(to.end(), target);
    put(to, word);
}

fn distance(from: u64, to: u64) -> u32 {
    (to.wrapping_sub(from) >> 2) as u32 & 0x03ff_ffff
}

/// A relocation for the instruction that is put next.
fn relocate(to: &mut SectionEnd<'_>, kind: u32, symbol: u32, addend: i64) {
    let offset = to.end();
    to.changes.add(to.section, Relocation { offset, symbol, kind, addend });
}

/// Whether an instruction can run elsewhere.
fn check(
    object: &Object,
    function: &Function,
    instruction: Instruction,
    unwind: &Unwind,
) -> Result<(), Reason> {
    let section = function.section;
    let range = instruction.at..instruction.next();
    let relocations = &object.relocations[section];
    let first = relocations.partition_point(|relocation| relocation.offset < range.start);
    let own = relocations[first..].iter().take_while(|relocation| relocation.offset < range.end);
    let mut count = 0;
    for relocation in own {
        count += 1;
        if PAIRED.contains(&relocation.kind) || relocation.offset != range.start {
            return Err(Reason::Immovable);
        }
        if is_tracer(&object.symbols[relocation.symbol as usize].name) {
            return Err(Reason::Traced);
        }
    }
    if count > 1 {
        return Err(Reason::Immovable);
    }
    if instruction.is_page() && count == 0 {
        return Err(Reason::Immovable);
    }
    if let Some(distance) = instruction.literal() {
        let place = instruction.at.checked_add_signed(distance);
        let fits = place.is_some_and(|place| is_aligned(instruction, place));
        if count > 0 || with_base(instruction).is_none() || !fits {
            return Err(Reason::Immovable);
        }
    }
    match instruction.flow() {
        Flow::Branch(distance) | Flow::Conditional(distance) | Flow::Call(distance)
            if count == 0 && target(object, section, instruction, distance).is_none() =>
        {
            return Err(Reason::Immovable);
        }
        _ => {}
    }
    if matches!(instruction.flow(), Flow::Call(_) | Flow::IndirectCall)
        && let Some((table, offset)) = unwind.table
    {
        let place = instruction.at - function.start;
        let data = object.sections[table].data.get(offset as usize..).unwrap_or_default();
        if !passes_through(data, place) {
            return Err(Reason::Exception);
        }
    }
    Ok(())
}

/// Whether an instruction moves the stack pointer: nothing jumps back to it then.
fn moves_stack(instruction: Instruction) -> bool {
    let by_access =
        instruction.access().is_some_and(|access| access.base == SP && access.writes_back);
    by_access || (instruction.sum().is_some() && instruction.register(0) == SP)
}

/// Whether a function may jump by a table whose entries cannot be seen: distances from a place in
/// the function, which assemblers compute, and leave nothing to relocate.
fn has_hidden_table(object: &Object, function: &Function, code: &[Instruction]) -> bool {
    let jumps = |instruction: &Instruction| instruction.flow() == Flow::IndirectBranch;
    let names = |instruction: &Instruction| {
        address_of(object, function.section, *instruction).is_some_and(|(section, offset)| {
            section == function.section && offset > function.start && offset < function.end()
        })
    };
    code.iter().any(jumps) && code.iter().any(names)
}
