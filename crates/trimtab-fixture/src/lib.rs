//! Linked ELF files made to measure, for tests, benchmarks and fuzzing. Nothing that users run
//! depends on this crate.

pub mod kernel;
mod random;

pub use random::{Random, mixed};

use object::Endianness;
use object::elf;
use object::write::StringId;
use object::write::elf::{
    FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, SymbolIndex, Writer,
};

/// Bytes in a page, as `trimtab_program::PAGE_SIZE`, on which this crate may not depend: a test there compares.
pub const PAGE_SIZE: u64 = 4096;

/// A symbol to be written.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    name: &'static str,
    address: u64,
    size: u64,
    info: u8,
    /// Position among the sections; `None` makes an absolute symbol.
    section: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Section {
    name: &'static str,
    address: u64,
    size: u64,
    flags: u32,
    /// Whether the file has its bytes; otherwise they are zeros.
    is_in_file: bool,
}

impl Section {
    /// Its bytes in the file.
    fn length(&self) -> usize {
        if self.is_in_file { self.size as usize } else { 0 }
    }
}

/// Describes an ELF file; [`Elf::build`] makes its bytes. x86-64 and `ET_EXEC` to begin with.
#[derive(Debug, Clone)]
pub struct Elf {
    machine: u16,
    kind: u16,
    is_64: bool,
    endian: Endianness,
    entry: u64,
    build_id: Option<Vec<u8>>,
    segments: Vec<(u64, u64, u64)>,
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
    stripped: bool,
    contents: Vec<(u64, Vec<u8>)>,
    loaded: bool,
}

impl Default for Elf {
    fn default() -> Self {
        Self::new()
    }
}

/// Where everything in a file has its place.
struct Places<'a> {
    /// Name, offset and bytes of the note with the build ID.
    note: Option<(StringId, usize, Vec<u8>)>,
    /// In the order of [`Elf::sections`].
    sections: Vec<SectionPlace<'a>>,
    /// Names and symbols; none in a stripped file.
    symbols: Vec<(StringId, &'a Symbol)>,
}

/// Where a section has its place.
struct SectionPlace<'a> {
    name: StringId,
    index: SectionIndex,
    /// In the file.
    offset: usize,
    section: &'a Section,
}

impl Elf {
    /// A file without sections.
    pub fn new() -> Self {
        Elf {
            machine: elf::EM_X86_64,
            kind: elf::ET_EXEC,
            is_64: true,
            endian: Endianness::Little,
            entry: 0,
            build_id: None,
            segments: Vec::new(),
            sections: Vec::new(),
            symbols: Vec::new(),
            stripped: false,
            contents: Vec::new(),
            loaded: false,
        }
    }

    /// Sets `e_machine`.
    pub fn machine(mut self, machine: u16) -> Self {
        self.machine = machine;
        self
    }

    /// Sets `e_type`.
    pub fn kind(mut self, kind: u16) -> Self {
        self.kind = kind;
        self
    }

    /// Makes a 32-bit file.
    pub fn class_32(mut self) -> Self {
        self.is_64 = false;
        self
    }

    /// Makes a big-endian file.
    pub fn big_endian(mut self) -> Self {
        self.endian = Endianness::Big;
        self
    }

    /// Sets `e_entry`.
    pub fn entry(mut self, entry: u64) -> Self {
        self.entry = entry;
        self
    }

    /// Adds a GNU build ID.
    pub fn build_id(mut self, id: &[u8]) -> Self {
        self.build_id = Some(id.to_vec());
        self
    }

    /// Adds a loadable segment of `size` bytes, linked at `address`, loaded at `physical`. In the file
    /// it holds the section that begins at `address`, if there is one.
    pub fn segment(mut self, address: u64, physical: u64, size: u64) -> Self {
        self.segments.push((address, physical, size));
        self
    }

    /// Adds an executable section of `size` bytes at `address`. Symbols added later lie in it.
    pub fn text(self, name: &'static str, address: u64, size: u64) -> Self {
        self.section(name, address, size, elf::SHF_ALLOC | elf::SHF_EXECINSTR)
    }

    /// Adds a section that holds no code. Symbols added later lie in it.
    pub fn data(self, name: &'static str, address: u64, size: u64) -> Self {
        self.section(name, address, size, elf::SHF_ALLOC)
    }

    /// Adds a section of data that is written. Symbols added later lie in it.
    pub fn writable(self, name: &'static str, address: u64, size: u64) -> Self {
        self.section(name, address, size, elf::SHF_ALLOC | elf::SHF_WRITE)
    }

