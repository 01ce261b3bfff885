//! The code that runs in front of and behind an x86-64 function; see [`crate::stub`].

mod frame;
mod hook;
mod user;

use std::collections::HashSet;

use iced_x86::Register::{self, R11, RAX, RBX, RSP};

use super::asm::{Assembler, ENTRY, Label, Memory, Return, State};
use super::copy::Copy;
use super::registers::Free;
use crate::abi::{self, FRAME_R11};
use crate::error::ProbeError;
use crate::hook::Hook;
use crate::stub::{StackUse, Stub, Symbols, Task};
use crate::user::ObjectHooks;
use hook::{AroundCopy, words_below_r11};

/// Numbers of conditions in opcodes.
const EQUAL: u8 = 4;
const NOT_EQUAL: u8 = 5;
const ABOVE: u8 = 7;

/// Alignment of the entry of a stub in its section, as compilers have it for functions.
const ENTRY_ALIGNMENT: usize = 16;
/// `int3`, where nothing comes.
const TRAP: u8 = 0xcc;

/// What is to be written.
pub struct Writer<'a> {
    asm: Assembler,
    symbols: &'a Symbols,
    user: Option<&'a ObjectHooks<'a>>,
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
    Block { from: Label, back: Label, state: State, pointer: Register },
    Frame { from: Label, back: Label, state: State },
}

