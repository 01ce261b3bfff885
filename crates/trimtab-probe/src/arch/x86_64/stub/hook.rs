//! What stubs do for each hook, in front of a function and behind it.

use iced_x86::Register::{self, R11, RAX, RBX, RDX, RSP};

use super::{ABOVE, NOT_EQUAL, Writer};
use crate::abi::{FRAME_CHILD, FRAME_START};
use crate::arch::x86_64::asm::Memory;
use crate::error::ProbeError;
use crate::hook::Hook;
use crate::stub::StackUse;

/// What is done around a copy of a function.
#[derive(Debug, Clone, Copy)]
pub(super) enum AroundCopy {
    /// What [`Hook::Value`] does, and nothing but the stack is needed in front.
    Value,
    Count,
    /// What the user's functions do, inside.
    User,
}

/// How many words a hook keeps on the stack during a call, below the place where r11 waits.
pub(super) fn words_below_r11(hook: Hook) -> i32 {
    match hook {
        Hook::Cycles | Hook::Time => 2,
        Hook::Count | Hook::Order | Hook::Edges | Hook::Trace | Hook::User | Hook::Event => 0,
        // What it keeps on the stack, it keeps in `value_on_stack`.
        Hook::Value => 0,
    }
}

impl Writer<'_> {
    /// How the hook goes with a copy of the function, if it can: one that keeps a single word, and is so
    /// short that a call and a return are most of what it costs.
    pub(super) fn around_copy(&self, hook: Hook) -> Option<AroundCopy> {
        match hook {
            Hook::Value => Some(AroundCopy::Value),
            Hook::Count => self.is_bare(hook).then_some(AroundCopy::Count),
            Hook::User => self.has_user_inside().then_some(AroundCopy::User),
            Hook::Cycles | Hook::Time | Hook::Order => None,
            Hook::Edges | Hook::Trace | Hook::Event => None,
        }
    }

    /// Whether nothing is on the stack but one word of the hook's. The others want r11's place
    /// there: it keeps the stack aligned.
    pub(super) fn is_bare(&self, hook: Hook) -> bool {
        let one_word = match hook {
            Hook::Count | Hook::Cycles => true,
            Hook::Time | Hook::Order | Hook::Edges | Hook::Trace => false,
            Hook::User | Hook::Value | Hook::Event => false,
        };
        self.free.r11 && self.place == StackUse::LocalOnly && one_word
    }

    /// What the number was is on the stack.
    pub(super) fn leave_value(&mut self) -> Result<(), ProbeError> {
        let value = Memory::Symbol(self.symbols.value, 0);
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
        self.block_in(pointer)?;
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
        Ok(())
    }

    pub(super) fn enter(&mut self, hook: Hook) -> Result<(), ProbeError> {
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
                    StackUse::LocalOnly => {
                        let start = self.cycles()?;
                        self.asm.push_memory(child)?;
                        self.asm.clear(child)?;
                        self.asm.push(start)
                    }
                    StackUse::IncomingArguments => {
                        self.asm.load(R11, child)?;
                        self.asm.store(Memory::At(RBX, FRAME_CHILD), R11)?;
                        self.asm.clear(child)?;
                        self.note_start(false)
                    }
                }
            }
            Hook::Edges | Hook::Trace | Hook::Event => {
                // The thread must be known.
                self.block()?;
                self.call(self.symbols.enter)
            }
            Hook::User => self.enter_user(true),
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
            StackUse::LocalOnly if once => self.asm.push(start),
            StackUse::LocalOnly => {
                // Twice: the stack stays aligned.
                self.asm.push(start)?;
                self.asm.push(start)
            }
            StackUse::IncomingArguments => self.asm.store(Memory::At(RBX, FRAME_START), start),
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

    pub(super) fn leave(&mut self, hook: Hook) -> Result<(), ProbeError> {
        // Long: instructions in their order, a case for each hook.
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
                    StackUse::LocalOnly => (32, Memory::At(RSP, 24)),
                    StackUse::IncomingArguments => (16, Memory::At(RBX, FRAME_CHILD)),
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
                // r11 waits in the frame.
                let spare = [self.free.pointer, self.free.other].into_iter().flatten();
                let spare = spare.into_iter().find(|&register| register != R11);
                let grown = spare.unwrap_or(RAX);
                if spare.is_none() {
                    self.asm.push(RAX)?;
                }
                // By how much it grew, with the other sign.
                self.asm.load(grown, Memory::At(RBX, FRAME_START))?;
                self.asm.subtract(grown, Memory::Symbol(self.symbols.value, 0))?;
                self.block()?;
                self.asm.increment(self.cell(0))?;
                self.asm.subtract_from(self.cell(1), grown)?;
                if spare.is_none() { self.asm.pop(RAX) } else { Ok(()) }
            }
            Hook::Edges | Hook::Trace | Hook::Event => self.call(self.symbols.leave),
            Hook::User => self.leave_user(true),
            Hook::Order => Ok(()),
        }
    }

    /// rax = cycles since the start; rax and rdx are on the stack.
    fn spent_in_rax(&mut self) -> Result<(), ProbeError> {
        self.asm.push(RAX)?;
        self.asm.push(RDX)?;
        self.asm.cycles_in(RAX)?;
        let start = match self.place {
            StackUse::LocalOnly => Memory::At(RSP, 16),
            StackUse::IncomingArguments => Memory::At(RBX, FRAME_START),
        };
        self.asm.subtract(RAX, start)
    }

    fn forget_start(&mut self, once: bool) -> Result<(), ProbeError> {
        self.asm.pop(RDX)?;
        self.asm.pop(RAX)?;
        match self.place {
            StackUse::LocalOnly if once => self.asm.pop(R11),
            StackUse::LocalOnly => self.asm.drop(16),
            StackUse::IncomingArguments => Ok(()),
        }
    }
}
