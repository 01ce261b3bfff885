//! Instruments functions of AArch64.

mod asm;
mod decode;
mod patch_site;
mod stack;
mod stub;

use std::collections::HashSet;
use std::ops::Range;

use object::elf;

use self::decode::{LINK, SIZE, SP, decode};
use self::patch_site::Head;
use crate::ProbeError;
use crate::arch::{Entrance, Known, Machine};
use crate::cfi::StubFrame;
use crate::elf::{Object, Symbol};
use crate::function::{Function, Place, References, is_outlined};
use crate::reason::Reason;
use crate::relocation_edits::Moving;
use crate::stub::{StackUse, Stub, Symbols, Task};
use crate::unwind::{Unwind, UnwindTable};

/// Number of the register that points at a stub's frame.
const FRAME: u16 = 19;
/// Number of a register that holds nothing when functions are entered and when they have returned.
const SCRATCH: u16 = 16;
/// What stands where the body returns to in stubs that have a frame: `movz xzr, #0x5442`, which no
/// compiler writes. The same number is in `probe/aarch64.h`.
const MARK: [u8; 4] = 0xd28a_885fu32.to_le_bytes();
/// How stubs with a frame are told to unwinders.
const STUB_FRAME: StubFrame =
    StubFrame { stack: SP, frame: FRAME, mark: &MARK, signal_return: Some(SIGNAL_RETURN) };
/// `mov x8, #139`, with which Linux has handlers of signals return.
const SIGNAL_RETURN: u32 = 0xd280_1168;
/// In a symbol's other byte: the function's calling convention is not the usual one
/// (`STO_AARCH64_VARIANT_PCS`).
const VARIANT: u8 = 0x80;

/// What is known of an object.
pub struct Aarch64 {
    /// Whether a compiler wrote the code. Assembly by hand has conventions of its own.
    compiled: bool,
    /// Functions that work on their callers' stack.
    outlined: HashSet<Place>,
}

/// How a function is instrumented.
pub struct Plan {
    head: Head,
    place: StackUse,
}

impl Machine for Aarch64 {
    type Plan = Plan;

    const DISTANCE: u32 = elf::R_AARCH64_PREL32;
    const POINTER: u32 = elf::R_AARCH64_ABS64;
    const DISTANCES: &[u32] = &[elf::R_AARCH64_PREL32, elf::R_AARCH64_PREL64];
    const ENTRY_CFA: (u16, i64) = (SP, 0);
    const ENTRY_SAVED: &[(u16, i64)] = &[];
    const RETURN: u16 = LINK;
    /// `udf`.
    const TRAP: u8 = 0;
    /// Half of how far branches reach.
    const LONGEST_SECTION: u64 = 1 << 26;
    const CODE_SYMBOL: Option<&str> = Some("$x");

    fn of(object: &Object, _unwind: &UnwindTable, functions: &[Function]) -> Self {
        let outlined = functions.iter().filter(|function| is_outlined(&function.name));
        Self {
            compiled: object.is_compiled(),
            outlined: outlined.map(|function| (function.section, function.start)).collect(),
        }
    }

    fn sweep(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
        decode::sweep(object, section, range, found);
    }

    fn is_mapping_symbol(symbol: &Symbol) -> bool {
        symbol.is_mapping()
    }

    fn plan(
        &mut self,
        known: &Known<'_>,
        function: &Function,
        unwind: &Unwind,
    ) -> Result<Plan, Reason> {
        if !self.compiled {
            return Err(Reason::NotCompiled);
        }
        if function.other & VARIANT != 0 {
            return Err(Reason::OtherConvention);
        }
        let object = known.object;
        let range = function.start..function.end();
        let code = decode(object, function.section, range.clone());
        let is_whole = range.clone().step_by(SIZE as usize).all(|at| {
            object.is_data(function.section, at)
                || code.binary_search_by_key(&at, |instruction| instruction.at).is_ok()
        });
        let starts = code.first().is_some_and(|first| first.at == function.start);
        if !is_whole || !starts || !function.size.is_multiple_of(SIZE) {
            return Err(Reason::Undecoded);
        }
        let head = Head::of(object, known.map, function, &code, unwind)?;
        let place = stack::look(object, function, &code, unwind, &self.outlined)?;
        Ok(Plan { head, place })
    }

    fn stack_use(plan: &Plan) -> StackUse {
        plan.place
    }

    fn entrance(plan: &Plan) -> Entrance {
        Entrance::Jump { head: plan.head.start..plan.head.end, at: plan.head.at }
    }

    fn stub(
        plan: &Plan,
        task: &Task<'_>,
        symbols: &Symbols,
        cell: u32,
        function: (u32, i32),
    ) -> Result<Stub, ProbeError> {
        stub::write(task.hook, plan.place, symbols, cell, function)
    }

    fn move_head(plan: &Plan, to: &mut Moving<'_>) -> Vec<(u64, u64)> {
        plan.head.write(to)
    }

    fn patch(plan: &Plan, data: &mut [u8], stub: u64) {
        plan.head.patch(data, stub);
    }
}
