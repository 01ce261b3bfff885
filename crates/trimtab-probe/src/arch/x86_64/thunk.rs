//! Thunks of gcc's in the place of returns and of jumps to addresses (`-mfunction-return=thunk`,
//! `-mindirect-branch=thunk`, and the same with `-inline`), and what its unwind information says of them.
//!
//! A thunk calls the code behind a trap for speculation, which drops that return address with `lea`, or puts
//! another one in its place, and returns. gcc's unwind information counts the address that the call left, and goes
//! on to do so. At the `ret`, unwinders then take the word above the return address for it: a thread that is
//! cancelled there, asynchronously, is unwound from a number, in instrumented programs mostly one that a stub
//! keeps, which is no address at all. Where the thunk is inside a function, it says so of all that follows,
//! whatever is on the stack: no exception can pass there, and what the function accesses seems to be elsewhere.

use std::collections::HashSet;

use gimli::{EndianSlice, LittleEndian, Reader};
use iced_x86::{Code, FlowControl, Register};

use super::decode::Insn;
use crate::elf::Object;
use crate::function::{Function, Place};
use crate::unwind::UnwindTable;

const NAME: &[u8] = b"__x86_return_thunk";
/// `call`, `pause`, `lfence`, `jmp`. What it calls is behind.
const CALL: [u8; 12] = [0xe8, 0x07, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9];
/// `lea 8(%rsp), %rsp`, `ret`.
const DROP: [u8; 6] = [0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3];
/// The frame address is 16 above the stack pointer.
const TOLD: [u8; 2] = [gimli::DW_CFA_def_cfa_offset.0, 16];

/// Mends it where it is as gcc writes it. Says how often.
pub fn mend(object: &mut Object, unwind: &UnwindTable, functions: &[Function]) -> usize {
    let Some(frames) = unwind.section else { return 0 };
    // gcc says nothing of the size of its thunk, so that it counts as no function elsewhere.
    let named = object.symbols.iter().filter(|symbol| symbol.name == NAME);
    let thunks = named.filter_map(|symbol| Some((symbol.defined_in()?, symbol.value)));
    let thunks = thunks.map(|place| (place, CALL.len() + DROP.len()));
    let all = functions.iter().map(|it| ((it.section, it.start), it.size as usize));
    let wrong: HashSet<usize> =
        thunks.chain(all).flat_map(|(place, size)| told(object, unwind, place, size)).collect();
    let data = &mut object.sections[frames].data;
    for &at in &wrong {
        // Without it, what the call left is the address of a frame of its own, in the thunk, where nothing
        // more is on the stack.
        if let Some(told) = data.get_mut(at..at + TOLD.len()) {
            told.fill(gimli::DW_CFA_nop.0);
        }
    }
    wrong.len()
}

/// Where in `.eh_frame` it is told that a thunk's call left an address on the stack, of the code at a place.
fn told(object: &Object, unwind: &UnwindTable, (section, start): Place, size: usize) -> Vec<usize> {
    let from = start as usize;
    let code = object.sections[section].data.get(from..from.saturating_add(size));
    let calls = code.into_iter().flat_map(|code| code.windows(CALL.len()).enumerate());
    let behind: HashSet<u64> =
        calls.filter(|(_, bytes)| *bytes == CALL).map(|(at, _)| (at + CALL.len()) as u64).collect();
    let (false, Some(unwind), Some(frames)) =
        (behind.is_empty(), unwind.of(section, start), unwind.section)
    else {
        return Vec::new();
    };
    let program = object.sections[frames].data.get(unwind.program.clone()).unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = EndianSlice::new(program, LittleEndian);
    let mut offset = 0;
    while !rest.is_empty() {
        let at = program.len() - rest.len();
        if program[at..].starts_with(&TOLD) && behind.contains(&offset) {
            found.push(unwind.program.start + at);
        }
        let Ok(advanced) = step(&mut rest) else { return Vec::new() };
        offset += advanced * unwind.code_step;
    }
    found
}

/// Reads an instruction of unwind information; gives by how many steps of code it goes on.
fn step(rest: &mut EndianSlice<'_, LittleEndian>) -> gimli::Result<u64> {
    const OPERAND: u8 = 0x3f;
    let opcode = rest.read_u8()?;
    let numbers = match gimli::DwCfa(opcode & !OPERAND) {
        gimli::DW_CFA_advance_loc => return Ok((opcode & OPERAND).into()),
        gimli::DW_CFA_offset => 1,
        gimli::DW_CFA_restore => 0,
        _ => match gimli::DwCfa(opcode) {
            gimli::DW_CFA_advance_loc1 => return Ok(rest.read_u8()?.into()),
            gimli::DW_CFA_advance_loc2 => return Ok(rest.read_u16()?.into()),
            gimli::DW_CFA_advance_loc4 => return Ok(rest.read_u32()?.into()),
            gimli::DW_CFA_nop | gimli::DW_CFA_remember_state | gimli::DW_CFA_restore_state => 0,
            gimli::DW_CFA_def_cfa_offset
            | gimli::DW_CFA_def_cfa_register
            | gimli::DW_CFA_restore_extended
            | gimli::DW_CFA_same_value
            | gimli::DW_CFA_undefined
            | gimli::DW_CFA_GNU_args_size => 1,
            gimli::DW_CFA_def_cfa | gimli::DW_CFA_offset_extended | gimli::DW_CFA_register => 2,
            code @ (gimli::DW_CFA_def_cfa_expression | gimli::DW_CFA_expression) => {
                if code == gimli::DW_CFA_expression {
                    rest.read_uleb128()?;
                }
                let length = rest.read_uleb128()?;
                rest.skip(usize::try_from(length).unwrap_or(usize::MAX))?;
                0
            }
            _ => return Err(gimli::Error::UnknownCallFrameInstruction(gimli::DwCfa(opcode))),
        },
    };
    for _ in 0..numbers {
        rest.read_uleb128()?;
    }
    Ok(0)
}

/// Whether the instruction with an index is the return of a thunk inside the function by which it jumps to an
/// address: that is put in the place of the return address.
pub fn is_jump(code: &[Insn], index: usize) -> bool {
    let Some((before, _)) = index.checked_sub(1).and_then(|before| code.get(before)) else {
        return false;
    };
    code[index].0.flow_control() == FlowControl::Return
        && before.code() == Code::Mov_rm64_r64
        && before.memory_base() == Register::RSP
        && before.memory_index() == Register::None
        && before.memory_displacement64() == 0
}
