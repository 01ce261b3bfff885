//! Functions of the C library that the run time has others for: those by which programs end at once, which
//! account for the calls that are under way (`probe/ends.h`), and those that list the calls, which pass over
//! stubs (`probe/stacks.h`).

use object::elf;

use crate::elf::{Object, UNDEFINED};
use crate::hook::Hook;

/// Functions after which nothing of the program runs any more.
const ENDS: [&[u8]; 10] = [
    b"_Exit", b"_exit", b"execl", b"execle", b"execlp", b"execv", b"execve", b"execvp", b"execvpe",
    b"fexecve",
];

/// Functions that list the calls under way.
const STACKS: [&[u8]; 3] = [b"backtrace", b"backtrace_symbols", b"backtrace_symbols_fd"];

/// Has an object call those of the run time; the first kind with hooks that add up when calls end.
pub fn rename(object: &mut Object, hook: Hook) {
    let adds_up = matches!(hook, Hook::Time | Hook::Cycles | Hook::Value | Hook::Event);
    for symbol in &mut object.symbols {
        let name = symbol.name.as_slice();
        let is_ours = adds_up && ENDS.contains(&name) || STACKS.contains(&name);
        if symbol.section == UNDEFINED && is_ours {
            symbol.name = [b"trimtab_probe_".as_slice(), &symbol.name].concat();
            symbol.other = elf::STV_HIDDEN;
        }
    }
}
