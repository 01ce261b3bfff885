//! The functions of an object file that is not linked yet.

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, Sym};

/// A function of an object file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectFunction<'data> {
    /// One of its names.
    pub name: &'data str,
    /// Length in bytes.
    pub size: u64,
    /// Index of the section that holds it.
    pub section: usize,
    /// Offset in that section.
    pub offset: u64,
}

/// The functions (`STT_FUNC`) of a 64-bit little-endian relocatable object, each name once, in the
/// order of its symbol table; `None` where it is no such object.
pub fn functions(data: &[u8]) -> Option<Vec<ObjectFunction<'_>>> {
    let header = FileHeader64::<LittleEndian>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if header.e_type(endian) != elf::ET_REL {
        return None;
    }
    let sections = header.sections(endian, data).ok()?;
    let table = sections.symbols(endian, data, elf::SHT_SYMTAB).ok()?;
    let functions = table
        .enumerate()
        .filter(|(_, symbol)| symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(endian))
        .filter_map(|(index, symbol)| {
            let name = symbol.name(endian, table.strings()).ok()?;
            Some(ObjectFunction {
                name: std::str::from_utf8(name).ok()?,
                size: symbol.st_size(endian),
                section: table.symbol_section(endian, symbol, index).ok()??.0,
                offset: symbol.st_value(endian),
            })
        });
    Some(functions.collect())
}
