//! The code that runs in front of and behind an x86-64 function; see [`crate::stub`].

use iced_x86::Register::{self, R11, RAX, RBX, RDX, RSP};

use super::asm::{Assembler, ENTRY, Label, Memory, Return, State};
use super::registers::Free;
use crate::ProbeError;
use crate::hook::Hook;
use crate::layout::{
    FRAME_AT, FRAME_CHILD, FRAME_NEXT, FRAME_R11, FRAME_RETURN, FRAME_SAVED, FRAME_START,
};
use crate::stub::{StackUse, Stub, Symbols};

/// Numbers of conditions in opcodes.
const EQUAL: u8 = 4;
const NOT_EQUAL: u8 = 5;
const ABOVE: u8 = 7;

/// What is to be written.
pub struct Writer<'a> {
    asm: Assembler,
    symbols: &'a Symbols,
    /// Where the thread's cell of the function is, behind r11.
    cell: i32,
    /// The function's entry in the table: symbol and offset.
    function: (u32, i32),
    body: Body,
    place: StackUse,
    free: Free,
    slow: Vec<Slow>,
}

/// Where the function's own instructions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Behind the stub: the first of them, and a jump to the rest.
    Behind,
    /// Where they were. Callers come to the stub, by pointers as well where the function has a
    /// `landing`: `endbr64`.
    Elsewhere {
        /// Whether it has.
        landing: bool,
    },
}

/// Code for rare cases, behind the rest.
enum Slow {
    Block { from: Label, back: Label, state: State },
    Frame { from: Label, back: Label, state: State },
}

/// Writes the stub of a function: what it may change, its `cell` on each thread, its entry in the
/// table as symbol and offset.
///
/// # Errors
/// [`ProbeError::Internal`]: never, unless this is written wrongly.
pub fn write(
    hook: Hook,
    body: Body,
    (place, free): (StackUse, Free),
    symbols: &Symbols,
    cell: u32,
    function: (u32, i32),
) -> Result<Stub, ProbeError> {
    let writer = Writer {
        asm: Assembler::new(),
        symbols,
        cell: (cell * hook.cell_size()) as i32,
        function,
        body,
        place,
        free,
        slow: Vec::new(),
    };
    if hook.sees_exits() { writer.both(hook) } else { writer.entry_only() }
}

