//! Writes machine code with relocations, and the unwind information for each instruction of it.

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};
use object::elf;

use super::dwarf::{MARK, R11, RBX, RETURN, RSP, STUB_FRAME};
use crate::error::ProbeError;

use crate::cfi::{Rule, advance, as_at_entry, by_register, define_cfa, define_cfa_of_stub, saved};
use crate::elf::Relocation;
use crate::unwind::Row;

/// Where something is, for a memory operand.
#[derive(Debug, Clone, Copy)]
pub enum Memory {
    /// At a register plus an offset.
    At(Register, i32),
    /// A symbol plus an offset, relative to the instruction.
    Symbol(u32, i32),
    /// A variable of the thread: a symbol plus an offset.
    Thread(u32, i32),
}

/// A place in the code that may not be known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Where the return address of the function is, and so which CFI row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// In its place on the stack.
    Stack,
    /// In the frame that rbx points at, like what was in rbx.
    FrameInRbx,
    /// On the stack again, and what was in rbx in the frame that rbx points at.
    StackAndRbxInFrame,
    /// On the stack again, and what was in rbx on the stack, this far below the frame address.
    StackAndRbxBelow(i64),
    /// On the stack, and what was in rbx in r11.
    StackAndRbxInR11,
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
pub const ENTRY: State = State { depth: 8, place: Return::Stack };

/// Code in the making. It begins at some offset of a section, which is given at the end.
pub struct Assembler {
    encoder: Encoder,
    /// The bytes so far.
    pub code: Vec<u8>,
    /// Relocations by offset in the code.
    pub relocations: Vec<Relocation>,
    labels: Vec<Option<usize>>,
    fixes: Vec<(usize, Label)>,
    short_fixes: Vec<(usize, Label)>,
    /// Distances from one label to another, and where they are.
    distances: Vec<(usize, Label, Label)>,
    state: State,
    /// CFI: the instructions of DWARF for the rows emitted so far.
    pub unwind: Vec<u8>,
    last_row: State,
    last_row_at: usize,
    /// Registers that a row of a function says are saved; none where the row was the stub's own.
    row: Option<Vec<u16>>,
}

