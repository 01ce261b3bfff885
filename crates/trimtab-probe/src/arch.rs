//! What the rewriter has to know of an instruction set.

pub mod aarch64;
pub mod x86_64;

use std::ops::Range;

use gimli::Vendor;

use crate::elf::Object;
use crate::error::ProbeError;
use crate::function::{Function, Place};
use crate::prototypes::Prototypes;
use crate::reason::Reason;
use crate::references::{CodeMap, Scan};
use crate::relocation_edits::SectionEnd;
use crate::stub::{StackUse, Stub, Symbols, Task};
use crate::unwind::{EntryState, Unwind, UnwindTable};
use crate::user::{InlineHook, WhyCalled};

/// An instruction set, and what is known of the registers of one object.
pub trait Arch: Scan + Sized {
    /// What is decided about a function.
    type Plan;

    /// Kind of the relocations of 4 bytes that hold the distance to a place.
    const DISTANCE: u32;
    /// The same of 8 bytes.
    const WIDE_DISTANCE: u32;
    /// What holds when a function is entered.
    const ENTRY: EntryState;
    /// Whose own instructions of DWARF are in unwind information.
    const VENDOR: Vendor;
    /// Number of the return address in DWARF.
    const RETURN: u16;
    /// Fills what is never executed: a trap.
    const TRAP: u8;
    /// A section of code that is longer cannot be instrumented: jumps would not reach.
    const LONGEST_SECTION: u64;

    /// Looks at an object as a whole.
    fn of(object: &Object, unwind: &UnwindTable, functions: &[Function]) -> Self;

    /// Corrects unwind information of compilers that is known to be wrong. Says how much of it there was.
    fn mend(_object: &mut Object, _unwind: &UnwindTable, _functions: &[Function]) -> usize {
        0
    }

    /// Reads a hook of the user's that stubs may have inside.
    ///
    /// # Errors
    /// Why it is called instead.
    fn inline_hook(_object: &mut Object, _function: &Function) -> Result<InlineHook, WhyCalled> {
        Err(WhyCalled::Machine)
    }

    /// Whether the frames of an object without unwind information can be found out.
    fn can_derive(_object: &Object) -> bool {
        false
    }

    /// Finds out the frames of a function without unwind information; none where they cannot be known.
    fn derive(_context: &Context<'_>, _function: &Function) -> Option<Unwind> {
        None
    }

    /// Decides how a function is instrumented.
    ///
    /// # Errors
    /// Why it cannot be.
    fn plan(
        &mut self,
        context: &Context<'_>,
        function: &Function,
        unwind: &Unwind,
    ) -> Result<Self::Plan, Reason>;

    /// What the function may do with the stack of its caller.
    fn stack_use(plan: &Self::Plan) -> StackUse;

    /// How its callers come to its stub.
    fn entrance(plan: &Self::Plan) -> Entrance;

    /// Writes the stub of a function: its `cell` on each thread, its entry in the table as symbol
    /// and offset.
    ///
    /// # Errors
    /// [`ProbeError::Internal`]: where an object has too many functions, or this is written wrongly.
    fn stub(
        plan: &Self::Plan,
        task: &Task<'_>,
        symbols: &Symbols,
        cell: u32,
        function: (u32, i32),
    ) -> Result<Stub, ProbeError>;

    /// Where there is a patch site: writes the instructions of the prologue to the end of the section, and the way back.
    /// Gives for each of them, and for the end, where it was, and where it is, relative to the
    /// first.
    fn move_prologue(plan: &Self::Plan, to: &mut SectionEnd<'_>) -> Vec<(u64, u64)>;

    /// Where there is a patch site: puts the jump to the stub in place, in the code of the section.
    fn patch(plan: &Self::Plan, data: &mut [u8], stub: u64);
}

/// How callers of a function come to its stub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entrance {
    /// The symbols of the function are redirected to the stub, and it stays as it is. Its
    /// body begins at this offset of the section.
    RedirectedSymbol(u64),
    /// The function begins with a jump, and the instructions that were there run behind the stub.
    PatchSite {
        /// The part of its section that is overwritten or no longer used.
        prologue: Range<u64>,
        /// Where in it the jump is put.
        at: u64,
    },
}

/// What is known of an object before anything is changed.
pub struct Context<'a> {
    /// The object.
    pub object: &'a Object,
    /// Its unwind information.
    pub unwind: &'a UnwindTable,
    /// Its functions, in order of section and offset.
    pub functions: &'a [Function],
    /// What leads where.
    pub map: &'a CodeMap,
    /// What its debug information says of arguments.
    pub prototypes: &'a Prototypes<'a>,
}

impl Context<'_> {
    /// The function that a place is in.
    pub fn function_at(&self, place: Place) -> Option<&Function> {
        let behind = self.functions.partition_point(|other| (other.section, other.start) <= place);
        let function = &self.functions[behind.checked_sub(1)?];
        function.contains(place).then_some(function)
    }
}