/// Writes the stub of a function: what it may change, its `cell` on each thread, its entry in the
/// table as symbol and offset.
///
/// # Errors
/// [`ProbeError::Internal`]: never, unless this is written wrongly.
pub fn write(
    task: &Task<'_>,
    body: Body,
    (place, free, copy): (StackUse, Free, Option<&Copy>),
    symbols: &Symbols,
    cell: u32,
    function: (u32, i32),
) -> Result<Stub, ProbeError> {
    let hook = task.hook;
    let writer = || Writer {
        asm: Assembler::new(),
        symbols,
        user: task.user,
        cell: (cell * hook.cell_size()) as i32,
        function,
        body,
        place,
        free,
        slow: Vec::new(),
    };
    match copy {
        _ if !hook.sees_exits() => writer().entry_only(),
        Some(copy) => {
            let Some(around) = writer().around_copy(hook) else { return writer().both(hook) };
            // Which jumps reach in the short form is known when all have the long one.
            let (_, short) = writer().copied(around, copy, &HashSet::new())?;
            let (stub, _) = writer().copied(around, copy, &short)?;
            let has_room = stub.back < abi::LONGEST_STUB;
            if has_room { Ok(stub) } else { writer().both(hook) }
        }
        None => writer().both(hook),
    }
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

        // Where symbols lead: pointers to members of C++ have a meaning for the lowest bit.
        let padded = self.asm.code.len().next_multiple_of(ENTRY_ALIGNMENT);
        self.asm.code.resize(padded, TRAP);
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
        self.begin(entry);
        self.asm.compare_byte_with_0(Memory::Symbol(self.symbols.on, 0))?;
        self.asm.jump_if(EQUAL, body);
        self.asm.push_memory(Memory::Symbol(self.symbols.value, 0))?;
        self.asm.call(body);
        self.asm.bind(back);
        self.leave_value()?;
        self.rare()?;
        self.finish(entry, body, Some(back))
    }

    /// Pushes a word in the place of a return address, so that the stack is aligned as it was. Who follows
    /// frame pointers takes it for one.
    fn fill_place_of_return_address(&mut self, copy: &Copy) -> Result<(), ProbeError> {
        match copy.has_frame_pointer() {
            true => self.asm.push_memory(Memory::At(RSP, 8)),
            false => self.asm.push(RAX),
        }
    }

    /// The function is not called, but follows, with what happens at its exits inside. Gives the
    /// jumps in it, too, that would reach in the short form.
    fn copied(
        mut self,
        around: AroundCopy,
        copy: &Copy,
        short: &HashSet<usize>,
    ) -> Result<(Stub, HashSet<usize>), ProbeError> {
        let (entry, body) = (self.asm.label(), self.asm.label());
        self.begin(entry);
        self.asm.compare_byte_with_0(Memory::Symbol(self.symbols.on, 0))?;
        self.asm.jump_if(EQUAL, body);
        match around {
            AroundCopy::Count => self.enter(Hook::Count)?,
            AroundCopy::User => {
                self.enter_user(false)?;
                // Nothing is kept, but the stack stays aligned.
                self.asm.push(RAX)?;
            }
            AroundCopy::Value => self.asm.push_memory(Memory::Symbol(self.symbols.value, 0))?,
        }
        self.fill_place_of_return_address(copy)?;
        let written = copy.write(
            &mut self,
            short,
            |writer| &mut writer.asm,
            |writer| match around {
                AroundCopy::Count => {
                    writer.leave(Hook::Count)?;
                    writer.asm.return_();
                    Ok(())
                }
                AroundCopy::User => {
                    writer.leave_user(false)?;
                    writer.asm.drop(8)?;
                    writer.asm.return_();
                    Ok(())
                }
                AroundCopy::Value => writer.leave_value(),
            },
        )?;
        self.rare()?;
        let back = self.asm.label();
        self.asm.bind(back);
        let short = written.short(&self.asm);
        self.asm.code.extend((written.sites.len() as u32).to_le_bytes());
        for &(at, (register, offset)) in &written.sites {
            self.asm.code.extend((at as u32).to_le_bytes());
            let place = u32::from(register) << abi::SITE_REGISTER_SHIFT | offset as u32;
            self.asm.code.extend(place.to_le_bytes());
        }
        for (label, targets) in &written.tables {
            self.asm.table(*label, targets);
        }
        let mut stub = self.finish(entry, body, Some(back))?;
        stub.copy = Some(written.inside);
        Ok((stub, short))
    }

    fn both(mut self, hook: Hook) -> Result<Stub, ProbeError> {
        if (self.place, hook) == (StackUse::LocalOnly, Hook::Value) {
            return self.value_on_stack();
        }
        let (entry, body, back) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.begin(entry);
        self.asm.compare_byte_with_0(Memory::Symbol(self.symbols.on, 0))?;
        self.asm.jump_if(EQUAL, body);
        match self.place {
            StackUse::LocalOnly if self.is_bare(hook) => {}
            StackUse::LocalOnly => self.asm.push(R11)?,
            StackUse::IncomingArguments => self.take_frame()?,
        }
        self.enter(hook)?;
        // Where r11 waits: what the hook keeps lies below it.
        let kept = match self.place {
            StackUse::IncomingArguments => Memory::At(RBX, FRAME_R11),
            StackUse::LocalOnly => Memory::At(RSP, 8 * words_below_r11(hook)),
        };
        if !self.free.r11 {
            self.asm.load(R11, kept)?;
        }
        self.asm.call(body);
        self.asm.bind(back);
        // With a frame it is a part of the mark.
        if !self.free.r11 || self.place == StackUse::IncomingArguments {
            self.asm.store(kept, R11)?;
        }
        if self.place == StackUse::IncomingArguments {
            self.asm.mark();
        }
        self.leave(hook)?;
        match self.place {
            StackUse::LocalOnly if self.is_bare(hook) => {}
            StackUse::LocalOnly => self.asm.pop(R11)?,
            StackUse::IncomingArguments => self.give_frame_back()?,
        }
        self.asm.return_();
        self.rare()?;
        self.finish(entry, body, Some(back))
    }

    /// r11 = the object's cells on this thread.
    fn block(&mut self) -> Result<(), ProbeError> {
        self.block_in(R11)
    }

    /// A register = the object's cells on this thread.
    fn block_in(&mut self, pointer: Register) -> Result<(), ProbeError> {
        let (from, back) = (self.asm.label(), self.asm.label());
        self.asm.load(pointer, Memory::Thread(self.symbols.cells, 0))?;
        self.asm.test(pointer)?;
        self.asm.jump_if(EQUAL, from);
        self.slow.push(Slow::Block { from, back, state: self.asm.state(), pointer });
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

    /// The code for rare cases.
    fn rare(&mut self) -> Result<(), ProbeError> {
        for slow in std::mem::take(&mut self.slow) {
            match slow {
                Slow::Block { from, back, state, pointer } => {
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
                    self.asm.jump(back);
                }
                Slow::Frame { from, back, state } => {
                    self.asm.resume(state);
                    self.asm.bind(from);
                    self.asm.call_symbol(self.symbols.frame);
                    self.asm.copy(RBX, R11)?;
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
            copy: None,
        })
    }
}
