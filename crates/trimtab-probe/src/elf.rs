//! A relocatable ELF object as tables that can be changed, and its bytes again.
//!
//! Not by `object::build`: it refuses the groups of C++ (`SHT_GROUP`) and sections of LLVM's, so that it
//! read and wrote 7 of the 11 objects that `fuzz/seeds/object` began with.
//!
//! Sections keep their numbers: what is new goes to the end. So nothing that refers to a section by
//! number (groups, links, symbols) has to be understood to stay right.

mod read;
mod write;

use std::collections::{BTreeMap, HashMap};

use object::LittleEndian;
use object::elf;
use trimtab_program::{Isa, Mapped};

use crate::error::ProbeError;

type Header = elf::FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// How rustc begins its name in objects.
const RUSTC: &[u8] = b"rustc version";
/// The section of an undefined symbol.
pub const UNDEFINED: u16 = elf::SHN_UNDEF;
/// From here on section numbers have other meanings.
const RESERVED: u16 = elf::SHN_LORESERVE;

/// Sections with variables and constants, and with functions that run before and behind `main`, by
/// how their names begin.
const POINTERS: [&[u8]; 10] = [
    b".data",
    b".rodata",
    b".tdata",
    b".ldata",
    b".lrodata",
    b".preinit_array",
    b".init_array",
    b".fini_array",
    b".ctors",
    b".dtors",
];

/// A section.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its name.
    pub name: Vec<u8>,
    /// `SHT_...`.
    pub kind: u32,
    /// `SHF_...`.
    pub flags: u64,
    /// Section that it refers to; by kind.
    pub link: u32,
    /// Meaning by kind.
    pub info: u32,
    /// Power of two; 0 and 1 mean none.
    pub alignment: u64,
    /// Bytes of an entry, where it is a table.
    pub entry: u64,
    /// What is in it; empty where it takes no space in the file.
    pub data: Vec<u8>,
    /// Bytes in memory where it takes no space in the file.
    pub empty_size: u64,
    /// Where its name begins; known once the object is written.
    name_offset: u32,
    /// Address; 0 in objects, and kept whatever it is.
    address: u64,
    /// Keeps the order of the file.
    offset: u64,
}

impl Section {
    /// A new section.
    pub fn new(name: &str, kind: u32, flags: u32, alignment: u64) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            kind,
            flags: flags.into(),
            link: 0,
            info: 0,
            alignment,
            entry: 0,
            data: Vec::new(),
            empty_size: 0,
            name_offset: 0,
            address: 0,
            offset: u64::MAX,
        }
    }

    /// Whether all these flags are set.
    pub fn has(&self, flags: u32) -> bool {
        self.flags & u64::from(flags) == u64::from(flags)
    }

    /// Whether it holds code.
    pub fn is_text(&self) -> bool {
        self.kind == elf::SHT_PROGBITS && self.has(elf::SHF_ALLOC | elf::SHF_EXECINSTR)
    }

    /// Whether the addresses in it are there for the program to use, not for what works on its code.
    pub fn has_pointers(&self) -> bool {
        let is_one = |known: &&[u8]| {
            let rest = self.name.strip_prefix(*known);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'.')))
        };
        POINTERS.iter().any(is_one)
    }

    /// Bytes in memory.
    pub fn size(&self) -> u64 {
        if self.kind == elf::SHT_NOBITS { self.empty_size } else { self.data.len() as u64 }
    }

    /// Bytes that relocations may change: linkers apply them to what was compressed. It begins with
    /// how long that is, behind how it is compressed.
    fn relocated_size(&self) -> u64 {
        let is_compressed = self.has(elf::SHF_COMPRESSED) && !self.has(elf::SHF_ALLOC);
        match self.data.get(8..16).and_then(|size| size.try_into().ok()) {
            Some(size) if is_compressed => u64::from_le_bytes(size),
            _ => self.size(),
        }
    }
}

/// A symbol.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Its name.
    pub name: Vec<u8>,
    /// Binding and type.
    pub info: u8,
    /// Visibility.
    pub other: u8,
    /// Section in which it is defined, or what `SHN_...` says.
    pub section: u16,
    /// Offset in its section.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

impl Symbol {
    /// `STT_...`.
    pub fn kind(&self) -> u8 {
        self.info & 15
    }

    /// `STB_...`.
    pub fn binding(&self) -> u8 {
        self.info >> 4
    }

    /// The section that it is defined in.
    pub fn defined_in(&self) -> Option<usize> {
        (self.section != UNDEFINED && self.section < RESERVED).then_some(self.section.into())
    }