    /// Adds a section of zeros, which the file does not have. Symbols added later lie in it.
    pub fn zeros(self, name: &'static str, address: u64, size: u64) -> Self {
        let mut elf = self.writable(name, address, size);
        elf.sections.iter_mut().rev().take(1).for_each(|section| section.is_in_file = false);
        elf
    }

    fn section(mut self, name: &'static str, address: u64, size: u64, flags: u32) -> Self {
        self.sections.push(Section { name, address, size, flags, is_in_file: true });
        self
    }

    /// Adds a global function.
    pub fn function(self, name: &'static str, address: u64, size: u64) -> Self {
        self.symbol(name, address, size, elf::STT_FUNC, elf::STB_GLOBAL)
    }

    /// Adds a static function.
    pub fn local(self, name: &'static str, address: u64, size: u64) -> Self {
        self.symbol(name, address, size, elf::STT_FUNC, elf::STB_LOCAL)
    }

    /// Adds a label: a global symbol without type and size.
    pub fn label(self, name: &'static str, address: u64) -> Self {
        self.symbol(name, address, 0, elf::STT_NOTYPE, elf::STB_GLOBAL)
    }

    /// Adds a symbol of any type (`STT_*`) and binding (`STB_*`) to the latest section.
    pub fn symbol(
        mut self,
        name: &'static str,
        address: u64,
        size: u64,
        kind: u8,
        binding: u8,
    ) -> Self {
        let section = self.sections.len().checked_sub(1);
        self.symbols.push(Symbol { name, address, size, info: binding << 4 | kind, section });
        self
    }

    /// Puts bytes at an address, in the section that holds it; all other bytes are `nop`.
    pub fn contents(mut self, address: u64, bytes: &[u8]) -> Self {
        self.contents.push((address, bytes.to_vec()));
        self
    }

    /// Makes a loadable segment of each section, so that its bytes are those at its addresses.
    pub fn loaded(mut self) -> Self {
        self.loaded = true;
        self
    }

    /// The bytes of a section.
    fn bytes_of(&self, section: &Section) -> Vec<u8> {
        let mut bytes = vec![0x90; section.length()];
        for (address, contents) in &self.contents {
            let Some(offset) = address.checked_sub(section.address) else { continue };
            let range = offset as usize..(offset as usize).saturating_add(contents.len());
            if let Some(target) = bytes.get_mut(range) {
                target.copy_from_slice(contents);
            }
        }
        bytes
    }

    /// Leaves the symbol table out.
    pub fn stripped(mut self) -> Self {
        self.stripped = true;
        self
    }

