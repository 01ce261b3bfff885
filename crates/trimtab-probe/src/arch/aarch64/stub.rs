//! The code that runs in front of and behind an AArch64 function; see [`crate::stub`].
//!
//! The return address comes in x30: `bl body` replaces it, `ret` at the body's end comes back, and
//! the stub gets the caller's from where it keeps it. x16 and x17 are free at the entry and behind
//! the end of each function, because the linker may need them for any call; x30 is, too, as long as
//! the return address is kept. Nothing else changes but the flags.
//!
//! The stack below a function that keeps to its own part of it, from the stack pointer up: what the
//! hook keeps in two words, if it keeps any; one word, and the return address.

use super::asm::{Assembler, Condition, ENTRY, Label, Register, Return, State};
use crate::abi::{FRAME_AT, FRAME_CHILD, FRAME_NEXT, FRAME_RETURN, FRAME_SAVED, FRAME_START};
use crate::error::ProbeError;
use crate::hook::Hook;
use crate::stub::{StackUse, Stub, Symbols};

const X16: Register = 16;
const X17: Register = 17;
/// Points at the frame.
const X19: Register = 19;
/// The return address, until it is kept.
const LINK: Register = 30;
/// The stack pointer, or nothing.
const X31: Register = 31;

/// What is to be written.
struct Writer<'a> {
    asm: Assembler,
    symbols: &'a Symbols,
    /// Where the thread's cell of the function is, behind x16.
    cell: u32,
    /// Whole pages from the object's cells to those that `cell` counts from.
    pages: u32,
    /// The function's entry in the table: symbol and offset.
    function: (u32, i32),
    place: StackUse,
    slow: Vec<Slow>,
}

/// Code for rare cases, behind the rest.
enum Slow {
    Block { from: Label, back: Label, state: State },
    Frame { from: Label, back: Label, state: State },
}

/// Writes the stub of a function: its `cell` on each thread, its entry in the table as symbol and
/// offset.
///
/// # Errors
/// [`ProbeError::Internal`]: an object with more than half a million functions.
pub fn write(
    hook: Hook,
    place: StackUse,
    symbols: &Symbols,
    cell: u32,
    function: (u32, i32),
) -> Result<Stub, ProbeError> {
    let cell = cell.checked_mul(hook.cell_size()).filter(|cell| *cell < 1 << 24);
    let cell = cell.ok_or(ProbeError::Internal { what: "the cells of so many functions" })?;
    let writer = Writer {
        asm: Assembler::new(),
        symbols,
        cell: cell & 4095,
        pages: cell >> 12,
        function,
        place,
        slow: Vec::new(),
    };
    if hook.sees_exits() { writer.both(hook) } else { writer.entry_only() }
}

/// Whether a hook keeps the number that it read on entry, and nothing else.
fn keeps_number(hook: Hook) -> bool {
    match hook {
        Hook::Cycles | Hook::Value => true,
        Hook::Count | Hook::Time | Hook::Order | Hook::Edges => false,
        Hook::Trace | Hook::User | Hook::Event => false,
    }
}

