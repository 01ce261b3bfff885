//! The instructions of a section, as far as the rewriter has to understand them: where they lead,
//! and which of them use the stack.
//!
//! Encodings are those of the Arm Architecture Reference Manual, chapter C4.

use std::ops::Range;

use object::elf;

use crate::elf::{Object, Relocation};
use crate::function::Place;
use crate::references::References;

/// Bytes of an instruction.
pub const SIZE: u64 = 4;
/// Number of the stack pointer, in instructions that can have it, and in DWARF.
pub const SP: u16 = 31;
/// Number of the register that compilers use as frame pointer.
pub const FP: u16 = 29;
/// Number of the register that has the return address when a function is entered.
pub const LINK: u16 = 30;
/// `bti c`: may be called by way of a pointer.
pub const LANDING: u32 = 0xd503_245f;

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Where it is in its section.
    pub at: u64,
    /// It.
    pub word: u32,
}

/// What runs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// What follows.
    Next,
    /// A place at this distance.
    Branch(i64),
    /// That, or what follows.
    Conditional(i64),
    /// A place at this distance, and then what follows.
    Call(i64),
    /// A place in a register, and then what follows.
    IndirectCall,
    /// A place in a register.
    IndirectBranch,
    /// The caller.
    Return,
    /// Nothing: a trap.
    Stop,
}

impl Instruction {
    /// Where the next one is.
    pub fn next(self) -> u64 {
        self.at + SIZE
    }

    fn is(self, mask: u32, value: u32) -> bool {
        self.word & mask == value
    }

    /// A signed number of `bits` bits at bit `low`.
    fn signed(self, low: u32, bits: u32) -> i64 {
        i64::from((self.word << (32 - low - bits)) as i32 >> (32 - bits))
    }

    /// An unsigned number of `bits` bits at bit `low`.
    fn unsigned(self, low: u32, bits: u32) -> u32 {
        self.word >> low & ((1 << bits) - 1)
    }

    /// The number of the register at bit `low`.
    pub fn register(self, low: u32) -> u16 {
        self.unsigned(low, 5) as u16
    }

    /// Whether these bits are an instruction at all. Those of the scalable matrix extension are not
    /// understood, and data in code mostly looks like none.
    pub fn is_known(self) -> bool {
        match self.unsigned(25, 4) {
            0 => self.word >> 16 == 0,
            1 | 3 => false,
            // Compare and branch in one, of Armv9.6.
            10 => !self.is(0x7e00_0000, 0x7400_0000),
            _ => true,
        }
    }

    /// What runs next.
    pub fn flow(self) -> Flow {
        let near = || self.signed(0, 26) * 4;
        if self.is(0xfc00_0000, 0x1400_0000) {
            Flow::Branch(near())
        } else if self.is(0xfc00_0000, 0x9400_0000) {
            Flow::Call(near())
        } else if self.is(0xff00_0000, 0x5400_0000) || self.is(0x7e00_0000, 0x3400_0000) {
            Flow::Conditional(self.signed(5, 19) * 4)
        } else if self.is(0x7e00_0000, 0x3600_0000) {
            Flow::Conditional(self.signed(5, 14) * 4)
        } else if self.is(0xfe00_0000, 0xd600_0000) {
            match self.unsigned(21, 4) & 7 {
                0 => Flow::IndirectBranch,
                1 => Flow::IndirectCall,
                _ => Flow::Return,
            }
        } else if self.is(0xffe0_0000, 0xd420_0000) || self.word >> 16 == 0 {
            Flow::Stop
        } else {
            Flow::Next
        }
    }

    /// With another distance: of a conditional branch, in bytes.
    pub fn with_distance(self, distance: i64) -> u32 {
        let (low, bits) = if self.is(0x7e00_0000, 0x3600_0000) { (5, 14) } else { (5, 19) };
        let mask = ((1u32 << bits) - 1) << low;
        self.word & !mask | ((distance / 4) as u32) << low & mask
    }

