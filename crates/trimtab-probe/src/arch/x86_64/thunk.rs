//! Thunks of gcc's in the place of returns and of jumps to addresses (`-mfunction-return=thunk`,
//! `-mindirect-branch=thunk`, and the same with `-inline`), and what its unwind information says of them.
//!
//! A thunk calls the code behind a trap for speculation, which drops that return address with `lea`, or puts
//! another one in its place, and returns. gcc's unwind information counts the address that the call left, and goes
//! on to do so. At the `ret`, unwinders then take the word above the return address for it: a thread that is
//! cancelled there, asynchronously, is unwound from a number, in instrumented programs mostly one that a stub
//! keeps, which is no address at all. Where the thunk is inside a function, it says so of all that follows,
//! whatever is on the stack: no exception can pass there, and what the function accesses seems to be elsewhere.
//! There the call also overwrites the word below the return address, in which the last popped register still
//! seems to be saved.

use std::collections::{HashMap, HashSet};

use gimli::{EndianSlice, LittleEndian, Reader};
use iced_x86::{Code, FlowControl, Register};

use super::decode::Insn;
use super::dwarf::RSP;
use crate::elf::Object;
use crate::function::{Function, Place};
use crate::unwind::{Unwind, UnwindTable};

const NAME: &[u8] = b"__x86_return_thunk";
/// `call`, `pause`, `lfence`, `jmp`. What it calls is behind.
const CALL: [u8; 12] = [0xe8, 0x07, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9];
/// `lea 8(%rsp), %rsp`, `ret`.
const DROP: [u8; 6] = [0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3];
/// What is not the operation, in instructions that have their operand in the same byte.
const OPERAND: u8 = 0x3f;
/// The frame address is 16 above the stack pointer.
const TOLD: [u8; 2] = [gimli::DW_CFA_def_cfa_offset.0, 16];

/// What is written over a part of `.eh_frame`.
type Edit = (usize, Vec<u8>);

/// Mends it where it is as gcc writes it. Says how often.
pub fn mend(object: &mut Object, unwind: &UnwindTable, functions: &[Function]) -> usize {
    let Some(frames) = unwind.section else { return 0 };
    // gcc says nothing of the size of its thunk, so that it counts as no function elsewhere.
    let named = object.symbols.iter().filter(|symbol| symbol.name == NAME);
    let thunks = named.filter_map(|symbol| Some((symbol.defined_in()?, symbol.value)));
    let thunks = thunks.map(|place| (place, CALL.len() + DROP.len()));
    let all = functions.iter().map(|it| ((it.section, it.start), it.size as usize));
    let edits: HashMap<usize, Vec<u8>> =
        thunks.chain(all).flat_map(|(place, size)| edits(object, unwind, place, size)).collect();
    let data = &mut object.sections[frames].data;
    for (&at, bytes) in &edits {
        if let Some(old) = data.get_mut(at..at + bytes.len()) {
            old.copy_from_slice(bytes);
        }
    }
    edits.len()
}

/// What has to be changed in `.eh_frame` for the thunks in the code at a place.
fn edits(object: &Object, unwind: &UnwindTable, (section, start): Place, size: usize) -> Vec<Edit> {
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
    // Where the instruction before begins, that goes on to this offset.
    let mut advance = 0;
    while !rest.is_empty() {
        let at = program.len() - rest.len();
        if program[at..].starts_with(&TOLD) && behind.contains(&offset) {
            let popped = popped(unwind, offset - CALL.len() as u64);
            let popped = popped.filter(|_| ends_or_restores(&program[at + TOLD.len()..]));
            found.push((unwind.program.start + advance, mended(&program[advance..at], popped)));
        }
        let Ok(advanced) = step(&mut rest) else { return Vec::new() };
        offset += advanced * unwind.code_step;
        advance = at;
    }
    found
}

/// What takes the place of the instruction that goes on to the code behind a call, and of [`TOLD`]. Without the
/// latter, what the call left is the address of a frame of its own, in the thunk, where nothing more is on the
/// stack. The register is there already at the call: it was popped by the instruction before.
fn mended(advance: &[u8], popped: Option<u8>) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        popped.map(|register| gimli::DW_CFA_restore.0 | register).into_iter().collect();
    bytes.extend(advance);
    bytes.resize(advance.len() + TOLD.len(), gimli::DW_CFA_nop.0);
    bytes
}

/// The register that seems to be saved right below the stack pointer, where a call at an offset writes.
fn popped(unwind: &Unwind, offset: u64) -> Option<u8> {
    let row = unwind.at(offset)?;
    let (_, below) = row.cfa.filter(|&(register, _)| register == RSP)?;
    let saved = row.saved.iter().flatten();
    let (register, _) = saved.copied().find(|&(_, at)| at == -(below + 8))?;
    u8::try_from(register).ok().filter(|&register| register <= OPERAND)
}

/// Whether nothing is said of the code behind a thunk but that what was remembered before it holds again.
fn ends_or_restores(program: &[u8]) -> bool {
    let mut rest = EndianSlice::new(program, LittleEndian);
    while let Some(&next) = rest.slice().first() {
        match gimli::DwCfa(next) {
            gimli::DW_CFA_restore_state => return true,
            gimli::DW_CFA_nop => {}
            _ if gimli::DwCfa(next & !OPERAND) == gimli::DW_CFA_advance_loc => {}
            gimli::DW_CFA_advance_loc1
            | gimli::DW_CFA_advance_loc2
            | gimli::DW_CFA_advance_loc4 => {}
            _ => return false,
        }
        if step(&mut rest).is_err() {
            return false;
        }
    }
    true
}

/// Reads an instruction of unwind information; gives by how many steps of code it goes on.
fn step(rest: &mut EndianSlice<'_, LittleEndian>) -> gimli::Result<u64> {
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
