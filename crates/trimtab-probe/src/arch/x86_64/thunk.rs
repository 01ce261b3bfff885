//! Mends what gcc says of the end of its return thunk (`-mfunction-return=thunk`).
//!
//! The thunk calls, drops that return address with `lea`, and returns. Its unwind information goes on to count
//! the address that was dropped: at the `ret`, unwinders take the word above the return address for it. A thread
//! that is cancelled there, asynchronously, is unwound from a number, in instrumented programs mostly one that
//! a stub keeps, which is no address at all.

use crate::elf::Object;
use crate::function::Function;
use crate::unwind::UnwindTable;

const NAME: &str = "__x86_return_thunk";
/// `call`, `pause`, `lfence`, `jmp`, `lea 8(%rsp), %rsp`, `ret`.
const CODE: [u8; 18] = [
    0xe8, 0x07, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 0x08,
    0xc3,
];
/// Advance by 12, frame address 16 above the stack pointer; filled up.
const TOLD: [u8; 7] = [0x4c, 0x0e, 16, 0, 0, 0, 0];
/// The same, and behind `lea`, 5 bytes on, 8 above it.
const RIGHT: [u8; 6] = [0x4c, 0x0e, 16, 0x45, 0x0e, 8];

/// Mends it where it is as gcc writes it. Says whether anything changed.
pub fn mend(object: &mut Object, unwind: &UnwindTable, functions: &[Function]) -> bool {
    let Some(frames) = unwind.section else { return false };
    let mut changed = false;
    for thunk in functions.iter().filter(|function| function.name == NAME) {
        let code = object.sections[thunk.section].data.get(thunk.start as usize..);
        let program = unwind.of(thunk.section, thunk.start).map(|unwind| unwind.program.clone());
        let (true, Some(program)) = (code.is_some_and(|code| code.starts_with(&CODE)), program)
        else {
            continue;
        };
        let told = object.sections[frames].data.get_mut(program);
        if let Some(told) = told.filter(|told| **told == TOLD) {
            told[..RIGHT.len()].copy_from_slice(&RIGHT);
            changed = true;
        }
    }
    changed
}
