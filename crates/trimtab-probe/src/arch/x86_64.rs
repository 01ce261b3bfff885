//! Instruments functions of x86-64.

mod alignment;
mod asm;
mod copy;
mod decode;
mod inline;
mod jump_tables;
mod patch_site;
mod registers;
mod stack;
mod stub;

use std::ops::Range;

use iced_x86::Mnemonic;
use object::elf;

use self::copy::Copy;
use self::decode::decode;
pub use self::inline::Inline;
use self::jump_tables::Tables;
use self::patch_site::Head;
use self::registers::{Free, Registers};
use self::stub::Body;
use crate::ProbeError;
use crate::arch::{Entrance, Known, Machine};
use crate::cfi::StubFrame;
use crate::elf::{Object, Symbol};
use crate::function::{Function, References};
use crate::reason::Reason;
use crate::relocation_edits::Moving;
use crate::stub::{StackUse, Stub, Symbols, Task};
use crate::unwind::{Unwind, UnwindTable};

/// Bytes of `endbr64`.
const LANDING: u64 = 4;
/// Number of rsp in DWARF.
const RSP: u16 = 7;
/// Number of rbp in DWARF.
const RBP: u16 = 6;
/// Number of rsi in DWARF.
const RSI: u16 = 4;
/// Number of rdi in DWARF.
const RDI: u16 = 5;
/// Number of rbx in DWARF.
const RBX: u16 = 3;
/// Number of r11 in DWARF.
const R11: u16 = 11;
/// Number of the return address in DWARF.
const RETURN: u16 = 16;

/// What stands where the body returns to in stubs that have a frame: `mov %r11, 8(%rbx)`, and
/// `nopl 84(%rax)`, which no compiler writes. The same number is in `probe/x86_64.h`.
const MARK: [u8; 8] = [0x4c, 0x89, 0x5b, 0x08, 0x0f, 0x1f, 0x40, 0x54];
/// How stubs with a frame are told to unwinders.
const STUB_FRAME: StubFrame =
    StubFrame { stack: RSP, frame: RBX, mark: &MARK, signal_return: None };

/// What is known of the registers of an object.
pub struct X86_64 {
    registers: Registers,
}

/// How a function is instrumented.
pub struct Plan {
    /// None where what leads to the function can lead to the stub.
    head: Option<Head>,
    /// Where the body begins: behind `endbr64`, if there is one.
    body: u64,
    /// Whether the function begins with `endbr64`.
    landing: bool,
    place: StackUse,
    free: Free,
    copy: Option<Copy>,
}

impl Machine for X86_64 {
    type Plan = Plan;

    const DISTANCE: u32 = elf::R_X86_64_PC32;
    const POINTER: u32 = elf::R_X86_64_64;
    const DISTANCES: &[u32] = &[elf::R_X86_64_PC32, elf::R_X86_64_PC64];
    const ENTRY_CFA: (u16, i64) = (RSP, 8);
    const ENTRY_SAVED: &[(u16, i64)] = &[(RETURN, -8)];
    const RETURN: u16 = RETURN;
    const TRAP: u8 = 0xcc;
    const LONGEST_SECTION: u64 = i32::MAX as u64 - 4096;
    const CODE_SYMBOL: Option<&str> = None;

    fn of(object: &Object, _unwind: &UnwindTable, functions: &[Function]) -> Self {
        Self { registers: Registers::of(object, functions) }
    }

    fn sweep(object: &Object, section: usize, range: Range<u64>, found: &mut References) {
        decode::sweep(object, section, range, found);
    }

    fn is_mapping_symbol(_symbol: &Symbol) -> bool {
        false
    }

    fn plan(
        &mut self,
        known: &Known<'_>,
        function: &Function,
        unwind: &Unwind,
    ) -> Result<Plan, Reason> {
        let object = known.object;
        let code = decode(object, function.section, function.start, function.end());
        if code.last().map(|(instruction, _)| instruction.next_ip()) != Some(function.end()) {
            return Err(Reason::Undecoded);
        }
        let landing = code.first().is_some_and(|(first, _)| first.mnemonic() == Mnemonic::Endbr64);
        let body = function.start + if landing { LANDING } else { 0 };
        let tables = Tables::of(known, function, &code);
        let is_own = |from| tables.as_ref().is_some_and(|tables| tables.has(from));
        let led = self.registers.compiled() && known.map.can_lead_elsewhere(function, is_own);
        if led && patch_site::is_traced(object, function.section, body..body + patch_site::JUMP) {
            return Err(Reason::Traced);
        }
        let loops = match &tables {
            Some(tables) => tables.lead_to(function.start),
            None => known.map.may_loop_by_distance(function),
        };
        let head = match led {
            true => None,
            false if loops => return Err(Reason::Loop),
            false => Some(Head::of(object, known.map, function, &code, unwind)?),
        };
        let place = stack::look(known, function, &code, unwind)?;
        let free = self.registers.free(known, function, &code, unwind);
        let copy = tables
            .as_ref()
            .filter(|_| self.registers.compiled())
            .and_then(|tables| Copy::of(known, function, (body, &code, tables), unwind, place));
        Ok(Plan { head, body, landing, place, free, copy })
    }

    fn stack_use(plan: &Plan) -> StackUse {
        plan.place
    }

    fn entrance(plan: &Plan) -> Entrance {
        match &plan.head {
            Some(head) => Entrance::Jump { head: head.at..head.end, at: head.at },
            None => Entrance::Led(plan.body),
        }
    }

    fn stub(
        plan: &Plan,
        task: &Task<'_>,
        symbols: &Symbols,
        cell: u32,
        function: (u32, i32),
    ) -> Result<Stub, ProbeError> {
        let body = match plan.head {
            Some(_) => Body::Behind,
            None => Body::Elsewhere { landing: plan.landing },
        };
        let copy = plan.copy.as_ref().filter(|_| task.copies);
        let what = (plan.place, plan.free, copy);
        stub::write(task, body, what, symbols, cell, function)
    }

    fn move_head(plan: &Plan, to: &mut Moving<'_>) -> Vec<(u64, u64)> {
        plan.head.as_ref().map_or_else(Vec::new, |head| head.write(to))
    }

    fn patch(plan: &Plan, data: &mut [u8], stub: u64) {
        if let Some(head) = &plan.head {
            head.patch(data, stub);
        }
    }
}
