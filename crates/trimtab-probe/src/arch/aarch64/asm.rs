//! Writes machine code with relocations, and the unwind information for each instruction of it.

use object::elf;

use super::decode::{LINK, SP};
use super::dwarf::{FRAME, MARK, SCRATCH, STUB_FRAME};
use crate::abi::{FRAME_RETURN, FRAME_SAVED};
use crate::cfi::{
    Rule, advance, as_at_entry, by_register, define_cfa, define_cfa_of_stub, in_register, saved,
};
use crate::elf::Relocation;
use crate::error::ProbeError;

/// A general register, by its number.
pub type Register = u32;

/// A place in the code that may not be known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Where the return address of the function is, and so which CFI row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// In x30.
    Link,
    /// On the stack, so far below where the stack pointer was at the entry.
    Below(u64),
    /// In the frame that x19 points at, like what was in x19.
    Frame,
    /// In x30 again, and what was in x19 in x16.
    LinkAndSavedInScratch,
}

/// What holds at an instruction of a stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Bytes from the stack pointer to where it is when the function has returned.
    pub depth: i64,
    /// Where the return address is.
    pub place: Return,
}

/// What holds at the entry of a function.
pub const ENTRY: State = State { depth: 0, place: Return::Link };

/// A condition, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// They differ.
    NotEqual = 1,
    /// The first is larger, unsigned.
    Higher = 8,
}

/// Code in the making.
pub struct Assembler {
    /// The bytes so far.
    pub code: Vec<u8>,
    /// Relocations by offset in the code.
    pub relocations: Vec<Relocation>,
    labels: Vec<Option<usize>>,
    fixes: Vec<(usize, Label)>,
    state: State,
    /// CFI: the instructions of DWARF for the rows emitted so far.
    pub unwind: Vec<u8>,
    last_row: State,
    last_row_at: usize,
}

