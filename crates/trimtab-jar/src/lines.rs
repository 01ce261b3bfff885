//! Lines of source, from the DWARF that a compiler writes with `-g`.

use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, EndianSlice, LineProgramHeader,
    LittleEndian,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Characters of a file's name that are kept.
const LONGEST: usize = 255;

type Input<'data> = EndianSlice<'data, LittleEndian>;

/// Code from an address on, up to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    address: u32,
    /// Index of the file; none behind the end of what a file's code is.
    file: Option<u32>,
    line: u32,
}

/// Where code comes from.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Names without folders, each once.
    files: Vec<String>,
    /// By ascending address.
    rows: Vec<Row>,
}

impl Lines {
    /// Reads `.debug_line`, and `.debug_line_str`, which may be empty.
    pub(crate) fn read(section: &[u8], strings: &[u8]) -> gimli::Result<Lines> {
        let strings = DebugLineStr::from(EndianSlice::new(strings, LittleEndian));
        let programs = DebugLine::new(section, LittleEndian);
        let mut files: BTreeMap<String, u32> = BTreeMap::new();
        let mut rows = Vec::new();
        let mut offset = 0;
        while offset < section.len() {
            let program = programs.program(DebugLineOffset(offset), 4, None, None)?;
            // The length of a header's own length in DWARF of 32 bits.
            offset += 4 + program.header().unit_length();
            let mut known: FxHashMap<u64, Option<u32>> = FxHashMap::default();
            let mut state = program.rows();
            while let Some((header, row)) = state.next_row()? {
                let mut number = |index| {
                    let name = file_name(header, index, &strings)?;
                    let next = files.len() as u32;
                    Some(*files.entry(name).or_insert(next))
                };
                let file = if row.end_sequence() {
                    None
                } else {
                    let index = row.file_index();
                    *known.entry(index).or_insert_with(|| number(index))
                };
                let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
                rows.push(Row { address: row.address() as u32, file, line });
            }
        }
        // Where code ends and other code begins, the latter counts; of rows at one address, the last.
        rows.sort_by_key(|row| (row.address, row.file.is_some()));
        let mut names = vec![String::new(); files.len()];
        for (name, index) in files {
            names[index as usize] = name;
        }
        Ok(Lines { files: names, rows })
    }

    /// The file and the line of an address.
    pub(crate) fn at(&self, address: u32) -> Option<(u32, u32)> {
        let behind = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows[..behind].last()?;
        Some((row.file?, row.line))
    }

    /// The file of an address.
    pub(crate) fn file(&self, address: u32) -> Option<u32> {
        self.at(address).map(|(file, _)| file)
    }

    /// The name of a file.
    pub(crate) fn name(&self, file: u32) -> Option<&str> {
        self.files.get(file as usize).map(String::as_str)
    }
}

fn file_name(
    header: &LineProgramHeader<Input<'_>>,
    index: u64,
    strings: &DebugLineStr<Input<'_>>,
) -> Option<String> {
    let name = match header.file(index)?.path_name() {
        AttributeValue::String(name) => name,
        AttributeValue::DebugLineStrRef(offset) => strings.get_str(offset).ok()?,
        _ => return None,
    };
    let name = String::from_utf8_lossy(name.slice()).into_owned();
    let name: String = name.rsplit('/').next()?.chars().take(LONGEST).collect();
    Some(name).filter(|name| !name.is_empty())
}
