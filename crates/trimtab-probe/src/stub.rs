//! The code that runs in front of and behind a function.
//!
//! Callers come to the stub by the function's symbols, or the function begins with a jump to it. The
//! stub runs the hook, and *calls* the function's body: so each `ret` returns to the instruction
//! behind its `call`, and neither the processor's prediction of returns nor a shadow stack notices
//! anything. The return address of the caller waits on the stack below the body, or where the body
//! may want its arguments there, in a frame of the run time. No register is changed that could hold
//! something: callers in the same file may know which registers the function leaves alone. Registers
//! that are provably free are not saved.
//!
//! On x86-64 a stub may have a copy of the function inside, which it does not call: then its end stands
//! wherever the function returns.
//!
//! The idea of rewriting objects, of common code for the rare cases and of frames that are used
//! again in reverse order is that of LOPI (S. Kågström, H. Grahn, L. Lundberg: "Automatic Low
//! Overhead Program Instrumentation with the LOPI Framework", section 3). It replaces return
//! addresses, which today costs a wrong prediction for each call; and it shares stubs between
//! functions with the same first instructions, which today costs an indirect jump where here is a
//! direct one. What is shared here is the code that is long: it is in the run time.

use std::ops::Range;

use crate::elf::Relocation;
use crate::hook::Hook;
use crate::user::ObjectHooks;

/// What a function may do with the stack above its own part: from its return address on where calls
/// push one, from the stack pointer at its entry on elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackUse {
    /// Nothing, provably.
    LocalOnly,
    /// It may use arguments there, or hand them on.
    IncomingArguments,
}

/// What stubs are to do.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// What happens at entries and exits.
    pub hook: Hook,
    /// Whether functions may be copied into their stubs.
    pub copies: bool,
    /// Hooks of the user's, where stubs know them.
    pub user: Option<&'a ObjectHooks<'a>>,
}

/// The symbols that stubs use.
#[derive(Debug, Clone, Copy)]
pub struct Symbols {
    /// A byte: whether probes are on.
    pub on: u32,
    /// Gives the cells of an object on this thread.
    pub block: u32,
    /// Gives free frames.
    pub frame: u32,
    /// Notes the first call.
    pub first: u32,
    /// A function is entered.
    pub enter: u32,
    /// A function is left.
    pub leave: u32,
    /// Free frames of the thread.
    pub frames: u32,
    /// Cycles that callees took.
    pub child: u32,
    /// Cycles of each call's stub that are not in the time it records.
    pub outside: u32,
    /// The number whose growth is added up.
    pub value: u32,
    /// How far the description of a function for hooks of the user's is behind the function's entry in the
    /// table.
    pub described: u32,
    /// The object's cells on this thread.
    pub cells: u32,
    /// The record of the object.
    pub object: u32,
}

/// One stub, without the body.
#[derive(Debug)]
pub struct Stub {
    /// Its code; the body follows.
    pub code: Vec<u8>,
    /// Relocations by offset in the code.
    pub relocations: Vec<Relocation>,
    /// Instructions of DWARF for the whole of it.
    pub unwind: Vec<u8>,
    /// Where the function's jump leads.
    pub entry: usize,
    /// Where the body returns to; 0 where it returns to the function's caller.
    pub back: usize,
    /// Where the distances to the body are, of 4 bytes each, if the body is elsewhere; else it
    /// follows.
    pub to_body: Vec<usize>,
    /// Where there is a copy of the function inside; `back` is where the list of its calls is then.
    pub copy: Option<BodyCopy>,
}

/// A copy of a function in a stub.
#[derive(Debug)]
pub struct BodyCopy {
    /// Instructions that are as they were.
    pub copied: Vec<CopyRange>,
    /// Branches in another form.
    pub branches: Vec<BranchFixup>,
}

/// Instructions that were copied: what relocations do to them they do to the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyRange {
    /// Where they are in the function's section.
    pub from: Range<u64>,
    /// Where in the stub's code the copy is.
    pub to: usize,
}

/// A branch with a distance of 4 bytes in a stub's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchFixup {
    /// Where in the function's section the distance is that may have a relocation.
    pub from: Option<u64>,
    /// Where in the code the distance is.
    pub field: usize,
    /// Where in the function's section it leads without.
    pub to: u64,
}
