//! An object's bytes, from its tables.

use std::collections::HashMap;

use object::{elf, pod};

use super::{ENDIAN, Header, Object, RESERVED, Section};
use crate::error::ProbeError;

/// Kind of the sections in which LLVM lists symbols by number.
const SHT_LLVM_ADDRSIG: u32 = 0x6fff_4c03;

impl Object {
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
