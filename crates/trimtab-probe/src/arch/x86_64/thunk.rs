//! Mends what gcc says of the end of its return thunk (`-mfunction-return=thunk`).
//!
//! The thunk calls, drops that return address with `lea`, and returns. Its unwind information goes on to count
//! the address that was dropped: at the `ret`, unwinders take the word above the return address for it. A thread
//! that is cancelled there, asynchronously, is unwound from a number, in instrumented programs mostly one that
//! a stub keeps, which is no address at all.

use crate::elf::Object;
use crate::function::Place;
use crate::unwind::UnwindTable;

const NAME: &[u8] = b"__x86_return_thunk";
/// `call`, `pause`, `lfence`, `jmp`, `lea 8(%rsp), %rsp`, `ret`.
const CODE: [u8; 18] = [
    0xe8, 0x07, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 0x08,
    0xc3,
];
/// Advance by 12, frame address 16 above the stack pointer. Behind it is padding.
const TOLD: [u8; 3] = [0x4c, 0x0e, 16];

/// Mends it where it is as gcc writes it. Says whether anything changed.
pub fn mend(object: &mut Object, unwind: &UnwindTable) -> bool {
    let Some(frames) = unwind.section else { return false };
    let mut changed = false;
    // gcc says nothing of its size, so that it counts as no function elsewhere.
    let named = object.symbols.iter().filter(|symbol| symbol.name == NAME);
    let thunks: Vec<Place> =
        named.filter_map(|symbol| Some((symbol.defined_in()?, symbol.value))).collect();
    for (section, start) in thunks {
        let code = object.sections[section].data.get(start as usize..);
        let program = unwind.of(section, start).map(|unwind| unwind.program.clone());
        let (true, Some(program)) = (code.is_some_and(|code| code.starts_with(&CODE)), program)
        else {
            continue;
        };
        let told = object.sections[frames].data.get_mut(program).filter(|told| {
            told.split_first_chunk()
                .is_some_and(|(head, rest)| *head == TOLD && rest.iter().all(|byte| *byte == 0))
        });
        if let Some(told) = told {
            // Without it, what the call left is the address of a frame of its own, in the thunk, where nothing
            // is on the stack.
            told.fill(0);
            changed = true;
        }
    }
    changed
}
