//! Instruments functions of AArch64.

mod asm;
mod decode;
mod dwarf;
mod patch_site;
mod stack;
mod stub;

use std::collections::HashSet;
use std::ops::Range;

use gimli::Vendor;
use object::elf;

use self::decode::{LINK, SIZE, SP, decode};
use self::patch_site::PatchSite;
use crate::arch::{Arch, Context, Entrance};
use crate::elf::Object;
use crate::error::ProbeError;
use crate::function::{Function, Place, is_outlined};
use crate::reason::Reason;
use crate::references::{References, Scan};
use crate::relocation_edits::SectionEnd;
use crate::stub::{StackUse, Stub, Symbols, Task};
use crate::unwind::{EntryState, Unwind, UnwindTable};

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
    site: PatchSite,
    place: StackUse,
}

impl Scan for Aarch64 {
    const POINTER: u32 = elf::R_AARCH64_ABS64;
    const DISTANCES: &[u32] = &[elf::R_AARCH64_PREL32, elf::R_AARCH64_PREL64];
    const ANCHORED: &[u32] = &[];

    fn scan(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
        decode::scan(object, section, range, found);
    }
}

impl Arch for Aarch64 {
    type Plan = Plan;

    const DISTANCE: u32 = elf::R_AARCH64_PREL32;
    const WIDE_DISTANCE: u32 = elf::R_AARCH64_PREL64;
    const ENTRY: EntryState = EntryState { cfa: (SP, 0), saved: &[] };
    const VENDOR: Vendor = Vendor::AArch64;
    const RETURN: u16 = LINK;
    /// `udf`.
    const TRAP: u8 = 0;
    /// Half of how far branches reach.
    const LONGEST_SECTION: u64 = 1 << 26;

    fn of(object: &Object, _unwind: &UnwindTable, functions: &[Function]) -> Self {
        let outlined = functions.iter().filter(|function| is_outlined(&function.name));
        Self {
            compiled: object.is_compiled(),
            outlined: outlined.map(|function| (function.section, function.start)).collect(),
        }
    }

    fn plan(
        &mut self,
        context: &Context<'_>,
        function: &Function,
        unwind: &Unwind,
    ) -> Result<Plan, Reason> {
        if !self.compiled {
            return Err(Reason::NotCompiled);
        }
        if function.other & VARIANT != 0 {
            return Err(Reason::OtherConvention);
        }
        let object = context.object;
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
        let site = PatchSite::of(object, context.map, function, &code, unwind)?;
        let place = stack::analyze(object, function, &code, unwind, &self.outlined)?;
        Ok(Plan { site, place })
    }

    fn stack_use(plan: &Plan) -> StackUse {
        plan.place
    }

    fn entrance(plan: &Plan) -> Entrance {
        Entrance::PatchSite { prologue: plan.site.start..plan.site.end, at: plan.site.at }
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

    fn move_prologue(plan: &Plan, to: &mut SectionEnd<'_>) -> Vec<(u64, u64)> {
        plan.site.write(to)
    }

    fn patch(plan: &Plan, data: &mut [u8], stub: u64) {
        plan.site.patch(data, stub);
    }
}
