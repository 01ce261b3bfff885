//! The compile units of a linked program: which source file each piece of code was compiled from, as the
//! debug information says.

use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::elf;
use object::read::elf::{FileHeader, SectionHeader};
use thiserror::Error;

use crate::ranges::Range;

/// The code that was compiled from one source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileUnit {
    /// The source, as the compiler was given it: often relative to `folder`.
    pub source: String,
    /// The folder that the compiler ran in.
    pub folder: Option<String>,
    /// Its code.
    pub ranges: Vec<Range>,
}

/// Why there are no compile units.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UnitsError {
    /// It is no linked program of 64 bits.
    #[error("this is no ELF file of 64 bits: {0}")]
    Elf(#[from] object::Error),
    /// The debug information is not there.
    #[error("it has no debug information; expected it to be built with -g1 and not stripped")]
    Missing,
    /// Compressed sections are not read.
    #[error(
        "its section {0} is compressed; expected it to be linked without --compress-debug-sections"
    )]
    Compressed(&'static str),
    /// More ranges than a file of this size has: its units share them.
    #[error("its debug information lists more ranges of code than its {0} bytes can hold")]
    TooMany(usize),
    /// The debug information is not what its headers say.
    #[error("its debug information cannot be read: {0}")]
    Damaged(#[from] gimli::Error),
}

/// The compile units of a linked 64-bit little-endian ELF file that have code, in the order of its debug
/// information. Names of bytes that are no UTF-8 have U+FFFD in their place.
///
/// # Errors
/// Whatever [`UnitsError`] lists. Never panics, whatever the bytes are.
pub fn compile_units(data: &[u8]) -> Result<Vec<CompileUnit>, UnitsError> {
    let header = elf::FileHeader64::<object::LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let load = |id: SectionId| -> Result<EndianSlice<'_, LittleEndian>, UnitsError> {
        let bytes = match sections.section_by_name(endian, id.name().as_bytes()) {
            None => &[],
            Some((_, section)) => {
                if section.sh_flags(endian) & u64::from(elf::SHF_COMPRESSED) != 0 {
                    return Err(UnitsError::Compressed(id.name()));
                }
                section.data(endian, data)?
            }
        };
        Ok(EndianSlice::new(bytes, LittleEndian))
    };
    let dwarf = Dwarf::load(load)?;
    let mut headers = dwarf.units();
    let mut found = Vec::new();
    let (mut has_units, mut listed) = (false, 0);
    while let Some(header) = headers.next()? {
        has_units = true;
        let unit = dwarf.unit(header)?;
        let Some(name) = unit.name else { continue };
        let mut ranges = Vec::new();
        let mut all = dwarf.unit_ranges(&unit)?;
        while let Some(range) = all.next()? {
            listed += 1;
            if listed > data.len() {
                return Err(UnitsError::TooMany(data.len()));
            }
            // What the linker left out lies at address 0.
            if range.begin != 0 && range.begin < range.end {
                ranges.push(Range { start: range.begin, end: range.end });
            }
        }
        if !ranges.is_empty() {
            let folder = unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned());
            let source = name.to_string_lossy().into_owned();
            found.push(CompileUnit { source, folder, ranges });
        }
    }
    if has_units { Ok(found) } else { Err(UnitsError::Missing) }
}
