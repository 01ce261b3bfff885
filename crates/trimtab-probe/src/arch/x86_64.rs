//! Instruments functions of x86-64.

mod alignment;
mod asm;
mod copy;
mod decode;
mod dwarf;
mod frames;
mod inline;
mod jump_tables;
mod patch_site;
mod registers;
mod scan;
mod stack;
mod stub;
mod thunk;

use std::ops::Range;

use gimli::Vendor;
use iced_x86::Mnemonic;
use object::elf;

use self::copy::Copy;
use self::decode::decode;
use self::dwarf::{LANDING, RETURN, RSP};
use self::jump_tables::JumpTables;
use self::patch_site::PatchSite;
use self::registers::{Free, Registers};
use self::stub::Body;
use crate::arch::{Arch, Context, Entrance};
use crate::elf::Object;
use crate::error::ProbeError;
use crate::function::Function;
use crate::reason::Reason;
use crate::references::{References, Scan};
use crate::relocation_edits::SectionEnd;
use crate::stub::{StackUse, Stub, Symbols, Task};
use crate::unwind::{EntryState, Unwind, UnwindTable};
use crate::user::{InlineHook, WhyCalled};

/// What is known of the registers of an object.
pub struct X86_64 {
    registers: Registers,
}

/// How a function is instrumented.
pub struct Plan {
    /// None where the function's symbols can be redirected to the stub.
    site: Option<PatchSite>,
    /// Where the body begins: behind `endbr64`, if there is one.
    body: u64,
    /// Whether the function begins with `endbr64`.
    landing: bool,
    place: StackUse,
    free: Free,
    copy: Option<Copy>,
}

impl Scan for X86_64 {
    const POINTER: u32 = elf::R_X86_64_64;
    const DISTANCES: &[u32] = &[elf::R_X86_64_PC32, elf::R_X86_64_PC64];
    const ANCHORED: &[u32] = &decode::DISTANCES_8;

    fn scan(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
        scan::scan(object, section, range, found);
    }
}

impl Arch for X86_64 {
    type Plan = Plan;

    const DISTANCE: u32 = elf::R_X86_64_PC32;
    const WIDE_DISTANCE: u32 = elf::R_X86_64_PC64;
    const ENTRY: EntryState = EntryState { cfa: (RSP, 8), saved: &[(RETURN, -8)] };
    const VENDOR: Vendor = Vendor::Default;
    const RETURN: u16 = RETURN;
    const TRAP: u8 = 0xcc;
    const LONGEST_SECTION: u64 = i32::MAX as u64 - 4096;

    fn of(object: &Object, _unwind: &UnwindTable, functions: &[Function]) -> Self {
        Self { registers: Registers::of(object, functions) }
    }

    fn mend(object: &mut Object, unwind: &UnwindTable, functions: &[Function]) -> usize {
        thunk::mend(object, unwind, functions)
    }

    fn inline_hook(object: &mut Object, function: &Function) -> Result<InlineHook, WhyCalled> {
        inline::read(object, function)
    }

    fn can_derive(object: &Object) -> bool {
        object.is_compiled()
    }

    fn derive(context: &Context<'_>, function: &Function) -> Option<Unwind> {
        let code = decode(context.object, function.section, function.start, function.end());
        frames::derive(context, function, &code)
    }

    fn plan(
        &mut self,
        context: &Context<'_>,
        function: &Function,
        unwind: &Unwind,
    ) -> Result<Plan, Reason> {
        let object = context.object;
        let code = decode(object, function.section, function.start, function.end());
        if code.last().map(|(instruction, _)| instruction.next_ip()) != Some(function.end()) {
            return Err(Reason::Undecoded);
        }
        let landing = code.first().is_some_and(|(first, _)| first.mnemonic() == Mnemonic::Endbr64);
        let body = function.start + if landing { LANDING } else { 0 };
        let tables = JumpTables::of(context, function, &code);
        let is_own = |from| tables.as_ref().is_some_and(|tables| tables.has(from));
        let is_redirected =
            self.registers.compiled() && context.map.can_be_redirected(function, is_own);
        if is_redirected
            && patch_site::is_traced(object, function.section, body..body + patch_site::JUMP)
        {
            return Err(Reason::Traced);
        }
        let loops = match &tables {
            Some(tables) => tables.lead_to(function.start),
            None => context.map.may_loop_by_distance(function),
        };
        let site = match is_redirected {
            true => None,
            false if loops => return Err(Reason::Loop),
            false => Some(PatchSite::of(object, context.map, function, &code, unwind)?),
        };
        let place = stack::analyze(context, function, &code, unwind)?;
        let free = self.registers.free(context, function, &code, unwind);
        let copy = tables
            .as_ref()
            .filter(|_| self.registers.compiled())
            .and_then(|tables| Copy::of(context, function, (body, &code, tables), unwind, place));
        Ok(Plan { site, body, landing, place, free, copy })
    }

    fn stack_use(plan: &Plan) -> StackUse {
        plan.place
    }

    fn entrance(plan: &Plan) -> Entrance {
        match &plan.site {
            Some(site) => Entrance::PatchSite { prologue: site.at..site.end, at: site.at },
            None => Entrance::RedirectedSymbol(plan.body),
        }
    }

    fn stub(
        plan: &Plan,
        task: &Task<'_>,
        symbols: &Symbols,
        cell: u32,
        function: (u32, i32),
    ) -> Result<Stub, ProbeError> {
        let body = match plan.site {
            Some(_) => Body::Behind,
            None => Body::Elsewhere { landing: plan.landing },
        };
        let copy = plan.copy.as_ref().filter(|_| task.copies);
        let what = (plan.place, plan.free, copy);
        stub::write(task, body, what, symbols, cell, function)
    }

    fn move_prologue(plan: &Plan, to: &mut SectionEnd<'_>) -> Vec<(u64, u64)> {
        plan.site.as_ref().map_or_else(Vec::new, |site| site.write(to))
    }

    fn patch(plan: &Plan, data: &mut [u8], stub: u64) {
        if let Some(site) = &plan.site {
            site.patch(data, stub);
        }
    }
}
