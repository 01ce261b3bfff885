//! Functions of the C library that the run time has others for: those by which programs end at once, which
//! account for the calls that are under way (`probe/ends.h`), and those that list the calls, which pass over
//! stubs (`probe/stacks.h`). A program may have functions of these names of its own.

use std::collections::BTreeSet;

use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSymbol as _, elf};

use crate::elf::{Object, UNDEFINED};
use crate::hook::Hook;

/// Functions after which nothing of the program runs any more.
const ENDS: [&str; 10] = [
    "_Exit", "_exit", "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe",
    "fexecve",
];

/// Functions that list the calls under way.
const STACKS: [&str; 3] = ["backtrace", "backtrace_symbols", "backtrace_symbols_fd"];

/// Functions that a program defines itself, of those that the run time would have others for: its calls of
/// them stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnFunctions(BTreeSet<&'static str>);

impl OwnFunctions {
    /// Adds those that an object or an archive defines for others. What cannot be read defines none: it is
    /// refused elsewhere.
    pub fn add(&mut self, data: &[u8]) {
        let Ok(archive) = ArchiveFile::parse(data) else { return self.add_object(data) };
        for member in archive.members().flatten() {
            if let Ok(bytes) = member.data(data) {
                self.add_object(bytes);
            }
        }
    }

    fn add_object(&mut self, data: &[u8]) {
        let Ok(file) = object::File::parse(data) else { return };
        for symbol in file.symbols() {
            if !symbol.is_definition() || symbol.is_local() {
                continue;
            }
            let Ok(name) = symbol.name() else { continue };
            self.0.extend(ENDS.iter().chain(&STACKS).find(|known| **known == name));
        }
    }

    /// Adds those of another set.
    pub fn merge(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }
}

/// Has an object call those of the run time; the first kind with hooks that add up when calls end.
pub fn rename(object: &mut Object, hook: Hook, own: &OwnFunctions) {
    let adds_up = hook.adds_up().is_some();
    let replaced = STACKS.iter().chain(ENDS.iter().filter(|_| adds_up));
    let replaced: Vec<&str> = replaced.copied().filter(|name| !own.0.contains(name)).collect();
    for symbol in &mut object.symbols {
        let is_ours = replaced.iter().any(|name| name.as_bytes() == symbol.name);
        if symbol.section == UNDEFINED && is_ours {
            symbol.name = [b"trimtab_probe_".as_slice(), &symbol.name].concat();
            symbol.other = elf::STV_HIDDEN;
        }
    }
}