    /// `adr`: the distance.
    pub fn address(self) -> Option<i64> {
        let low = i64::from(self.unsigned(29, 2));
        self.is(0x9f00_0000, 0x1000_0000).then(|| self.signed(5, 19) * 4 + low)
    }

    /// Whether it is `adrp`.
    pub fn is_page(self) -> bool {
        self.is(0x9f00_0000, 0x9000_0000)
    }

    /// A load from a place at a distance.
    pub fn literal(self) -> Option<i64> {
        self.is(0x3b00_0000, 0x1800_0000).then(|| self.signed(5, 19) * 4)
    }

    /// Whether it signs the return address: `paciasp`, `pacibsp`. It may be called by way of a
    /// pointer, too.
    pub fn signs(self) -> bool {
        matches!(self.word, 0xd503_233f | 0xd503_237f)
    }

    /// Whether it is `bti`, and does nothing else.
    pub fn is_landing(self) -> bool {
        self.is(0xffff_ff3f, 0xd503_241f)
    }

    /// Whether it is one of the scalable extensions, which this does not look into.
    pub fn is_scalable(self) -> bool {
        matches!(self.unsigned(25, 4), 0 | 2)
    }

    /// `add` or `sub` of a register and a number, either of which registers may be the stack pointer:
    /// the number, negative for `sub`.
    pub fn sum(self) -> Option<i64> {
        if !self.is(0x1f80_0000, 0x1100_0000) {
            return None;
        }
        let value =
            i64::from(self.unsigned(10, 12)) << if self.unsigned(22, 1) == 1 { 12 } else { 0 };
        Some(if self.unsigned(30, 1) == 1 { -value } else { value })
    }

    /// Whether it sets the flags, in the place where `sum` is known: then 31 is no stack pointer.
    pub fn sets_flags(self) -> bool {
        self.unsigned(29, 1) == 1
    }

    /// Whether it computes with whole registers, and may have the stack pointer as the first and the
    /// last: `add` and `sub` of extended registers, and logic with numbers.
    pub fn may_compute_with_stack(self) -> bool {
        self.is(0x1fe0_0000, 0x0b20_0000) || self.is(0x1f80_0000, 0x1200_0000)
    }

    /// Whether it computes with general registers: those at bits 5, 16 and, of four, 10.
    pub fn computes(self) -> bool {
        self.is(0x0e00_0000, 0x0a00_0000)
    }

    /// Whether it has a number in place of the second operand.
    pub fn computes_with_number(self) -> bool {
        self.is(0x1c00_0000, 0x1000_0000)
    }

    /// What it does with memory; none where it does nothing, or loads a literal.
    pub fn access(self) -> Option<Access> {
        // Long: a case for each encoding of a load or store.
        if !self.is(0x0a00_0000, 0x0800_0000) || self.literal().is_some() {
            return None;
        }
        let is_vector = self.unsigned(26, 1) == 1;
        let base = self.register(5);
        let first = self.register(0);
        let (size, is_pair) = match self.unsigned(27, 3) {
            5 => {
                let size = match (is_vector, self.unsigned(30, 2)) {
                    (true, opc) => 4 << opc,
                    (false, 2) => 8,
                    (false, _) => 4,
                };
                (size, true)
            }
            7 => {
                let size = self.unsigned(30, 2);
                let is_quad = is_vector && size == 0 && self.unsigned(23, 1) == 1;
                (if is_quad { 16 } else { 1 << size }, false)
            }
            // Exclusive, atomic, of several vectors.
            _ => {
                return Some(Access {
                    base,
                    offset: None,
                    size: 0,
                    stores: true,
                    registers: [Some(first), Some(self.register(10))],
                    writes_back: true,
                });
            }
        };
        let mode = self.unsigned(23, 2);
        let (offset, writes_back) = if is_pair {
            let offset = self.signed(15, 7) * i64::from(size);
            (Some(if mode == 1 { 0 } else { offset }), mode == 1 || mode == 3)
        } else if self.unsigned(24, 1) == 1 {
            (Some(i64::from(self.unsigned(10, 12)) * i64::from(size)), false)
        } else if self.unsigned(21, 1) == 1 {
            (None, false)
        } else {
            let mode = self.unsigned(10, 2);
            (Some(if mode == 1 { 0 } else { self.signed(12, 9) }), mode == 1 || mode == 3)
        };
        let stores = if is_pair {
            self.unsigned(22, 1) == 0
        } else {
            // Of vectors, 2 stores 16 bytes.
            let opc = self.unsigned(22, 2);
            opc == 0 || (is_vector && opc == 2)
        };
        let general = |register| (!is_vector).then_some(register);
        Some(Access {
            base,
            offset,
            size: i64::from(if is_pair { size * 2 } else { size }),
            stores,
            registers: [general(first), if is_pair { general(self.register(10)) } else { None }],
            writes_back,
        })
    }
}

