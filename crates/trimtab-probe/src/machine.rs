//! What the rewriter has to know of an instruction set.

use std::ops::Range;

use crate::ProbeError;
use crate::elf::{Object, Symbol};
use crate::function::{Function, Map, References};
use crate::hook::Hook;
use crate::moving::Moving;
use crate::reason::Reason;
use crate::stub::{StackUse, Stub, Symbols};
use crate::unwind::{Unwind, UnwindTable};

/// An instruction set, and what is known of the registers of one object.
pub trait Machine: Sized {
    /// What is decided about a function.
    type Plan;

    /// Kind of the relocations of 4 bytes that hold the distance to a place.
    const DISTANCE: u32;
    /// Kinds of relocations that hold distances, as tables of jumps do.
    const DISTANCES: &[u32];
    /// Where the frame address is when a function is entered: register and offset.
    const ENTRY_CFA: (u16, i64);
    /// What is saved then: register, and offset from the frame address.
    const ENTRY_SAVED: &[(u16, i64)];
    /// Number of the return address in DWARF.
    const RETURN: u16;
    /// Fills what is never executed: a trap.
    const TRAP: u8;
    /// A section of code that is longer cannot be instrumented: jumps would not reach.
    const LONGEST_SECTION: u64;
    /// Name of the symbols that say that code follows, where there are such.
    const CODE_SYMBOL: Option<&str>;

    /// Looks at an object as a whole.
    fn of(object: &Object, unwind: &UnwindTable, functions: &[Function]) -> Self;

    /// Finds what the instructions of a part of a section lead to.
    fn sweep(object: &Object, section: usize, range: Range<u64>, found: &mut References);

    /// Whether a symbol tells code from data, and names nothing.
    fn is_mapping_symbol(symbol: &Symbol) -> bool;

    /// Decides how a function is instrumented.
    ///
    /// # Errors
    /// Why it cannot be.
    fn plan(
        &mut self,
        known: &Known<'_>,
        function: &Function,
        unwind: &Unwind,
    ) -> Result<Self::Plan, Reason>;

    /// What the function may do with the stack of its caller.
    fn stack_use(plan: &Self::Plan) -> StackUse;

    /// The part of its section that is overwritten or no longer used.
    fn head(plan: &Self::Plan) -> Range<u64>;

    /// Where in it the jump to the stub is put.
    fn jump(plan: &Self::Plan) -> u64;

    /// Writes the stub of a function: its `cell` on each thread, its entry in the table as symbol
    /// and offset.
    ///
    /// # Errors
    /// [`ProbeError::Internal`]: where an object has too many functions, or this is written wrongly.
    fn stub(
        plan: &Self::Plan,
        hook: Hook,
        symbols: &Symbols,
        cell: u32,
        function: (u32, i32),
    ) -> Result<Stub, ProbeError>;

    /// Writes the instructions of the head to the end of the section, and the way back. Gives for
    /// each of them, and for the end, where it was, and where it is, relative to the first.
    fn move_head(plan: &Self::Plan, to: &mut Moving<'_>) -> Vec<(u64, u64)>;

    /// Puts the jump to the stub in place, in the code of the section.
    fn patch(plan: &Self::Plan, data: &mut [u8], stub: u64);
}

/// What is known of an object before anything is changed.
pub struct Known<'a> {
    /// The object.
    pub object: &'a Object,
    /// Its unwind information.
    pub unwind: &'a UnwindTable,
    /// Its functions, in order of section and offset.
    pub functions: &'a [Function],
    /// What leads where.
    pub map: &'a Map,
}