impl Writer<'_> {
    /// Where a word of the cell is, behind x16.
    fn cell(&self, word: u32) -> u32 {
        self.cell + 8 * word
    }

    /// Jumps if probes are off.
    fn check_on(&mut self, body: Label) {
        self.asm.load_byte(X16, self.symbols.on);
        self.asm.jump_if_0(X16, body);
    }

    /// For hooks that see only entries: x30 stays as it is.
    fn entry_only(mut self) -> Result<Stub, ProbeError> {
        let (entry, body, first) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.bind(first);
        self.asm.add_number(X16, X16, self.cell(0));
        self.call(self.symbols.first);
        self.asm.jump(body);

        self.asm.resume(ENTRY);
        self.asm.bind(entry);
        self.check_on(body);
        self.block();
        self.increment(0);
        self.asm.load(X17, X16, self.cell(1));
        self.asm.jump_if_0(X17, first);
        self.asm.jump(body);
        self.rare();
        self.asm.resume(ENTRY);
        self.asm.bind(body);
        self.finish(entry, None)
    }

    fn both(mut self, hook: Hook) -> Result<Stub, ProbeError> {
        let (entry, body, back) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.bind(entry);
        self.check_on(body);
        match self.place {
            StackUse::LocalOnly if keeps_number(hook) => {
                self.read(hook, X16);
                self.asm.push(X16, LINK);
                self.asm.place(Return::Below(8));
            }
            StackUse::LocalOnly => {
                self.asm.push(X31, LINK);
                self.asm.place(Return::Below(8));
            }
            StackUse::IncomingArguments => self.take_frame(),
        }
        self.enter(hook);
        self.asm.call(body);
        self.asm.bind(back);
        if self.place == StackUse::IncomingArguments {
            self.asm.mark();
        }
        self.leave(hook);
        match self.place {
            StackUse::LocalOnly => {
                self.asm.pop(X16, LINK);
                self.asm.place(Return::Link);
            }
            StackUse::IncomingArguments => self.give_frame_back(),
        }
        self.asm.return_();
        self.rare();
        self.asm.resume(ENTRY);
        self.asm.bind(body);
        self.finish(entry, Some(back))
    }

    /// Moves the return address into a frame, and x19; x19 then points at it. The order is such that
    /// a signal may come anywhere: its handler takes frames and gives them back.
    fn take_frame(&mut self) {
        let frames = self.symbols.frames;
        let (from, again) = (self.asm.label(), self.asm.label());
        self.asm.push(LINK, X31);
        self.asm.place(Return::Below(16));
        self.asm.bind(again);
        self.asm.thread_page(X17, frames);
        self.asm.load_thread(X16, X17, frames);
        self.asm.jump_if_0(X16, from);
        self.slow.push(Slow::Frame { from, back: again, state: self.asm.state() });
        self.asm.add_number(LINK, X31, 0);
        self.asm.store(LINK, X16, FRAME_AT as u32);
        self.asm.load(LINK, X16, FRAME_NEXT as u32);
        self.asm.store_thread(LINK, X17, frames);
        // A handler in between had the frame, too, and its place in there.
        self.asm.add_number(LINK, X31, 0);
        self.asm.store(LINK, X16, FRAME_AT as u32);
        self.asm.pop(LINK, X31);
        self.asm.place(Return::Link);
        self.asm.store(LINK, X16, FRAME_RETURN as u32);
        self.asm.store(X19, X16, FRAME_SAVED as u32);
        self.asm.copy(X19, X16);
        self.asm.place(Return::Frame);
    }

    fn give_frame_back(&mut self) {
        let frames = self.symbols.frames;
        self.asm.thread_page(X17, frames);
        self.asm.load_thread(X16, X17, frames);
        self.asm.store(X16, X19, FRAME_NEXT as u32);
        self.asm.load(LINK, X19, FRAME_RETURN as u32);
        self.asm.load(X16, X19, FRAME_SAVED as u32);
        self.asm.place(Return::LinkAndSavedInScratch);
        self.asm.store_thread(X19, X17, frames);
        self.asm.copy(X19, X16);
        self.asm.place(Return::Link);
    }

    /// x16 = the object's cells on this thread, or those behind whole pages of others.
    fn block(&mut self) {
        let (from, back) = (self.asm.label(), self.asm.label());
        self.asm.thread_page(X16, self.symbols.cells);
        self.asm.load_thread(X16, X16, self.symbols.cells);
        self.asm.jump_if_0(X16, from);
        self.slow.push(Slow::Block { from, back, state: self.asm.state() });
        self.asm.bind(back);
        if self.pages > 0 {
            self.asm.add_pages(X16, X16, self.pages);
        }
    }

    /// Calls a function of the run time with x16, which lies on the stack: x16 may not get there.
    /// x30 is kept; x16 is what the function gives, if it gives anything.
    fn call(&mut self, symbol: u32) {
        let state = self.asm.state();
        self.asm.push(X16, LINK);
        if state.place == Return::Link {
            self.asm.place(Return::Below(8));
        }
        self.asm.call_symbol(symbol);
        self.asm.load(LINK, X31, 8);
        self.asm.drop(16);
        self.asm.place(state.place);
    }

    /// Calls a function of the run time with the function.
    fn call_with_function(&mut self, symbol: u32) {
        self.asm.address(X16, self.function.0, self.function.1.into());
        self.call(symbol);
    }

    /// Adds one to a word of the cell.
    fn increment(&mut self, word: u32) {
        let cell = self.cell(word);
        self.asm.load(X17, X16, cell);
        self.asm.add_number(X17, X17, 1);
        self.asm.store(X17, X16, cell);
    }

    /// Adds a register to a word of the cell; changes `with`.
    fn add_to(&mut self, word: u32, value: Register, with: Register) {
        let cell = self.cell(word);
        self.asm.load(with, X16, cell);
        self.asm.add(with, value);
        self.asm.store(with, X16, cell);
    }

    /// Where the start is, and then what was spent; behind it what callees had taken.
    fn start(&self) -> (Register, u32, u32) {
        match self.place {
            StackUse::LocalOnly => (X31, 0, 8),
            StackUse::IncomingArguments => (X19, FRAME_START as u32, FRAME_CHILD as u32),
        }
    }

    fn enter(&mut self, hook: Hook) {
        match hook {
            Hook::Count => {
                self.block();
                self.increment(0);
                if self.place == StackUse::LocalOnly {
                    // The way back finds the cells there.
                    self.asm.store(X16, X31, 0);
                }
            }
            Hook::Cycles | Hook::Value => {
                if self.place == StackUse::IncomingArguments {
                    self.read(hook, X16);
                    self.asm.store(X16, X19, FRAME_START as u32);
                }
            }
            Hook::Time => {
                self.block();
                self.mark_outermost();
                let child = self.symbols.child;
                self.asm.thread_page(X17, child);
                self.asm.load_thread(LINK, X17, child);
                self.asm.store_thread(X31, X17, child);
                self.asm.cycles(X16);
                match self.place {
                    StackUse::LocalOnly => {
                        self.asm.push(X16, LINK);
                        self.asm.place(Return::Below(8));
                    }
                    StackUse::IncomingArguments => {
                        self.asm.store(LINK, X19, FRAME_CHILD as u32);
                        self.asm.store(X16, X19, FRAME_START as u32);
                    }
                }
            }
            Hook::Edges | Hook::Trace | Hook::Event => {
                // The thread must be known.
                self.block();
                self.call_with_function(self.symbols.enter);
            }
            Hook::User => self.call_with_function(self.symbols.enter),
            Hook::Order => {}
        }
    }

    /// A function that calls itself is timed once, from the outermost call. The cell says on which
    /// stack pointer that was. One that lies deeper than this call is left over from a longjmp.
    fn mark_outermost(&mut self) {
        let nested = self.asm.label();
        self.asm.load(X17, X16, self.cell(3));
        self.asm.add_number(LINK, X31, 0);
        self.asm.compare(X17, LINK);
        self.asm.jump_if(Condition::Higher, nested);
        self.asm.store(LINK, X16, self.cell(3));
        self.asm.bind(nested);
    }

    fn leave(&mut self, hook: Hook) {
        match hook {
            Hook::Count => {
                match self.place {
                    StackUse::LocalOnly => self.asm.load(X16, X31, 0),
                    StackUse::IncomingArguments => self.block(),
                }
                self.increment(1);
            }
            Hook::Cycles | Hook::Value => {
                self.spent_in_link(hook);
                self.block();
                self.increment(0);
                self.add_to(1, LINK, X17);
            }
            Hook::Time => self.leave_timed(),
            Hook::Edges | Hook::Trace | Hook::User | Hook::Event => {
                self.call_with_function(self.symbols.leave);
            }
            Hook::Order => {}
        }
    }

    /// What is read at entry and exit: the number in memory, or the counter of cycles.
    fn read(&mut self, hook: Hook, to: Register) {
        if hook == Hook::Value {
            self.asm.address(to, self.symbols.value, 0);
            self.asm.load(to, to, 0);
        } else {
            self.asm.cycles(to);
        }
    }

    /// x30 = what is read now, less what was read at entry.
    fn spent_in_link(&mut self, hook: Hook) {
        let (base, start, _) = self.start();
        self.read(hook, LINK);
        self.asm.load(X17, base, start);
        self.asm.subtract(LINK, LINK, X17);
    }

    fn leave_timed(&mut self) {
        let (base, spent, before) = self.start();
        let child = self.symbols.child;
        self.spent_in_link(Hook::Time);
        self.asm.store(LINK, base, spent);
        self.block();
        self.increment(0);
        self.asm.thread_page(X17, child);
        self.asm.load_thread(X17, X17, child);
        self.asm.subtract(X17, LINK, X17);
        self.add_to(2, X17, LINK);
        // The stack pointer as it was in mark_outermost.
        let nested = self.asm.label();
        let outermost = if self.place == StackUse::LocalOnly { 16 } else { 0 };
        self.asm.load(X17, X16, self.cell(3));
        self.asm.add_number(LINK, X31, outermost);
        self.asm.compare(X17, LINK);
        self.asm.jump_if(Condition::NotEqual, nested);
        self.asm.load(X17, base, spent);
        self.add_to(1, X17, LINK);
        self.asm.store(X31, X16, self.cell(3));
        self.asm.bind(nested);
        self.asm.load(LINK, base, spent);
        self.asm.load(X17, base, before);
        self.asm.add(LINK, X17);
        self.asm.address(X17, self.symbols.outside, 0);
        self.asm.load(X17, X17, 0);
        self.asm.add(LINK, X17);
        self.asm.thread_page(X17, child);
        self.asm.store_thread(LINK, X17, child);
        if self.place == StackUse::LocalOnly {
            self.asm.drop(16);
        }
    }

    /// The code for rare cases.
    fn rare(&mut self) {
        for slow in std::mem::take(&mut self.slow) {
            match slow {
                Slow::Block { from, back, state } => {
                    self.asm.resume(state);
                    self.asm.bind(from);
                    self.asm.address(X16, self.symbols.object, 0);
                    self.call(self.symbols.block);
                    self.asm.thread_page(X17, self.symbols.cells);
                    self.asm.store_thread(X16, X17, self.symbols.cells);
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
    }

    fn finish(mut self, entry: Label, back: Option<Label>) -> Result<Stub, ProbeError> {
        self.asm.finish()?;
        Ok(Stub {
            entry: self.asm.offset(entry).unwrap_or(0),
            back: back.and_then(|back| self.asm.offset(back)).unwrap_or(0),
            to_body: Vec::new(),
            code: self.asm.code,
            relocations: self.asm.relocations,
            unwind: self.asm.unwind,
            copy: None,
        })
    }
}