/// A load or a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Register with the address.
    pub base: u16,
    /// How far from there; none where that is not known.
    pub offset: Option<i64>,
    /// Bytes.
    pub size: i64,
    /// Whether it writes to memory.
    pub stores: bool,
    /// The general registers that are loaded or stored, lower address first.
    pub registers: [Option<u16>; 2],
    /// Whether the base is changed, too.
    pub writes_back: bool,
}

/// The instructions of a part of a section, without what mapping symbols say is data. Ends at the
/// first bytes that are no instruction.
pub fn decode(object: &Object, section: usize, range: Range<u64>) -> Vec<Instruction> {
    let data = &object.sections[section].data;
    let Some(bytes) = data.get(range.start as usize..range.end as usize) else {
        return Vec::new();
    };
    if !range.start.is_multiple_of(SIZE) {
        return Vec::new();
    }
    let mut decoded = Vec::with_capacity(bytes.len() / 4);
    for (index, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
        let at = range.start + index as u64 * SIZE;
        if object.is_data(section, at) {
            continue;
        }
        let instruction = Instruction { at, word: u32::from_le_bytes(*word) };
        if !instruction.is_known() {
            break;
        }
        decoded.push(instruction);
    }
    decoded
}

/// The relocation of an instruction.
pub fn relocation(
    object: &Object,
    section: usize,
    instruction: Instruction,
) -> Option<&Relocation> {
    object.relocation_at(section, instruction.at)
}

/// Where in this object a distance in an instruction leads; none where it leads elsewhere.
pub fn target(
    object: &Object,
    section: usize,
    instruction: Instruction,
    distance: i64,
) -> Option<Place> {
    match relocation(object, section, instruction) {
        Some(relocation) => place(object, relocation),
        None => Some((section, instruction.at.checked_add_signed(distance)?)),
    }
}

fn place(object: &Object, relocation: &Relocation) -> Option<Place> {
    let (section, offset) = object.target(relocation)?;
    Some((section, u64::try_from(offset).ok()?))
}

/// Relocations by which the address of a place is taken.
const ADDRESSES: [u32; 6] = [
    elf::R_AARCH64_ADR_PREL_LO21,
    elf::R_AARCH64_ADR_PREL_PG_HI21,
    elf::R_AARCH64_ADR_PREL_PG_HI21_NC,
    elf::R_AARCH64_ADD_ABS_LO12_NC,
    elf::R_AARCH64_LD_PREL_LO19,
    elf::R_AARCH64_LDST64_ABS_LO12_NC,
];

/// A place in this object whose address an instruction takes, or a part of it.
pub fn address_of(object: &Object, section: usize, instruction: Instruction) -> Option<Place> {
    match relocation(object, section, instruction) {
        Some(relocation) if ADDRESSES.contains(&relocation.kind) => place(object, relocation),
        Some(_) => None,
        None => Some((section, instruction.at.checked_add_signed(instruction.address()?)?)),
    }
}

