//! How programs end at once: by functions that the run time has others for, which account for the calls that
//! are under way (`probe/ends.h`).

use object::elf;

use crate::elf::{Object, UNDEFINED};
use crate::hook::Hook;

/// Functions after which nothing of the program runs any more.
const ENDS: [&[u8]; 10] = [
    b"_Exit", b"_exit", b"execl", b"execle", b"execlp", b"execv", b"execve", b"execvp", b"execvpe",
    b"fexecve",
];

/// Has an object call those of the run time, with hooks that add up when calls end.
pub fn rename(object: &mut Object, hook: Hook) {
    if !matches!(hook, Hook::Time | Hook::Cycles | Hook::Value | Hook::Event) {
        return;
    }
    for symbol in &mut object.symbols {
        if symbol.section == UNDEFINED && ENDS.contains(&symbol.name.as_slice()) {
            symbol.name = [b"trimtab_probe_".as_slice(), &symbol.name].concat();
            symbol.other = elf::STV_HIDDEN;
        }
    }
}