    /// The bytes of the file.
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(self.endian, self.is_64, &mut bytes);
        // First everything is given its place, in the order in which it is written then.
        let places = self.reserve(&mut writer);
        self.write_headers(&mut writer, &places);
        self.write_contents(&mut writer, &places);
        self.write_section_headers(&mut writer, &places);
        bytes
    }

    /// How many sections a loadable segment is made of.
    fn loaded_sections(&self) -> usize {
        if self.loaded { self.sections.len() } else { 0 }
    }

    fn reserve<'a>(&'a self, writer: &mut Writer<'a>) -> Places<'a> {
        writer.reserve_file_header();
        let headers = self.segments.len() + self.loaded_sections();
        if headers > 0 {
            writer.reserve_program_headers(headers as u32);
        }
        let note = self.build_id.as_ref().map(|id| {
            let name = writer.add_section_name(b".note.gnu.build-id");
            writer.reserve_section_index();
            let note = self.note(id);
            (name, writer.reserve(note.len(), 4), note)
        });
        let sections: Vec<_> = self
            .sections
            .iter()
            .map(|section| {
                let name = writer.add_section_name(section.name.as_bytes());
                let index = writer.reserve_section_index();
                let offset = writer.reserve(section.length(), 16);
                SectionPlace { name, index, offset, section }
            })
            .collect();
        let mut symbols: Vec<(StringId, &Symbol)> = Vec::new();
        if !self.stripped {
            writer.reserve_null_symbol_index();
            symbols.extend(self.symbols.iter().map(|symbol| {
                let section = symbol.section.map(|section| sections[section].index);
                let _: SymbolIndex = writer.reserve_symbol_index(section);
                (writer.add_string(symbol.name.as_bytes()), symbol)
            }));
            writer.reserve_symtab_section_index();
            writer.reserve_strtab_section_index();
            writer.reserve_symtab();
            writer.reserve_strtab();
        }
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab();
        writer.reserve_section_headers();
        Places { note, sections, symbols }
    }

    fn write_headers(&self, writer: &mut Writer<'_>, places: &Places<'_>) {
        let header = FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: self.kind,
            e_machine: self.machine,
            e_entry: self.entry,
            e_flags: 0,
        };
        // Fails only where no memory is left.
        let _ = writer.write_file_header(&header);
        if self.segments.len() + self.loaded_sections() > 0 {
            writer.write_align_program_headers();
        }
        for SectionPlace { offset, section, .. } in
            places.sections.iter().take(self.loaded_sections())
        {
            writer.write_program_header(&ProgramHeader {
                p_type: elf::PT_LOAD,
                p_flags: elf::PF_R | elf::PF_X,
                p_offset: *offset as u64,
                p_vaddr: section.address,
                p_paddr: section.address,
                p_filesz: section.size,
                p_memsz: section.size,
                p_align: PAGE_SIZE,
            });
        }
        for &(address, physical, size) in &self.segments {
            let held = places.sections.iter().find(|place| place.section.address == address);
            let (offset, length) =
                held.map_or((0, 0), |place| (place.offset as u64, place.section.size));
            writer.write_program_header(&ProgramHeader {
                p_type: elf::PT_LOAD,
                p_flags: elf::PF_R | elf::PF_X,
                p_offset: offset,
                p_vaddr: address,
                p_paddr: physical,
                p_filesz: length.min(size),
                p_memsz: size,
                p_align: PAGE_SIZE,
            });
        }
    }

    fn write_contents(&self, writer: &mut Writer<'_>, places: &Places<'_>) {
        if let Some((_, _, note)) = &places.note {
            writer.write_align(4);
            writer.write(note);
        }
        for place in &places.sections {
            writer.write_align(16);
            writer.write(&self.bytes_of(place.section));
        }
        if !self.stripped {
            writer.write_null_symbol();
            for (name, symbol) in &places.symbols {
                let absolute = symbol.section.is_none();
                writer.write_symbol(&Sym {
                    name: Some(*name),
                    section: symbol.section.map(|section| places.sections[section].index),
                    st_info: symbol.info,
                    st_other: 0,
                    st_shndx: if absolute { elf::SHN_ABS } else { 0 },
                    st_value: symbol.address,
                    st_size: symbol.size,
                });
            }
            writer.write_strtab();
        }
        writer.write_shstrtab();
    }

    fn write_section_headers(&self, writer: &mut Writer<'_>, places: &Places<'_>) {
        writer.write_null_section_header();
        if let Some((name, offset, note)) = &places.note {
            writer.write_section_header(&SectionHeader {
                name: Some(*name),
                sh_type: elf::SHT_NOTE,
                sh_flags: u64::from(elf::SHF_ALLOC),
                sh_addr: 0,
                sh_offset: *offset as u64,
                sh_size: note.len() as u64,
                sh_link: 0,
                sh_info: 0,
                sh_addralign: 4,
                sh_entsize: 0,
            });
        }
        for SectionPlace { name, offset, section, .. } in &places.sections {
            writer.write_section_header(&SectionHeader {
                name: Some(*name),
                sh_type: if section.is_in_file { elf::SHT_PROGBITS } else { elf::SHT_NOBITS },
                sh_flags: u64::from(section.flags),
                sh_addr: section.address,
                sh_offset: *offset as u64,
                sh_size: section.size,
                sh_link: 0,
                sh_info: 0,
                sh_addralign: 16,
                sh_entsize: 0,
            });
        }
        if !self.stripped {
            writer.write_symtab_section_header(1);
            writer.write_strtab_section_header();
        }
        writer.write_shstrtab_section_header();
    }

    fn note(&self, id: &[u8]) -> Vec<u8> {
        let word = |value: u32| match self.endian {
            Endianness::Little => value.to_le_bytes(),
            Endianness::Big => value.to_be_bytes(),
        };
        let mut note = Vec::new();
        note.extend(word(4));
        note.extend(word(id.len() as u32));
        note.extend(word(elf::NT_GNU_BUILD_ID));
        note.extend(b"GNU\0");
        note.extend(id);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }
}

/// A program of `count` functions of 16 to 528 bytes, 16 bytes apart at least, from `base` on, as
/// the bytes of its file. The names are `function_0` and so on.
pub fn many_functions(count: u64, base: u64) -> Vec<u8> {
    let length = |index: u64| 16 + index * 7919 % 513;
    let mut elf = Elf::new().entry(base);
    let mut address = base;
    let mut places = Vec::new();
    for index in 0..count {
        places.push((address, length(index)));
        address += length(index).next_multiple_of(16);
    }
    elf = elf.segment(base, base, address - base).text(".text", base, address - base);
    for (index, (address, size)) in places.into_iter().enumerate() {
        // The names must live as long as the description of the file: a test's whole run.
        let name: &'static str = Box::leak(format!("function_{index}").into_boxed_str());
        elf = elf.function(name, address, size);
    }
    elf.build()
}