/// Finds what the instructions of a part of a section lead to.
pub fn scan(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
    let start = range.start.next_multiple_of(SIZE);
    for instruction in decode(object, section, start..range.end) {
        if let Some(place) = address_of(object, section, instruction) {
            found.take_address(object, place);
        }
        let (distance, is_call) = match instruction.flow() {
            Flow::Branch(distance) | Flow::Conditional(distance) => (distance, false),
            Flow::Call(distance) => (distance, true),
            _ => continue,
        };
        let Some(target) = target(object, section, instruction, distance) else { continue };
        if !is_call && target == (section, range.start) {
            found.loops.insert(target);
        }
        found.targets.insert(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: u32) -> Instruction {
        Instruction { at: 0x100, word }
    }

    #[test]
    fn branches_are_told_apart() {
        // What GNU as makes of: b .-8, bl .+16, b.ne .+8, cbz w3, .-4, tbnz x5, #33, .+12, ...
        assert_eq!(of(0x17ff_fffe).flow(), Flow::Branch(-8));
        assert_eq!(of(0x9400_0004).flow(), Flow::Call(16));
        assert_eq!(of(0x5400_0041).flow(), Flow::Conditional(8));
        assert_eq!(of(0x34ff_ffe3).flow(), Flow::Conditional(-4));
        assert_eq!(of(0xb708_0065).flow(), Flow::Conditional(12));
        assert_eq!(of(0xd61f_0200).flow(), Flow::IndirectBranch);
        assert_eq!(of(0xd63f_0020).flow(), Flow::IndirectCall);
        assert_eq!(of(0xd71f_0a11).flow(), Flow::IndirectBranch);
        assert_eq!(of(0xd65f_03c0).flow(), Flow::Return);
        assert_eq!(of(0xd65f_0bff).flow(), Flow::Return);
        assert_eq!(of(0xd420_7d00).flow(), Flow::Stop);
        assert_eq!(of(0x9100_43ff).flow(), Flow::Next);
    }

    #[test]
    fn distances_are_written_as_they_are_read() {
        for word in [0x5400_0041, 0x34ff_ffe3, 0xb708_0065, 0xb5ff_ff03] {
            for distance in [8, -8, 32764, -32768] {
                let changed = of(of(word).with_distance(distance));
                assert_eq!(changed.flow(), Flow::Conditional(distance), "{word:x}");
            }
        }
    }

    #[test]
    fn accesses_have_a_base_an_offset_and_a_size() {
        let access = |word| of(word).access().map(|a| (a.base, a.offset, a.size, a.stores));
        // stp x29, x30, [sp, #-32]!; ldp x29, x30, [sp], #32; str q1, [sp, #16]; ldr w0, [x29, #28]
        assert_eq!(access(0xa9be_7bfd), Some((31, Some(-32), 16, true)));
        assert_eq!(access(0xa8c2_7bfd), Some((31, Some(0), 16, false)));
        assert_eq!(access(0x3d80_07e1), Some((31, Some(16), 16, true)));
        assert_eq!(access(0xb940_1fa0), Some((29, Some(28), 4, false)));
        // stur x0, [x29, #-8]; ldrb w1, [sp, x2]; ldxr x0, [sp]; ldr x0, .+8; add x0, x0, x1
        assert_eq!(access(0xf81f_83a0), Some((29, Some(-8), 8, true)));
        assert_eq!(access(0x3862_6be1), Some((31, None, 1, false)));
        assert_eq!(access(0xc85f_7fe0).map(|access| access.1), Some(None));
        assert_eq!(access(0x5800_0040), None);
        assert_eq!(access(0x8b01_0000), None);
    }

    #[test]
    fn sums_know_the_stack_pointer() {
        // sub sp, sp, #0x20; add x29, sp, #16; sub sp, sp, #1, lsl #12
        assert_eq!(of(0xd100_83ff).sum(), Some(-32));
        assert_eq!(of(0x9100_43fd).sum(), Some(16));
        assert_eq!(of(0xd140_07ff).sum(), Some(-4096));
        assert_eq!(of(0xaa00_03e0).sum(), None);
    }
}