impl Assembler {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            encoder: Encoder::new(64),
            code: Vec::new(),
            relocations: Vec::new(),
            labels: Vec::new(),
            fixes: Vec::new(),
            short_fixes: Vec::new(),
            distances: Vec::new(),
            state: ENTRY,
            unwind: Vec::new(),
            last_row: ENTRY,
            last_row_at: 0,
            row: None,
        }
    }

    /// Encodes one instruction. What it has of symbols is in `symbol`: kind and number, addend.
    fn encode(
        &mut self,
        instruction: Result<Instruction, iced_x86::IcedError>,
        symbol: Option<(u32, u32, i64)>,
    ) -> Result<(), ProbeError> {
        self.emit_row();
        let wrong = |_| ProbeError::Internal { what: "an instruction" };
        let instruction = instruction.map_err(wrong)?;
        // The address only matters for operands that a relocation replaces.
        let length = self.encoder.encode(&instruction, 0).map_err(wrong)?;
        let mut bytes = self.encoder.take_buffer();
        let constants = self.encoder.get_constant_offsets();
        if let Some((kind, symbol, addend)) = symbol {
            let field = constants.displacement_offset();
            if let Some(place) = bytes.get_mut(field..field + 4) {
                place.fill(0);
            }
            let behind = match kind {
                elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => (length - field) as i64,
                _ => 0,
            };
            self.relocations.push(Relocation {
                offset: (self.code.len() + field) as u64,
                symbol,
                kind,
                addend: addend - behind,
            });
        }
        self.code.extend(bytes);
        Ok(())
    }

    fn operand(memory: Memory) -> (MemoryOperand, Option<(u32, u32, i64)>) {
        match memory {
            Memory::At(base, offset) => {
                let size = i32::from(offset != 0);
                let operand = MemoryOperand::new(
                    base,
                    Register::None,
                    1,
                    offset.into(),
                    size as u32,
                    false,
                    Register::None,
                );
                (operand, None)
            }
            Memory::Symbol(symbol, offset) => (
                MemoryOperand::with_base_displ(Register::RIP, 0),
                Some((elf::R_X86_64_PC32, symbol, offset.into())),
            ),
            Memory::Thread(symbol, offset) => (
                MemoryOperand::new(Register::None, Register::None, 1, 0, 8, false, Register::FS),
                Some((elf::R_X86_64_TPOFF32, symbol, offset.into())),
            ),
        }
    }

    fn memory_first(
        &mut self,
        code: Code,
        memory: Memory,
        register: Register,
    ) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with2(code, operand, register), symbol)
    }

    fn memory_last(
        &mut self,
        code: Code,
        register: Register,
        memory: Memory,
    ) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with2(code, register, operand), symbol)
    }

    /// `mov register, memory`
    pub fn load(&mut self, register: Register, memory: Memory) -> Result<(), ProbeError> {
        self.memory_last(Code::Mov_r64_rm64, register, memory)
    }

    /// `mov memory, register`
    pub fn store(&mut self, memory: Memory, register: Register) -> Result<(), ProbeError> {
        self.memory_first(Code::Mov_rm64_r64, memory, register)
    }

    /// `lea register, memory`
    pub fn address(&mut self, register: Register, memory: Memory) -> Result<(), ProbeError> {
        self.memory_last(Code::Lea_r64_m, register, memory)
    }

    /// `mov qword memory, 0`
    pub fn clear(&mut self, memory: Memory) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with2(Code::Mov_rm64_imm32, operand, 0), symbol)
    }

    /// `inc qword memory`
    pub fn increment(&mut self, memory: Memory) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with1(Code::Inc_rm64, operand), symbol)
    }

    /// `add memory, register`
    pub fn add_to(&mut self, memory: Memory, register: Register) -> Result<(), ProbeError> {
        self.memory_first(Code::Add_rm64_r64, memory, register)
    }

    /// `sub memory, register`
    pub fn subtract_from(&mut self, memory: Memory, register: Register) -> Result<(), ProbeError> {
        self.memory_first(Code::Sub_rm64_r64, memory, register)
    }

    /// `add register, memory`
    pub fn add(&mut self, register: Register, memory: Memory) -> Result<(), ProbeError> {
        self.memory_last(Code::Add_r64_rm64, register, memory)
    }

    /// `sub register, memory`
    pub fn subtract(&mut self, register: Register, memory: Memory) -> Result<(), ProbeError> {
        self.memory_last(Code::Sub_r64_rm64, register, memory)
    }

    /// `cmp memory, register`
    pub fn compare(&mut self, memory: Memory, register: Register) -> Result<(), ProbeError> {
        self.memory_first(Code::Cmp_rm64_r64, memory, register)
    }

    /// `cmp byte memory, 0`
    pub fn compare_byte_with_0(&mut self, memory: Memory) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with2(Code::Cmp_rm8_imm8, operand, 0), symbol)
    }

    /// `cmp qword memory, 0`
    pub fn compare_with_0(&mut self, memory: Memory) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with2(Code::Cmp_rm64_imm8, operand, 0), symbol)
    }

    /// `test register, register`
    pub fn test(&mut self, register: Register) -> Result<(), ProbeError> {
        self.encode(Instruction::with2(Code::Test_rm64_r64, register, register), None)
    }

    /// `mov to, from`
    pub fn copy(&mut self, to: Register, from: Register) -> Result<(), ProbeError> {
        self.encode(Instruction::with2(Code::Mov_r64_rm64, to, from), None)
    }

    /// The counter of cycles, in rax or rdx; changes both.
    pub fn cycles_in(&mut self, register: Register) -> Result<(), ProbeError> {
        let other = if register == Register::RAX { Register::RDX } else { Register::RAX };
        self.encode(Ok(Instruction::with(Code::Rdtsc)), None)?;
        self.encode(Instruction::with2(Code::Shl_rm64_imm8, Register::RDX, 32), None)?;
        self.encode(Instruction::with2(Code::Or_r64_rm64, register, other), None)
    }

    /// `push register`
    pub fn push(&mut self, register: Register) -> Result<(), ProbeError> {
        self.encode(Instruction::with1(Code::Push_r64, register), None)?;
        self.state.depth += 8;
        Ok(())
    }

    /// `pop register`
    pub fn pop(&mut self, register: Register) -> Result<(), ProbeError> {
        self.encode(Instruction::with1(Code::Pop_r64, register), None)?;
        self.state.depth -= 8;
        Ok(())
    }

    /// `push qword memory`
    pub fn push_memory(&mut self, memory: Memory) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with1(Code::Push_rm64, operand), symbol)?;
        self.state.depth += 8;
        Ok(())
    }

    /// `pop qword memory`
    pub fn pop_memory(&mut self, memory: Memory) -> Result<(), ProbeError> {
        let (operand, symbol) = Self::operand(memory);
        self.encode(Instruction::with1(Code::Pop_rm64, operand), symbol)?;
        self.state.depth -= 8;
        Ok(())
    }

    /// `lea rsp, [rsp + bytes]`
    pub fn drop(&mut self, bytes: i32) -> Result<(), ProbeError> {
        self.address(Register::RSP, Memory::At(Register::RSP, bytes))?;
        self.state.depth -= i64::from(bytes);
        Ok(())
    }

    /// An instruction without effect, by which a return address into a stub is known.
    pub fn mark(&mut self) {
        self.emit_row();
        self.code.extend(&MARK[4..]);
    }

    /// `endbr64`
    pub fn landing(&mut self) {
        self.emit_row();
        self.code.extend([0xf3, 0x0f, 0x1e, 0xfa]);
    }

    /// `ret`
    pub fn return_(&mut self) {
        self.emit_row();
        self.code.push(0xc3);
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

    fn branch(&mut self, opcode: &[u8], label: Label) {
        self.emit_row();
        self.branch_without_row(opcode, label);
    }

    fn branch_without_row(&mut self, opcode: &[u8], label: Label) {
        self.code.extend(opcode);
        self.fixes.push((self.code.len(), label));
        self.code.extend([0; 4]);
    }

    /// `jmp label`
    pub fn jump(&mut self, label: Label) {
        self.branch(&[0xe9], label);
    }

    /// A conditional jump; `condition` is the number of it in its opcode.
    pub fn jump_if(&mut self, condition: u8, label: Label) {
        self.branch(&[0x0f, 0x80 | condition], label);
    }

    /// A jump, on a condition or always, among instructions of a function, whose rules
    /// [`Self::emit_row_of`] emitted.
    pub fn jump_on(&mut self, condition: Option<u8>, label: Label) {
        match condition {
            Some(condition) => self.branch_without_row(&[0x0f, 0x80 | condition], label),
            None => self.branch_without_row(&[0xe9], label),
        }
    }

    /// The same, to a place that is no further away than a signed byte says.
    pub fn jump_shortly(&mut self, condition: Option<u8>, label: Label) {
        self.code.push(condition.map_or(0xeb, |condition| 0x70 | condition));
        self.short_fixes.push((self.code.len(), label));
        self.code.push(0);
    }

    /// A call of something outside; says where the distance is to be written.
    pub fn call_elsewhere(&mut self) -> usize {
        if self.row.is_none() {
            self.emit_row();
        }
        self.code.extend([0xe8, 0, 0, 0, 0]);
        self.code.len() - 4
    }

    /// Puts a return address into the place of the function's own, as if there were a call in its
    /// place: what is in `row` holds in front and behind. It returns to a jump to `label`, where
    /// `state` holds. A call brings the address, so that predictions and shadow stacks go on to agree
    /// with what returns there.
    pub fn return_to(&mut self, label: Label, state: State, row: &Row, by: i64) {
        let Some((register, offset)) = row.cfa else { return };
        self.emit_row_of(row, by);
        // Behind the jump, of 5 bytes.
        self.code.extend([0xe8, 5, 0, 0]);
        self.resume(state);
        // Unwinders look at the byte in front of where a call returns to.
        self.emit_row();
        self.code.push(0);
        self.jump(label);
        let pushed = if register == RSP { 8 } else { 0 };
        self.emit_row_of(&Row { cfa: Some((register, offset + pushed)), ..row.clone() }, by);
        // `pop offset - 8(register)`, where rsp counts as after it.
        let memory: &[u8] = if register == RSP { &[0x84, 0x24] } else { &[0x85] };
        self.code.push(0x8f);
        self.code.extend(memory);
        self.code.extend(((offset - 8) as i32).to_le_bytes());
        self.emit_row_of(row, by);
    }

    /// A jump to something outside; says where the distance is to be written.
    pub fn jump_elsewhere(&mut self) -> usize {
        self.code.extend([0xe9, 0, 0, 0, 0]);
        self.code.len() - 4
    }

    /// An instruction that ends with the distance to an address, with that of a label.
    pub fn address_of(&mut self, instruction: &[u8], label: Label) {
        let opcode = &instruction[..instruction.len().saturating_sub(4)];
        self.branch_without_row(opcode, label);
    }

    /// A table of distances from its beginning, which is where its label will be.
    pub fn table(&mut self, label: Label, targets: &[Label]) {
        self.code.resize(self.code.len().next_multiple_of(4), 0);
        self.bind(label);
        for &target in targets {
            self.distances.push((self.code.len(), label, target));
            self.code.extend([0; 4]);
        }
    }

    /// An instruction that is there already.
    pub fn instruction(&mut self, bytes: &[u8]) {
        self.emit_row();
        self.code.extend(bytes);
    }

    /// `call label`
    pub fn call(&mut self, label: Label) {
        self.branch(&[0xe8], label);
    }

    /// `call symbol`
    pub fn call_symbol(&mut self, symbol: u32) {
        self.emit_row();
        self.code.push(0xe8);
        self.relocations.push(Relocation {
            offset: self.code.len() as u64,
            symbol,
            kind: elf::R_X86_64_PLT32,
            addend: -4,
        });
        self.code.extend([0; 4]);
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
        if self.state == self.last_row && self.row.is_none() {
            return;
        }
        advance(&mut self.unwind, (self.code.len() - self.last_row_at) as u64);
        self.last_row_at = self.code.len();
        self.forget_row();
        describe(&mut self.unwind, self.last_row, self.state);
        self.last_row = self.state;
    }

    /// From here on the rules of a function's row hold, of which all is `by` bytes further down.
    /// The next row is emitted as a whole.
    pub fn emit_row_of(&mut self, row: &Row, by: i64) {
        advance(&mut self.unwind, (self.code.len() - self.last_row_at) as u64);
        self.last_row_at = self.code.len();
        self.forget_row();
        if let (Some((register, offset)), Some(rules)) = (row.cfa, &row.saved) {
            define_cfa(&mut self.unwind, register, (offset + by) as u64);
            for &(register, offset) in rules.iter().filter(|(register, _)| *register != RETURN) {
                saved(&mut self.unwind, register, (by - offset) as u64);
            }
            self.row = Some(rules.iter().map(|(register, _)| *register).collect());
        }
    }

    /// What a row said is saved is as it was at the entry.
    fn forget_row(&mut self) {
        for register in self.row.take().into_iter().flatten() {
            if register != RETURN {
                as_at_entry(&mut self.unwind, register);
            }
        }
    }

    /// Leaves the distances of the branches to a label to others; says where they are.
    pub fn take_branches(&mut self, label: Label) -> Vec<usize> {
        let (taken, kept) = self.fixes.iter().partition(|(_, other)| *other == label);
        self.fixes = kept;
        let taken: Vec<(usize, Label)> = taken;
        taken.into_iter().map(|(field, _)| field).collect()
    }

    /// Writes the distances of branches.
    ///
    /// # Errors
    /// A label is not bound: never, unless a stub is written wrongly.
    pub fn finish(&mut self) -> Result<(), ProbeError> {
        for (field, label) in std::mem::take(&mut self.short_fixes) {
            let target = self.offset(label).ok_or(ProbeError::Internal { what: "a label" })?;
            let distance = i8::try_from(target as i64 - (field as i64 + 1));
            let distance = distance.map_err(|_| ProbeError::Internal { what: "a distance" })?;
            self.code[field] = distance.cast_unsigned();
        }
        for (field, from, to) in std::mem::take(&mut self.distances) {
            let ends = self.offset(from).zip(self.offset(to));
            let (from, to) = ends.ok_or(ProbeError::Internal { what: "a label" })?;
            let distance = (to as i64 - from as i64) as i32;
            self.code[field..field + 4].copy_from_slice(&distance.to_le_bytes());
        }
        for (field, label) in std::mem::take(&mut self.fixes) {
            let target =
                self.labels[label.0].ok_or(ProbeError::Internal { what: "a label" })? as i64;
            let distance = (target - (field as i64 + 4)) as i32;
            self.code[field..field + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(())
    }
}

/// The rules of one state, given those of another.
fn describe(out: &mut Vec<u8>, before: State, now: State) {
    use crate::abi::{FRAME_RETURN, FRAME_SAVED};
    match now.place {
        Return::FrameInRbx => {
            if now.depth == 0 {
                define_cfa_of_stub(out, &STUB_FRAME);
            } else {
                // Only signals come here.
                define_cfa(out, RSP, (now.depth + 9) as u64);
            }
            by_register(out, Rule::Value, RSP, RSP, now.depth);
        }
        _ => define_cfa(out, RSP, now.depth as u64),
    }
    if before.place == now.place {
        return;
    }
    match now.place {
        Return::FrameInRbx => {
            by_register(out, Rule::Saved, RETURN, RBX, FRAME_RETURN.into());
            by_register(out, Rule::Saved, RBX, RBX, FRAME_SAVED.into());
        }
        _ => {
            if before.place == Return::FrameInRbx {
                as_at_entry(out, RSP);
                // Not DW_CFA_restore: libgcc takes it for "not saved", whatever held at first.
                saved(out, RETURN, 8);
            }
            match now.place {
                Return::StackAndRbxInFrame => {
                    by_register(out, Rule::Saved, RBX, RBX, FRAME_SAVED.into())
                }
                Return::StackAndRbxBelow(below) => saved(out, RBX, below as u64),
                Return::StackAndRbxInR11 => by_register(out, Rule::Value, RBX, R11, 0),
                _ => as_at_entry(out, RBX),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_encoded_as_the_assembler_does() {
        let mut assembler = Assembler::new();
        let at = Memory::At(Register::R11, 16);
        assembler.load(Register::R11, Memory::Thread(3, 0)).unwrap();
        assert_eq!(assembler.code, [0x64, 0x4c, 0x8b, 0x1c, 0x25, 0, 0, 0, 0]);
        assert_eq!(assembler.relocations[0].offset, 5);
        assembler.code.clear();
        assembler.increment(at).unwrap();
        assert_eq!(assembler.code, [0x49, 0xff, 0x43, 0x10]);
        assembler.code.clear();
        assembler.compare_byte_with_0(Memory::Symbol(4, 0)).unwrap();
        assert_eq!(assembler.code, [0x80, 0x3d, 0, 0, 0, 0, 0]);
        let relocation = assembler.relocations[1];
        assert_eq!((relocation.offset, relocation.addend), (2, -5));
    }
}
