//! Hooks of the user's inside stubs.

use iced_x86::Register::{self, R11, RAX, RDI, RDX, RSI};

use super::Writer;
use crate::arch::x86_64::asm::Memory;
use crate::arch::x86_64::inline::spoils;
use crate::elf::Relocation;
use crate::error::ProbeError;
use crate::user::{InlineHook, Naming, Step, UserHook};

impl Writer<'_> {
    /// In front of the function. r11 may be changed where it `waits` elsewhere.
    pub(super) fn enter_user(&mut self, waits: bool) -> Result<(), ProbeError> {
        let is_free = [(R11, waits || self.free.r11), (RAX, self.free.rax), (RDX, self.free.rdx)];
        let free: Vec<Register> =
            is_free.into_iter().filter_map(|(register, is)| is.then_some(register)).collect();
        match self.user.map(|user| &user.enter) {
            Some(UserHook::Nothing) => Ok(()),
            Some(UserHook::Inside(inline, symbols)) => self.user_inside(inline, symbols, &free),
            _ => self.call(self.symbols.enter),
        }
    }

    /// Behind it.
    pub(super) fn leave_user(&mut self, waits: bool) -> Result<(), ProbeError> {
        let spare = [self.free.pointer, self.free.other];
        let r11 = (waits || self.free.r11).then_some(R11);
        let free: Vec<Register> = spare.into_iter().chain([r11]).flatten().collect();
        match self.user.map(|user| &user.leave) {
            Some(UserHook::Nothing) => Ok(()),
            Some(UserHook::Inside(inline, symbols)) => self.user_inside(inline, symbols, &free),
            _ => self.call(self.symbols.leave),
        }
    }

    /// Whether nothing is called at either end.
    pub(super) fn has_user_inside(&self) -> bool {
        let is_called = |hook: &UserHook<'_>| matches!(hook, UserHook::Called);
        self.user.is_some_and(|user| !is_called(&user.enter) && !is_called(&user.leave))
    }

    fn user_inside(
        &mut self,
        inline: &InlineHook,
        symbols: &[u32],
        free: &[Register],
    ) -> Result<(), ProbeError> {
        let mut kept = spoils(inline);
        kept.retain(|register| !free.contains(register));
        for &register in &kept {
            self.asm.push(register)?;
        }
        if inline.reads_time {
            self.asm.cycles_in(RAX)?;
            self.asm.copy(RSI, RAX)?;
        }
        if inline.reads_function {
            self.asm.address(RDI, Memory::Symbol(self.function.0, self.function.1))?;
            self.asm.add(RDI, Memory::Symbol(self.symbols.described, 0))?;
        }
        self.steps(inline, symbols);
        for &register in kept.iter().rev() {
            self.asm.pop(register)?;
        }
        Ok(())
    }

    fn steps(&mut self, inline: &InlineHook, symbols: &[u32]) {
        let labels: Vec<_> = inline.steps.iter().map(|_| self.asm.label()).collect();
        let end = self.asm.label();
        for (index, step) in inline.steps.iter().enumerate() {
            self.asm.bind(labels[index]);
            match step {
                Step::Plain(bytes, namings) => {
                    let start = self.asm.code.len() as u64;
                    self.asm.instruction(bytes);
                    for &Naming { offset, kind, name, addend } in namings {
                        let symbol = symbols[name];
                        let offset = start + offset;
                        self.asm.relocations.push(Relocation { offset, symbol, kind, addend });
                    }
                }
                Step::Branch(Some(condition), to) => self.asm.jump_if(*condition, labels[*to]),
                Step::Branch(None, to) => self.asm.jump(labels[*to]),
                Step::Return if index + 1 == inline.steps.len() => {}
                Step::Return => self.asm.jump(end),
            }
        }
        self.asm.bind(end);
    }
}
