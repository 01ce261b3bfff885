//! An object's tables, from its bytes.

use std::collections::{BTreeMap, HashMap};

use object::elf;
use object::read::elf::{FileHeader, Rela as _, SectionHeader, Sym as _};
use object::{LittleEndian, pod};
use trimtab_program::{Isa, Mapped};

use super::{ENDIAN, Header, Object, RESERVED, Relocation, Section, Symbol};
use crate::error::ProbeError;
use crate::target::Target;

/// Kind of the sections that hold LLVM's code for link-time optimisation.
const SHT_LLVM_LTO: u32 = 0x6fff_4c0c;

impl Object {
    /// Reads an object of one of the [targets](crate::target).
    ///
    /// # Errors
    /// Whatever [`ProbeError`] lists. Never panics, whatever the bytes are.
    pub fn parse(data: &[u8]) -> Result<Self, ProbeError> {
        // Long: each check belongs to what was read just before it.
        let (header, isa) = check_header(data)?;
        let header = *header;
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
            isa,
            groups: groups(&sections),
            mapping: mapping(isa, &symbols),
            sections,
            symbols,
            relocations,
            relocated_by,
            symbol_table,
            size: data.len(),
        };
        Ok(object)
    }
}

fn check_header(data: &[u8]) -> Result<(&Header, Isa), ProbeError> {
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
    let machine = header.e_machine(ENDIAN);
    let Some(target) = Target::of_elf_machine(machine) else {
        return Err(ProbeError::Machine { found: machine, expected: Target::expected() });
    };
    if header.e_type(ENDIAN) != elf::ET_REL {
        return Err(ProbeError::NotRelocatable { found: header.e_type(ENDIAN) });
    }
    if header.e_ehsize(ENDIAN) as usize != size_of::<Header>() {
        return Err(damaged);
    }
    Ok((header, target.isa))
}

/// Refuses what is no compiler's output.
fn check_contents(sections: &[Section]) -> Result<(), ProbeError> {
    let named = |name: &[u8]| sections.iter().any(|section| section.name == name);
    if named(crate::abi::FUNCTIONS.as_bytes()) {
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

/// Where code and data begin, by mapping symbols.
fn mapping(isa: Isa, symbols: &[Symbol]) -> HashMap<usize, BTreeMap<u64, bool>> {
    let mut marks: HashMap<usize, BTreeMap<u64, bool>> = HashMap::new();
    for symbol in symbols {
        if let (Some(mapped), Some(section)) = (symbol.mapped(isa), symbol.defined_in()) {
            marks.entry(section).or_default().insert(symbol.value, mapped == Mapped::Data);
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