    /// What begins there, if it is a mapping symbol.
    pub fn mapped(&self, isa: Isa) -> Option<Mapped> {
        isa.mapped(&self.name).filter(|_| self.kind() == elf::STT_NOTYPE)
    }

    /// Whether objects other than its own see it.
    fn is_local(&self) -> bool {
        self.binding() == elf::STB_LOCAL
    }
}

/// A relocation: what the linker is to write where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Where, in the section that it is for.
    pub offset: u64,
    /// Number of the symbol.
    pub symbol: u32,
    /// `R_X86_64_...` or `R_AARCH64_...`.
    pub kind: u32,
    /// Added to the symbol's value.
    pub addend: i64,
}

impl Relocation {
    /// The same for a copy of the instruction elsewhere in the section. What kinds in `anchored` hold is
    /// the distance from a label that stays.
    pub fn moved_to(self, offset: u64, anchored: &[u32]) -> Self {
        let by = if anchored.contains(&self.kind) { offset.wrapping_sub(self.offset) } else { 0 };
        Self { offset, addend: self.addend.wrapping_add(by.cast_signed()), ..self }
    }
}

/// An object file.
#[derive(Debug, Clone)]
pub struct Object {
    header: Header,
    isa: Isa,
    /// All sections; the first is empty.
    pub sections: Vec<Section>,
    /// All symbols; the first is empty, and local ones come before others.
    pub symbols: Vec<Symbol>,
    /// Relocations of each section, in order of their offsets.
    pub relocations: Vec<Vec<Relocation>>,
    /// Section that holds the relocations of each section, where there is one.
    pub relocated_by: Vec<Option<usize>>,
    symbol_table: usize,
    /// The group of each section that is in one.
    groups: HashMap<usize, usize>,
    /// By section and offset: whether data begins there, or code does, where symbols say so.
    mapping: HashMap<usize, BTreeMap<u64, bool>>,
    size: usize,
}

impl Object {
    /// An error about this object.
    pub(crate) fn damaged(&self, what: &'static str) -> ProbeError {
        ProbeError::Damaged { what, size: self.size }
    }

    /// Adds a section behind all others; gives its number.
    pub fn add_section(&mut self, section: Section) -> usize {
        self.sections.push(section);
        self.relocations.push(Vec::new());
        self.relocated_by.push(None);
        self.sections.len() - 1
    }

    /// Adds a symbol; gives the number by which relocations refer to it until the object is written.
    pub fn add_symbol(&mut self, symbol: Symbol) -> u32 {
        self.symbols.push(symbol);
        (self.symbols.len() - 1) as u32
    }

    /// The number of the group that a section is in.
    pub fn group_of(&self, section: usize) -> Option<usize> {
        self.groups.get(&section).copied()
    }

    /// The relocation at exactly this place.
    pub fn relocation_at(&self, section: usize, offset: u64) -> Option<&Relocation> {
        let all = &self.relocations[section];
        let index = all.partition_point(|relocation| relocation.offset < offset);
        all.get(index).filter(|relocation| relocation.offset == offset)
    }

    /// Where in this object a relocation's symbol and addend lead.
    pub fn target(&self, relocation: &Relocation) -> Option<(usize, i64)> {
        let symbol = self.symbols.get(relocation.symbol as usize)?;
        let section = symbol.defined_in().filter(|&section| section < self.sections.len())?;
        Some((section, (symbol.value as i64).wrapping_add(relocation.addend)))
    }

    /// Whether the mapping symbols of AArch64 say that there is data among the code.
    pub fn is_data(&self, section: usize, offset: u64) -> bool {
        self.mapping.get(&section).is_some_and(|marks| {
            marks.range(..=offset).next_back().is_some_and(|(_, &is_data)| is_data)
        })
    }

    /// Whether a compiler wrote it: compilers leave their names in objects, assemblers do not.
    pub fn is_compiled(&self) -> bool {
        self.names_one_of(&[b"GCC: (", b"clang version", RUSTC])
    }

    /// Whether rustc wrote it.
    pub fn is_of_rust(&self) -> bool {
        self.names_one_of(&[RUSTC])
    }

    /// Whether it says that it is by one of these compilers.
    fn names_one_of(&self, known: &[&[u8]]) -> bool {
        self.sections.iter().filter(|section| section.name == b".comment").any(|section| {
            known.iter().any(|name| section.data.windows(name.len()).any(|window| window == *name))
        })
    }

    /// The instruction set of its code.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Makes a section a member of a group.
    pub fn add_to_group(&mut self, group: usize, section: usize) {
        self.sections[section].flags |= u64::from(elf::SHF_GROUP);
        self.sections[group].data.extend((section as u32).to_le_bytes());
        self.groups.insert(section, group);
    }
}
