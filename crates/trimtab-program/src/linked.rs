//! What every reader of a linked ELF file has to know: its instruction set, its build ID, and which of
//! several names of an address counts. [`Program`](crate::Program) reads whole files; the tracer of
//! running programs only what it needs, of files that may be stripped.

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, SectionTable};

use crate::Isa;

/// The instruction set of an ELF file by its header's `e_machine` and size of addresses; nothing where
/// trimtab does not know it.
pub fn isa<H: FileHeader<Endian = LittleEndian>>(header: &H) -> Option<Isa> {
    let isa = Isa::of_elf_machine(header.e_machine(LittleEndian));
    isa.filter(|isa| isa.is_64_bit() == header.is_class_64())
}

/// The GNU build ID: the first in sections of notes. Damaged notes are passed over.
pub fn build_id<'data, H: FileHeader<Endian = LittleEndian>>(
    sections: &SectionTable<'data, H>,
    data: &'data [u8],
) -> Option<&'data [u8]> {
    sections.iter().find_map(|section| {
        let mut notes = section.notes(LittleEndian, data).ok()??;
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(LittleEndian) == elf::NT_GNU_BUILD_ID
            {
                return Some(note.desc());
            }
        }
        None
    })
}

/// Of several names for an address, the one whose symbol has the lowest rank counts: a global one
/// before a weak one before a local one. `binding` is the symbol's `STB_*`.
pub fn rank(binding: u8) -> u8 {
    match binding {
        elf::STB_GLOBAL => 0,
        elf::STB_WEAK => 1,
        _ => 2,
    }
}

/// Whether the function that begins at `start` and has its `end` is no function of its own but
/// another name, or a part, of `last`, the one before it by address.
pub fn is_within(last: std::ops::Range<u64>, start: u64, end: u64) -> bool {
    start == last.start || (start < last.end && end <= last.end)
}