impl Writer<'_> {
    fn cell(&self, word: i32) -> Memory {
        Memory::At(R11, self.cell + 8 * word)
    }

    /// For hooks that see only entries: the rare first, so that the body follows without a jump.
    fn entry_only(mut self) -> Result<Stub, ProbeError> {
        let (entry, first, block) = (self.asm.label(), self.asm.label(), self.asm.label());
        let (done, has_block, body) = (self.asm.label(), self.asm.label(), self.asm.label());
        let cells = Memory::Thread(self.symbols.cells, 0);

        let depth = if self.free.r11 { 8 } else { 16 };
        self.asm.resume(State { depth, place: Return::Stack });
        self.asm.bind(first);
        self.asm.address(R11, self.cell(0))?;
        self.asm.call_symbol(self.symbols.first);
        self.asm.jump(done);
        self.asm.bind(block);
        self.call_block()?;
        self.asm.jump(has_block);

        self.asm.resume(ENTRY);
        self.begin(entry);
        self.asm.compare_byte_with_0(Memory::Symbol(self.symbols.on, 0))?;
        self.asm.jump_if(EQUAL, body);
        if !self.free.r11 {
            self.asm.push(R11)?;
        }
        self.asm.load(R11, cells)?;
        self.asm.test(R11)?;
        self.asm.jump_if(EQUAL, block);
        self.asm.bind(has_block);
        self.asm.increment(self.cell(0))?;
        self.asm.compare_with_0(self.cell(1))?;
        self.asm.jump_if(EQUAL, first);
        self.asm.bind(done);
        if !self.free.r11 {
            self.asm.pop(R11)?;
        }
        if self.body != Body::Behind {
            self.asm.jump(body);
        }
        self.finish(entry, body, None)
    }

    /// For a number in memory, where what it was is on the stack: nothing but the stack is needed
    /// in front of the body, and two registers behind it, of which most functions have two.
    fn value_on_stack(mut self) -> Result<Stub, ProbeError> {
        let (entry, body, back) = (self.asm.label(), self.asm.label(), self.asm.label());
        let value = Memory::Symbol(self.symbols.value, 0);
        let cells = Memory::Thread(self.symbols.cells, 0);
        self.begin(entry);
        self.asm.compare_byte_with_0(Memory::Symbol(self.symbols.on, 0))?;
        self.asm.jump_if(EQUAL, body);
        self.asm.push_memory(value)?;
        self.asm.call(body);
        self.asm.bind(back);
        let (pointer, grown) = match (self.free.pointer, self.free.other) {
            (Some(pointer), Some(other)) => {
                self.asm.pop(other)?;
                (pointer, other)
            }
            (pointer, _) => {
                // What the caller had in the second place is below what the number was.
                if pointer.is_none() {
                    self.asm.push(R11)?;
                }
                self.asm.push(RAX)?;
                let was = Memory::At(RSP, if pointer.is_none() { 16 } else { 8 });
                self.asm.load(RAX, was)?;
                (pointer.unwrap_or(R11), RAX)
            }
        };
        // By how much it grew, with the other sign.
        self.asm.subtract(grown, value)?;
        let (from, has_block) = (self.asm.label(), self.asm.label());
        self.asm.load(pointer, cells)?;
        self.asm.test(pointer)?;
        self.asm.jump_if(EQUAL, from);
        let state = self.asm.state();
        self.asm.bind(has_block);
        self.asm.increment(Memory::At(pointer, self.cell))?;
        self.asm.subtract_from(Memory::At(pointer, self.cell + 8), grown)?;
        match (self.free.pointer, self.free.other) {
            (Some(_), Some(_)) => {}
            (pointer, _) => {
                self.asm.pop(RAX)?;
                if pointer.is_none() {
                    self.asm.pop(R11)?;
                }
                self.asm.drop(8)?;
            }
        }
        self.asm.return_();

        self.asm.resume(state);
        self.asm.bind(from);
        if pointer != R11 {
            self.asm.push(R11)?;
        }
        self.call_block()?;
        if pointer != R11 {
            self.asm.copy(pointer, R11)?;
            self.asm.pop(R11)?;
        }
        self.asm.jump(has_block);
        self.finish(entry, body, Some(back))
    }

    fn both(mut self, hook: Hook) -> Result<Stub, ProbeError> {
        if (self.place, hook) == (StackUse::Own, Hook::Value) {
            return self.value_on_stack();
        }
        let (entry, body, back) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.begin(entry);
        self.asm.compare_byte_with_0(Memory::Symbol(self.symbols.on, 0))?;
        self.asm.jump_if(EQUAL, body);
        if !self.is_bare(hook) {
            self.asm.push(R11)?;
        }
        if self.place == StackUse::Caller {
            self.take_frame()?;
        }
        self.enter(hook)?;
        // Where r11 waits: what the hook keeps lies below it.
        let kept = match (self.place, hook) {
            (StackUse::Caller, _) => Memory::At(RBX, FRAME_R11),
            (StackUse::Own, Hook::Cycles | Hook::Time) => Memory::At(RSP, 16),
            (StackUse::Own, _) => Memory::At(RSP, 0),
        };
        if !self.free.r11 {
            self.asm.load(R11, kept)?;
        }
        self.asm.call(body);
        self.asm.bind(back);
        // With a frame it is a part of the mark.
        if !self.free.r11 || self.place == StackUse::Caller {
            self.asm.store(kept, R11)?;
        }
        if self.place == StackUse::Caller {
            self.asm.mark();
        }
        self.leave(hook)?;
        match self.place {
            StackUse::Own if self.is_bare(hook) => {}
            StackUse::Own => self.asm.pop(R11)?,
            StackUse::Caller => self.give_frame_back()?,
        }
        self.asm.return_();
        self.rare()?;
        self.finish(entry, body, Some(back))
    }

    /// Whether nothing is on the stack but one word of the hook's. The others want r11's place
    /// there: it keeps the stack aligned.
    fn is_bare(&self, hook: Hook) -> bool {
        let one_word = matches!(hook, Hook::Count | Hook::Cycles);
        self.free.r11 && self.place == StackUse::Own && one_word
    }

    /// Moves the return address and r11 into a frame, and rbx; rbx then points at it. The order is
    /// such that a signal may come anywhere: its handler takes frames and gives them back.
    fn take_frame(&mut self) -> Result<(), ProbeError> {
        let frames = Memory::Thread(self.symbols.frames, 0);
        let (from, back) = (self.asm.label(), self.asm.label());
        self.asm.load(R11, frames)?;
        self.asm.test(R11)?;
        self.asm.jump_if(EQUAL, from);
        self.slow.push(Slow::Frame { from, back, state: self.asm.state() });
        self.asm.bind(back);
        self.asm.store(Memory::At(R11, FRAME_AT), RSP)?;
        self.asm.push_memory(Memory::At(R11, FRAME_NEXT))?;
        self.asm.pop_memory(frames)?;
        self.asm.pop_memory(Memory::At(R11, FRAME_R11))?;
        self.asm.pop_memory(Memory::At(R11, FRAME_RETURN))?;
        self.asm.place(Return::FrameInR11);
        self.asm.store(Memory::At(R11, FRAME_SAVED), RBX)?;
        self.asm.copy(RBX, R11)?;
        self.asm.place(Return::FrameInRbx);
        Ok(())
    }

    fn give_frame_back(&mut self) -> Result<(), ProbeError> {
        let frames = Memory::Thread(self.symbols.frames, 0);
        self.asm.push_memory(Memory::At(RBX, FRAME_RETURN))?;
        self.asm.place(Return::StackAndRbxInFrame);
        if !self.free.r11 {
            self.asm.push_memory(Memory::At(RBX, FRAME_R11))?;
        }
        self.asm.push_memory(Memory::At(RBX, FRAME_SAVED))?;
        self.asm.place(Return::StackAndRbxBelow(if self.free.r11 { 16 } else { 24 }));
        self.asm.load(R11, frames)?;
        self.asm.store(Memory::At(RBX, FRAME_NEXT), R11)?;
        self.asm.store(frames, RBX)?;
        self.asm.pop(RBX)?;
        self.asm.place(Return::Stack);
        if self.free.r11 { Ok(()) } else { self.asm.pop(R11) }
    }

    /// r11 = the object's cells on this thread.
    fn block(&mut self) -> Result<(), ProbeError> {
        let (from, back) = (self.asm.label(), self.asm.label());
        self.asm.load(R11, Memory::Thread(self.symbols.cells, 0))?;
        self.asm.test(R11)?;
        self.asm.jump_if(EQUAL, from);
        self.slow.push(Slow::Block { from, back, state: self.asm.state() });
        self.asm.bind(back);
        Ok(())
    }

    fn call_block(&mut self) -> Result<(), ProbeError> {
        self.asm.address(R11, Memory::Symbol(self.symbols.object, 0))?;
        self.asm.call_symbol(self.symbols.block);
        self.asm.store(Memory::Thread(self.symbols.cells, 0), R11)
    }

    /// r11 = the function, and a function of the run time is called.
    fn call(&mut self, symbol: u32) -> Result<(), ProbeError> {
        self.asm.address(R11, Memory::Symbol(self.function.0, self.function.1))?;
        self.asm.call_symbol(symbol);
        Ok(())
    }

    fn enter(&mut self, hook: Hook) -> Result<(), ProbeError> {
        match hook {
            Hook::Count => {
                self.block()?;
                self.asm.increment(self.cell(0))?;
                // The way back finds the cells there.
                if self.is_bare(hook) { self.asm.push(R11) } else { Ok(()) }
            }
            Hook::Cycles => self.note_start(self.is_bare(hook)),
            Hook::Time => {
                self.block()?;
                self.mark_outermost()?;
                let child = Memory::Thread(self.symbols.child, 0);
                match self.place {
                    StackUse::Own => {
                        let start = self.cycles()?;
                        self.asm.push_memory(child)?;
                        self.asm.clear(child)?;
                        self.asm.push(start)
                    }
                    StackUse::Caller => {
                        self.asm.load(R11, child)?;
                        self.asm.store(Memory::At(RBX, FRAME_CHILD), R11)?;
                        self.asm.clear(child)?;
                        self.note_start(false)
                    }
                }
            }
            Hook::Edges | Hook::Trace => {
                // The thread must be known.
                self.block()?;
                self.call(self.symbols.enter)
            }
            Hook::User => self.call(self.symbols.enter),
            Hook::Value => {
                // It has a frame here, which keeps r11.
                self.asm.load(R11, Memory::Symbol(self.symbols.value, 0))?;
                self.asm.store(Memory::At(RBX, FRAME_START), R11)
            }
            Hook::Order => Ok(()),
        }
    }

    /// The counter of cycles, in the register that is given. r11 is in use here or kept.
    fn cycles(&mut self) -> Result<Register, ProbeError> {
        match (self.free.rax, self.free.rdx) {
            (true, true) => {
                self.asm.cycles_in(RAX)?;
                Ok(RAX)
            }
            (true, false) => {
                self.asm.copy(R11, RDX)?;
                self.asm.cycles_in(RAX)?;
                self.asm.copy(RDX, R11)?;
                Ok(RAX)
            }
            (false, true) => {
                self.asm.copy(R11, RAX)?;
                self.asm.cycles_in(RDX)?;
                self.asm.copy(RAX, R11)?;
                Ok(RDX)
            }
            (false, false) => {
                self.asm.push(RAX)?;
                self.asm.push(RDX)?;
                self.asm.cycles_in(RAX)?;
                self.asm.copy(R11, RAX)?;
                self.asm.pop(RDX)?;
                self.asm.pop(RAX)?;
                Ok(R11)
            }
        }
    }

    fn note_start(&mut self, once: bool) -> Result<(), ProbeError> {
        let start = self.cycles()?;
        match self.place {
            StackUse::Own if once => self.asm.push(start),
            StackUse::Own => {
                // Twice: the stack stays aligned.
                self.asm.push(start)?;
                self.asm.push(start)
            }
            StackUse::Caller => self.asm.store(Memory::At(RBX, FRAME_START), start),
        }
    }

    /// A function that calls itself is timed once, from the outermost call. The cell says on which
    /// stack pointer that was. One that lies deeper than this call is left over from a longjmp.
    fn mark_outermost(&mut self) -> Result<(), ProbeError> {
        let nested = self.asm.label();
        self.asm.compare(self.cell(3), RSP)?;
        self.asm.jump_if(ABOVE, nested);
        self.asm.store(self.cell(3), RSP)?;
        self.asm.bind(nested);
        Ok(())
    }

    fn leave(&mut self, hook: Hook) -> Result<(), ProbeError> {
        match hook {
            Hook::Count => {
                if self.is_bare(hook) {
                    self.asm.pop(R11)?;
                } else {
                    self.block()?;
                }
                self.asm.increment(self.cell(1))
            }
            Hook::Cycles => {
                self.spent_in_rax()?;
                self.block()?;
                self.asm.increment(self.cell(0))?;
                self.asm.add_to(self.cell(1), RAX)?;
                self.forget_start(self.is_bare(hook))
            }
            Hook::Time => {
                let child = Memory::Thread(self.symbols.child, 0);
                self.spent_in_rax()?;
                self.block()?;
                self.asm.increment(self.cell(0))?;
                self.asm.copy(RDX, RAX)?;
                self.asm.subtract(RDX, child)?;
                self.asm.add_to(self.cell(2), RDX)?;
                // The stack pointer as it was in mark_outermost.
                let (outermost, waiting) = match self.place {
                    StackUse::Own => (32, Memory::At(RSP, 24)),
                    StackUse::Caller => (16, Memory::At(RBX, FRAME_CHILD)),
                };
                let nested = self.asm.label();
                self.asm.address(RDX, Memory::At(RSP, outermost))?;
                self.asm.compare(self.cell(3), RDX)?;
                self.asm.jump_if(NOT_EQUAL, nested);
                self.asm.add_to(self.cell(1), RAX)?;
                self.asm.clear(self.cell(3))?;
                self.asm.bind(nested);
                self.asm.add(RAX, waiting)?;
                self.asm.add(RAX, Memory::Symbol(self.symbols.outside, 0))?;
                self.asm.store(child, RAX)?;
                self.forget_start(false)
            }
            Hook::Value => {
                self.asm.push(RAX)?;
                self.asm.load(RAX, Memory::Symbol(self.symbols.value, 0))?;
                self.asm.subtract(RAX, Memory::At(RBX, FRAME_START))?;
                self.block()?;
                self.asm.increment(self.cell(0))?;
                self.asm.add_to(self.cell(1), RAX)?;
                self.asm.pop(RAX)
            }
            Hook::Edges | Hook::Trace | Hook::User => self.call(self.symbols.leave),
            Hook::Order => Ok(()),
        }
    }

    /// rax = cycles since the start; rax and rdx are on the stack.
    fn spent_in_rax(&mut self) -> Result<(), ProbeError> {
        self.asm.push(RAX)?;
        self.asm.push(RDX)?;
        self.asm.cycles_in(RAX)?;
        let start = match self.place {
            StackUse::Own => Memory::At(RSP, 16),
            StackUse::Caller => Memory::At(RBX, FRAME_START),
        };
        self.asm.subtract(RAX, start)
    }

    fn forget_start(&mut self, once: bool) -> Result<(), ProbeError> {
        self.asm.pop(RDX)?;
        self.asm.pop(RAX)?;
        match self.place {
            StackUse::Own if once => self.asm.pop(R11),
            StackUse::Own => self.asm.drop(16),
            StackUse::Caller => Ok(()),
        }
    }

    /// The code for rare cases.
    fn rare(&mut self) -> Result<(), ProbeError> {
        for slow in std::mem::take(&mut self.slow) {
            match slow {
                Slow::Block { from, back, state } => {
                    self.asm.resume(state);
                    self.asm.bind(from);
                    self.call_block()?;
                    self.asm.jump(back);
                }
                Slow::Frame { from, back, state } => {
                    self.asm.resume(state);
                    self.asm.bind(from);
                    self.asm.call_symbol(self.symbols.frame);
                    self.asm.jump(back);
                }
            }
        }
        Ok(())
    }

    /// Callers come here.
    fn begin(&mut self, entry: Label) {
        self.asm.bind(entry);
        if self.body == (Body::Elsewhere { landing: true }) {
            self.asm.landing();
        }
    }

    fn finish(
        mut self,
        entry: Label,
        body: Label,
        back: Option<Label>,
    ) -> Result<Stub, ProbeError> {
        let to_body = match self.body {
            Body::Behind => {
                self.asm.bind(body);
                Vec::new()
            }
            Body::Elsewhere { .. } => self.asm.take_branches(body),
        };
        self.asm.finish()?;
        Ok(Stub {
            entry: self.asm.offset(entry).unwrap_or(0),
            back: back.and_then(|back| self.asm.offset(back)).unwrap_or(0),
            to_body,
            code: self.asm.code,
            relocations: self.asm.relocations,
            unwind: self.asm.unwind,
        })
    }
}