impl Assembler {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            code: Vec::new(),
            relocations: Vec::new(),
            labels: Vec::new(),
            fixes: Vec::new(),
            state: ENTRY,
            unwind: Vec::new(),
            last_row: ENTRY,
            last_row_at: 0,
        }
    }

    fn put(&mut self, word: u32) {
        self.emit_row();
        self.code.extend(word.to_le_bytes());
    }

    fn put_relocated(&mut self, word: u32, kind: u32, symbol: u32, addend: i64) {
        let offset = self.code.len() as u64;
        self.relocations.push(Relocation { offset, symbol, kind, addend });
        self.put(word);
    }

    /// `ldr to, [base, #offset]`; the offset a multiple of 8 below 32768.
    pub fn load(&mut self, to: Register, base: Register, offset: u32) {
        self.put(0xf940_0000 | (offset / 8) << 10 | base << 5 | to);
    }

    /// `str from, [base, #offset]`
    pub fn store(&mut self, from: Register, base: Register, offset: u32) {
        self.put(0xf900_0000 | (offset / 8) << 10 | base << 5 | from);
    }

    /// `stp first, second, [sp, #-16]!`
    pub fn push(&mut self, first: Register, second: Register) {
        self.put(0xa9bf_0000 | second << 10 | 31 << 5 | first);
        self.state.depth += 16;
    }

    /// `ldp first, second, [sp], #16`
    pub fn pop(&mut self, first: Register, second: Register) {
        self.put(0xa8c1_0000 | second << 10 | 31 << 5 | first);
        self.state.depth -= 16;
    }

    /// `add sp, sp, #bytes`
    pub fn drop(&mut self, bytes: u32) {
        self.put(0x9100_0000 | bytes << 10 | 31 << 5 | 31);
        self.state.depth -= i64::from(bytes);
    }

    /// `add to, from, #number`, below 4096. 31 is the stack pointer.
    pub fn add_number(&mut self, to: Register, from: Register, number: u32) {
        self.put(0x9100_0000 | number << 10 | from << 5 | to);
    }

    /// `add to, from, #pages, lsl #12`
    pub fn add_pages(&mut self, to: Register, from: Register, pages: u32) {
        self.put(0x9140_0000 | pages << 10 | from << 5 | to);
    }

    /// `add to, to, from`
    pub fn add(&mut self, to: Register, from: Register) {
        self.put(0x8b00_0000 | from << 16 | to << 5 | to);
    }

    /// `sub to, from, other`
    pub fn subtract(&mut self, to: Register, from: Register, other: Register) {
        self.put(0xcb00_0000 | other << 16 | from << 5 | to);
    }

    /// `mov to, from`
    pub fn copy(&mut self, to: Register, from: Register) {
        self.put(0xaa00_03e0 | from << 16 | to);
    }

    /// `cmp first, second`
    pub fn compare(&mut self, first: Register, second: Register) {
        self.put(0xeb00_001f | second << 16 | first << 5);
    }

    /// `mrs to, cntvct_el0`: the counter that all processors share.
    pub fn cycles(&mut self, to: Register) {
        self.put(0xd53b_e040 | to);
    }

    /// to = the address of a variable of the thread, but for the low 12 bits.
    pub fn thread_page(&mut self, to: Register, symbol: u32) {
        self.put(0xd53b_d040 | to);
        let kind = elf::R_AARCH64_TLSLE_ADD_TPREL_HI12;
        self.put_relocated(0x9140_0000 | to << 5 | to, kind, symbol, 0);
    }

    /// to = the variable, whose page is in a register.
    pub fn load_thread(&mut self, to: Register, page: Register, symbol: u32) {
        let kind = elf::R_AARCH64_TLSLE_LDST64_TPREL_LO12_NC;
        self.put_relocated(0xf940_0000 | page << 5 | to, kind, symbol, 0);
    }

    /// The variable = from.
    pub fn store_thread(&mut self, from: Register, page: Register, symbol: u32) {
        let kind = elf::R_AARCH64_TLSLE_LDST64_TPREL_LO12_NC;
        self.put_relocated(0xf900_0000 | page << 5 | from, kind, symbol, 0);
    }

    /// to = the address of a symbol plus an offset.
    pub fn address(&mut self, to: Register, symbol: u32, offset: i64) {
        self.put_relocated(0x9000_0000 | to, elf::R_AARCH64_ADR_PREL_PG_HI21, symbol, offset);
        let add = 0x9100_0000 | to << 5 | to;
        self.put_relocated(add, elf::R_AARCH64_ADD_ABS_LO12_NC, symbol, offset);
    }

    /// to = the byte at a symbol.
    pub fn load_byte(&mut self, to: Register, symbol: u32) {
        self.put_relocated(0x9000_0000 | to, elf::R_AARCH64_ADR_PREL_PG_HI21, symbol, 0);
        let load = 0x3940_0000 | to << 5 | to;
        self.put_relocated(load, elf::R_AARCH64_LDST8_ABS_LO12_NC, symbol, 0);
    }

    /// An instruction without effect, by which a return address into a stub is known.
    pub fn mark(&mut self) {
        self.put(u32::from_le_bytes(MARK));
    }

    /// `ret`
    pub fn return_(&mut self) {
        self.put(0xd65f_03c0);
    }

    /// A place to jump to, later or before.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Where a label was bound.
    pub fn offset(&self, label: Label) -> Option<usize> {
        self.labels[label.0]
    }

    fn put_branch(&mut self, word: u32, label: Label) {
        self.emit_row();
        self.fixes.push((self.code.len(), label));
        self.put(word);
    }

    /// `b label`
    pub fn jump(&mut self, label: Label) {
        self.put_branch(0x1400_0000, label);
    }

    /// `b.condition label`
    pub fn jump_if(&mut self, condition: Condition, label: Label) {
        self.put_branch(0x5400_0000 | condition as u32, label);
    }

    /// `cbz register, label`
    pub fn jump_if_0(&mut self, register: Register, label: Label) {
        self.put_branch(0xb400_0000 | register, label);
    }

    /// `bl label`
    pub fn call(&mut self, label: Label) {
        self.put_branch(0x9400_0000, label);
    }

    /// `bl symbol`. The linker may put code in between that changes x16 and x17.
    pub fn call_symbol(&mut self, symbol: u32) {
        self.put_relocated(0x9400_0000, elf::R_AARCH64_CALL26, symbol, 0);
    }

    /// From here on the return address is elsewhere.
    pub fn place(&mut self, place: Return) {
        self.state.place = place;
    }

    /// What holds here.
    pub fn state(&self) -> State {
        self.state
    }

    /// Code begins here that is reached from elsewhere.
    pub fn resume(&mut self, state: State) {
        self.state = state;
    }

    /// Emits the CFI row of the next instruction, where it differs from the last one.
    fn emit_row(&mut self) {
        if self.state == self.last_row {
            return;
        }
        advance(&mut self.unwind, (self.code.len() - self.last_row_at) as u64);
        self.last_row_at = self.code.len();
        describe(&mut self.unwind, self.last_row, self.state);
        self.last_row = self.state;
    }

    /// Writes the distances of branches.
    ///
    /// # Errors
    /// A label is not bound: never, unless a stub is written wrongly.
    pub fn finish(&mut self) -> Result<(), ProbeError> {
        for (at, label) in std::mem::take(&mut self.fixes) {
            let target = self.labels[label.0].ok_or(ProbeError::Internal { what: "a label" })?;
            let words = (target as i64 - at as i64) / 4;
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&self.code[at..at + 4]);
            let word = u32::from_le_bytes(bytes);
            // `b` and `bl` have 26 bits for it, the others 19.
            let word = if word & 0x7c00_0000 == 0x1400_0000 {
                word | words as u32 & 0x03ff_ffff
            } else {
                word | (words as u32 & 0x7_ffff) << 5
            };
            self.code[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }
}

/// The rules of one state, given those of another.
fn describe(out: &mut Vec<u8>, before: State, now: State) {
    if now.place == Return::Frame {
        if now.depth == 0 {
            define_cfa_of_stub(out, &STUB_FRAME);
        } else {
            // Only signals come here.
            define_cfa(out, SP, (now.depth + 9) as u64);
        }
        by_register(out, Rule::Value, SP, SP, now.depth);
    } else {
        define_cfa(out, SP, now.depth as u64);
    }
    if before.place == now.place {
        return;
    }
    if before.place == Return::Frame {
        as_at_entry(out, SP);
    }
    match now.place {
        Return::Link | Return::LinkAndSavedInScratch => as_at_entry(out, LINK),
        Return::Below(below) => saved(out, LINK, below),
        Return::Frame => by_register(out, Rule::Saved, LINK, FRAME, FRAME_RETURN.into()),
    }
    match now.place {
        Return::Frame => by_register(out, Rule::Saved, FRAME, FRAME, FRAME_SAVED.into()),
        Return::LinkAndSavedInScratch => in_register(out, FRAME, SCRATCH),
        Return::Link | Return::Below(_) => {
            if matches!(before.place, Return::Frame | Return::LinkAndSavedInScratch) {
                as_at_entry(out, FRAME);
            }
        }
    }
}
