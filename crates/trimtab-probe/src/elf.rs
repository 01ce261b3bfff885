//! A relocatable ELF object as tables that can be changed, and its bytes again.
//!
//! Sections keep their numbers: what is new goes to the end. So nothing that refers to a section by
//! number (groups, links, symbols) has to be understood to stay right.

use std::collections::{BTreeMap, HashMap};

use object::elf;
use object::read::elf::{FileHeader, Rela as _, SectionHeader, Sym as _};
use object::{LittleEndian, pod};

use crate::ProbeError;

type Header = elf::FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// The section of an undefined symbol.
pub const UNDEFINED: u16 = elf::SHN_UNDEF;
/// Kind of the sections in which LLVM lists symbols by number.
const SHT_LLVM_ADDRSIG: u32 = 0x6fff_4c03;
/// Kind of the sections that hold LLVM's code for link-time optimisation.
const SHT_LLVM_LTO: u32 = 0x6fff_4c0c;
/// From here on section numbers have other meanings.
const RESERVED: u16 = elf::SHN_LORESERVE;

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

    /// Whether it is one of AArch64's mapping symbols.
    pub fn is_mapping(&self) -> bool {
        let known = self.name.starts_with(b"$x") || self.name.starts_with(b"$d");
        known && self.kind() == elf::STT_NOTYPE && matches!(self.name.get(2), None | Some(b'.'))
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

/// An object file.
#[derive(Debug, Clone)]
pub struct Object {
    header: Header,
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
    /// By section and offset: whether data begins there, or code does.
    mapping: HashMap<usize, BTreeMap<u64, bool>>,
    size: usize,
}

impl Object {
    /// Reads an x86-64 or AArch64 object.
    ///
    /// # Errors
    /// Whatever [`ProbeError`] lists. Never panics, whatever the bytes are.
    pub fn parse(data: &[u8]) -> Result<Self, ProbeError> {
        let header = *check_header(data)?;
        let damaged = |what| ProbeError::Damaged { what, size: data.len() };
        let table = header.sections(ENDIAN, data).map_err(|_| damaged("the section table"))?;
        if table.len() >= usize::from(RESERVED) - 64 {
            return Err(ProbeError::TooManySections { found: table.len() });
        }
        let mut sections = Vec::with_capacity(table.len());
        // Sections may overlap in a hostile file; an honest one holds each byte once.
        let mut budget = data.len() as u64;
        for section in table.iter() {
            let name =
                table.section_name(ENDIAN, section).map_err(|_| damaged("a section's name"))?;
            let bytes = section.data(ENDIAN, data).map_err(|_| damaged("a section"))?;
            budget = budget.checked_sub(bytes.len() as u64).ok_or(damaged("a section"))?;
            let alignment = section.sh_addralign(ENDIAN);
            if alignment > 1 << 20 || (alignment != 0 && !alignment.is_power_of_two()) {
                return Err(damaged("the alignment of a section"));
            }
            sections.push(Section {
                name: name.to_vec(),
                kind: section.sh_type(ENDIAN),
                flags: section.sh_flags(ENDIAN),
                link: section.sh_link(ENDIAN),
                info: section.sh_info(ENDIAN),
                alignment,
                entry: section.sh_entsize(ENDIAN),
                data: bytes.to_vec(),
                empty_size: section.sh_size(ENDIAN),
                name_offset: section.sh_name(ENDIAN),
                address: section.sh_addr(ENDIAN),
                offset: section.sh_offset(ENDIAN),
            });
        }
        let strings =
            header.shstrndx(ENDIAN, data).map_err(|_| damaged("the names of sections"))?;
        if sections.get(strings as usize).is_none_or(|section| section.kind != elf::SHT_STRTAB) {
            return Err(damaged("the names of sections"));
        }
        if sections.iter().any(|section| section.kind == elf::SHT_SYMTAB_SHNDX) {
            return Err(ProbeError::TooManySections { found: sections.len() });
        }
        check_contents(&sections)?;
        let symbol_table = sections
            .iter()
            .position(|section| section.kind == elf::SHT_SYMTAB)
            .ok_or(ProbeError::Stripped)?;
        let symbols = read_symbols(&sections, symbol_table).ok_or(damaged("the symbol table"))?;
        let locals = sections[symbol_table].info as usize;
        if symbols.is_empty()
            || locals > symbols.len()
            || symbols[locals..].iter().any(Symbol::is_local)
            || !symbols[..locals].iter().all(Symbol::is_local)
        {
            return Err(damaged("the symbol table"));
        }
        let has_slim_mark = |symbol: &Symbol| symbol.name.starts_with(b"__gnu_lto_slim");
        if symbols.iter().any(has_slim_mark) {
            return Err(ProbeError::Bitcode { found: "GCC" });
        }
        let mut relocations = vec![Vec::new(); sections.len()];
        let mut relocated_by = vec![None; sections.len()];
        for (index, section) in sections.iter().enumerate() {
            if section.kind == elf::SHT_REL {
                return Err(damaged("a relocation without addend"));
            }
            if section.kind != elf::SHT_RELA {
                continue;
            }
            let target = section.info as usize;
            let valid = section.link as usize == symbol_table
                && relocated_by.get(target).is_some_and(Option::is_none);
            if !valid {
                return Err(damaged("a relocation table"));
            }
            let read =
                read_relocations(&section.data, symbols.len(), sections[target].relocated_size());
            relocations[target] = read.ok_or(damaged("a relocation"))?;
            relocated_by[target] = Some(index);
        }
        let object = Self {
            header,
            groups: groups(&sections),
            mapping: mapping(header.e_machine(ENDIAN), &symbols),
            sections,
            symbols,
            relocations,
            relocated_by,
            symbol_table,
            size: data.len(),
        };
        Ok(object)
    }

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
        let known: [&[u8]; 3] = [b"GCC: (", b"clang version", b"rustc version"];
        self.sections.iter().filter(|section| section.name == b".comment").any(|section| {
            known.iter().any(|name| section.data.windows(name.len()).any(|window| window == *name))
        })
    }

    /// `EM_...`.
    pub fn machine(&self) -> u16 {
        self.header.e_machine(ENDIAN)
    }

    /// The bytes of the object as it is now.
    ///
    /// # Errors
    /// [`ProbeError::TooManySections`].
    pub fn write(mut self) -> Result<Vec<u8>, ProbeError> {
        for target in 0..self.relocations.len() {
            if !self.relocations[target].is_empty() && self.relocated_by[target].is_none() {
                self.add_relocation_table(target);
            }
        }
        let places = self.sort_symbols();
        for target in 0..self.relocations.len() {
            let Some(table) = self.relocated_by[target] else { continue };
            let mut data = Vec::with_capacity(self.relocations[target].len() * 24);
            for relocation in &self.relocations[target] {
                let symbol = places[relocation.symbol as usize];
                let info = u64::from(symbol) << 32 | u64::from(relocation.kind);
                data.extend(relocation.offset.to_le_bytes());
                data.extend(info.to_le_bytes());
                data.extend(relocation.addend.to_le_bytes());
            }
            self.sections[table].data = data;
        }
        for section in &mut self.sections {
            match section.kind {
                // The signature of a group is a symbol.
                elf::SHT_GROUP => {
                    section.info = places.get(section.info as usize).copied().unwrap_or(0);
                }
                // Numbers of symbols, which are others now. Linkers take a table that is linked to
                // nothing for stale, and do without.
                SHT_LLVM_ADDRSIG => section.link = 0,
                _ => {}
            }
        }
        self.write_symbols();
        self.layout()
    }

    /// Makes the table that holds the relocations of a section.
    fn add_relocation_table(&mut self, target: usize) {
        let mut name = b".rela".to_vec();
        name.extend(&self.sections[target].name);
        let mut section = Section::new("", elf::SHT_RELA, elf::SHF_INFO_LINK, 8);
        section.name = name;
        section.link = self.symbol_table as u32;
        section.info = target as u32;
        section.entry = 24;
        let group = self.group_of(target);
        let index = self.add_section(section);
        self.relocated_by[target] = Some(index);
        if let Some(group) = group {
            self.add_to_group(group, index);
        }
    }

    /// Makes a section a member of a group.
    pub fn add_to_group(&mut self, group: usize, section: usize) {
        self.sections[section].flags |= u64::from(elf::SHF_GROUP);
        self.sections[group].data.extend((section as u32).to_le_bytes());
        self.groups.insert(section, group);
    }

    /// Puts local symbols in front of the others; gives the new number of each.
    fn sort_symbols(&mut self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.symbols.len()).collect();
        order.sort_by_key(|&index| !self.symbols[index].is_local());
        let mut places = vec![0; order.len()];
        for (place, &index) in order.iter().enumerate() {
            places[index] = place as u32;
        }
        let locals = self.symbols.iter().filter(|symbol| symbol.is_local()).count();
        self.sections[self.symbol_table].info = locals as u32;
        self.symbols = order.iter().map(|&index| self.symbols[index].clone()).collect();
        places
    }

    /// Writes the symbol table. Names are written anew, each once.
    fn write_symbols(&mut self) {
        let strings = self.sections[self.symbol_table].link as usize;
        let mut names = Strings::over(std::mem::take(&mut self.sections[strings].data));
        let mut data = Vec::with_capacity(self.symbols.len() * 24);
        for symbol in &self.symbols {
            data.extend(names.add(&symbol.name).to_le_bytes());
            data.extend([symbol.info, symbol.other]);
            data.extend(symbol.section.to_le_bytes());
            data.extend(symbol.value.to_le_bytes());
            data.extend(symbol.size.to_le_bytes());
        }
        self.sections[strings].data = names.data;
        self.sections[self.symbol_table].data = data;
    }

    /// Gives each section its place in the file, and writes it.
    fn layout(mut self) -> Result<Vec<u8>, ProbeError> {
        let count = self.sections.len();
        if count >= usize::from(RESERVED) {
            return Err(ProbeError::TooManySections { found: count });
        }
        let strings = usize::from(self.header.e_shstrndx.get(ENDIAN));
        let mut names = Strings::over(std::mem::take(&mut self.sections[strings].data));
        for section in &mut self.sections {
            if !names.has(section.name_offset, &section.name) {
                section.name_offset = names.add(&section.name);
            }
        }
        self.sections[strings].data = names.data;

        let mut order: Vec<usize> = (1..count).collect();
        order.sort_by_key(|&index| (self.sections[index].offset, index));
        let header_size = size_of::<Header>();
        let mut bytes = vec![0; header_size];
        let mut offsets = vec![0u64; count];
        for index in order {
            let section = &self.sections[index];
            let alignment = section.alignment.max(1) as usize;
            if section.kind != elf::SHT_NOBITS && section.kind != elf::SHT_NULL {
                bytes.resize(bytes.len().next_multiple_of(alignment), 0);
            }
            offsets[index] = bytes.len() as u64;
            bytes.extend(&section.data);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        self.header.e_shoff.set(ENDIAN, bytes.len() as u64);
        self.header.e_shnum.set(ENDIAN, count as u16);
        bytes[..header_size].copy_from_slice(pod::bytes_of(&self.header));
        for (section, offset) in self.sections.iter().zip(offsets) {
            bytes.extend(section.name_offset.to_le_bytes());
            bytes.extend(section.kind.to_le_bytes());
            bytes.extend(section.flags.to_le_bytes());
            bytes.extend(section.address.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            bytes.extend(section.size().to_le_bytes());
            bytes.extend(section.link.to_le_bytes());
            bytes.extend(section.info.to_le_bytes());
            bytes.extend(section.alignment.to_le_bytes());
            bytes.extend(section.entry.to_le_bytes());
        }
        Ok(bytes)
    }
}

/// A string table that grows.
struct Strings {
    data: Vec<u8>,
    /// Where each name that was asked for is.
    known: HashMap<Vec<u8>, u32>,
}

impl Strings {
    /// Keeps what is there: other sections may use it, too.
    fn over(mut data: Vec<u8>) -> Self {
        if data.last() != Some(&0) {
            data.push(0);
        }
        let mut known = HashMap::new();
        let mut start = 0;
        for name in data.split(|&byte| byte == 0) {
            known.entry(name.to_vec()).or_insert(start);
            start += name.len() as u32 + 1;
        }
        Self { data, known }
    }

    /// Whether this name begins there.
    fn has(&self, offset: u32, name: &[u8]) -> bool {
        let rest = self.data.get(offset as usize..).unwrap_or_default();
        rest.starts_with(name) && rest.get(name.len()) == Some(&0)
    }

    fn add(&mut self, name: &[u8]) -> u32 {
        if let Some(&offset) = self.known.get(name) {
            return offset;
        }
        let offset = self.data.len() as u32;
        self.data.extend(name);
        self.data.push(0);
        self.known.insert(name.to_vec(), offset);
        offset
    }
}

fn check_header(data: &[u8]) -> Result<&Header, ProbeError> {
    let start = data.get(..4.min(data.len())).unwrap_or_default();
    if start == b"BC\xc0\xde" || start == [0xde, 0xc0, 0x17, 0x0b] {
        return Err(ProbeError::Bitcode { found: "LLVM" });
    }
    if start != elf::ELFMAG {
        let found: Vec<String> = start.iter().map(|byte| format!("{byte:02x}")).collect();
        let found = if found.is_empty() { "nothing at all".to_owned() } else { found.join(" ") };
        return Err(ProbeError::NotElf { found });
    }
    let damaged = ProbeError::Damaged { what: "the ELF header", size: data.len() };
    match data.get(4..6) {
        Some([elf::ELFCLASS64, elf::ELFDATA2LSB]) => {}
        Some([elf::ELFCLASS32, _]) => {
            return Err(ProbeError::Format { found: "a 32-bit ELF file" });
        }
        Some([_, elf::ELFDATA2MSB]) => {
            return Err(ProbeError::Format { found: "a big-endian ELF file" });
        }
        _ => return Err(damaged),
    }
    let Ok(header) = Header::parse(data) else { return Err(damaged) };
    if !matches!(header.e_machine(ENDIAN), elf::EM_X86_64 | elf::EM_AARCH64) {
        return Err(ProbeError::Machine { found: header.e_machine(ENDIAN) });
    }
    if header.e_type(ENDIAN) != elf::ET_REL {
        return Err(ProbeError::NotRelocatable { found: header.e_type(ENDIAN) });
    }
    if header.e_ehsize(ENDIAN) as usize != size_of::<Header>() {
        return Err(damaged);
    }
    Ok(header)
}

/// Refuses what is no compiler's output.
fn check_contents(sections: &[Section]) -> Result<(), ProbeError> {
    let named = |name: &[u8]| sections.iter().any(|section| section.name == name);
    if named(crate::layout::FUNCTIONS.as_bytes()) {
        return Err(ProbeError::Already);
    }
    let llvm = |section: &Section| section.kind == SHT_LLVM_LTO || section.name == b".llvm.lto";
    if sections.iter().any(llvm) && !sections.iter().any(|s| s.is_text() && !s.data.is_empty()) {
        return Err(ProbeError::Bitcode { found: "LLVM" });
    }
    Ok(())
}

/// The group of each section that is in one.
fn groups(sections: &[Section]) -> HashMap<usize, usize> {
    let mut groups = HashMap::new();
    for (number, group) in sections.iter().enumerate() {
        if group.kind == elf::SHT_GROUP {
            for member in group.data.as_chunks::<4>().0.iter().skip(1) {
                groups.insert(u32::from_le_bytes(*member) as usize, number);
            }
        }
    }
    groups
}

/// Where code and data begin, by the mapping symbols that AArch64 has for it: "ELF for the Arm 64-bit
/// Architecture", section "Mapping symbols".
fn mapping(machine: u16, symbols: &[Symbol]) -> HashMap<usize, BTreeMap<u64, bool>> {
    let mut marks: HashMap<usize, BTreeMap<u64, bool>> = HashMap::new();
    if machine != elf::EM_AARCH64 {
        return marks;
    }
    for symbol in symbols.iter().filter(|symbol| symbol.is_mapping()) {
        if let Some(section) = symbol.defined_in() {
            let is_data = symbol.name.starts_with(b"$d");
            marks.entry(section).or_default().insert(symbol.value, is_data);
        }
    }
    marks
}

fn read_symbols(sections: &[Section], table: usize) -> Option<Vec<Symbol>> {
    let strings = sections.get(sections[table].link as usize)?;
    if strings.kind != elf::SHT_STRTAB {
        return None;
    }
    let symbols =
        pod::slice_from_all_bytes::<elf::Sym64<LittleEndian>>(&sections[table].data).ok()?;
    let read = |symbol: &elf::Sym64<LittleEndian>| {
        let name = strings.data.get(symbol.st_name(ENDIAN) as usize..)?;
        let length = name.iter().position(|&byte| byte == 0)?;
        let section = symbol.st_shndx(ENDIAN);
        if section == elf::SHN_XINDEX
            || (section < RESERVED && usize::from(section) >= sections.len())
        {
            return None;
        }
        Some(Symbol {
            name: name[..length].to_vec(),
            info: symbol.st_info(),
            other: symbol.st_other(),
            section,
            value: symbol.st_value(ENDIAN),
            size: symbol.st_size(ENDIAN),
        })
    };
    symbols.iter().map(read).collect()
}

fn read_relocations(data: &[u8], symbols: usize, size: u64) -> Option<Vec<Relocation>> {
    let table = pod::slice_from_all_bytes::<elf::Rela64<LittleEndian>>(data).ok()?;
    let mut relocations = Vec::with_capacity(table.len());
    for relocation in table {
        let read = Relocation {
            offset: relocation.r_offset(ENDIAN),
            symbol: relocation.r_sym(ENDIAN, false),
            kind: relocation.r_type(ENDIAN, false),
            addend: relocation.r_addend(ENDIAN),
        };
        if read.symbol as usize >= symbols || read.offset > size {
            return None;
        }
        relocations.push(read);
    }
    relocations.sort_by_key(|relocation| relocation.offset);
    Some(relocations)
}
