//! Where control goes on when an exception leaves a call: the tables that C++ compilers write.
//!
//! `.eh_frame` (Linux Standard Base, "Exception Frames") has an entry for each function; those of functions that catch, or clean
//! up, name the language's personality routine and the function's own table. That table has no standard; this is the one of
//! GCC and Clang, as `libstdc++` reads it: regions of code, and for each the landing pad where control goes on.

use crate::error::JarError;
use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, Pointer, Reader, UnwindSection,
};

/// The bytes of an ELF file as they lie in memory from an address to the end of a segment.
pub(crate) type BytesAt<'a, 'data> = &'a dyn Fn(u32) -> Option<&'data [u8]>;

type Input<'data> = EndianSlice<'data, LittleEndian>;

/// Calls from which exceptions lead to one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// The first address.
    pub(crate) start: u32,
    /// The address behind the last.
    pub(crate) end: u32,
    /// Where control goes on; none where the function lets exceptions pass.
    pub(crate) pad: Option<u32>,
}

/// A function that looks at exceptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Catcher {
    /// Its first address.
    pub(crate) start: u32,
    /// The address behind its last.
    pub(crate) end: u32,
    /// The language's personality routine.
    pub(crate) personality: u32,
    /// Its own table.
    pub(crate) table: u32,
    /// By ascending address. A call in none of them ends the program by `std::terminate`.
    pub(crate) regions: Vec<Region>,
    /// It catches exceptions of some type, as only C++ does.
    pub(crate) types: bool,
}

/// What there is of tables.
#[derive(Debug, Default)]
pub(crate) struct UnwindTables {
    /// Functions with entries, ascending.
    pub(crate) starts: Vec<u32>,
    /// Those of them that look at exceptions, ascending.
    pub(crate) catchers: Vec<Catcher>,
}

impl UnwindTables {
    /// Reads the section at `address`. `most` is how many regions a file of this size can have: more come of tables that lie
    /// on top of each other.
    pub(crate) fn read<'data>(
        section: &'data [u8],
        address: u32,
        most: usize,
        at: BytesAt<'_, 'data>,
    ) -> Result<UnwindTables, JarError> {
        let error = || JarError::Damaged {
            what: "its tables of call frames, in the section .eh_frame".to_owned(),
        };
        let damaged = |_: gimli::Error| error();
        let mut left = most;
        let mut frames = EhFrame::new(section, LittleEndian);
        frames.set_address_size(4);
        let bases = BaseAddresses::default().set_eh_frame(u64::from(address));
        let mut entries = frames.entries(&bases);
        let mut tables = UnwindTables::default();
        while let Some(entry) = entries.next().map_err(damaged)? {
            let CieOrFde::Fde(partial) = entry else { continue };
            let entry = partial.parse(EhFrame::cie_from_offset).map_err(damaged)?;
            let start = entry.initial_address() as u32;
            let end = start.saturating_add(u32::try_from(entry.len()).unwrap_or(u32::MAX));
            tables.starts.push(start);
            let (Some(table), Some(personality)) = (entry.lsda(), entry.personality()) else {
                continue;
            };
            let (Some(table), Some(personality)) = (value(table, at), value(personality, at))
            else {
                continue;
            };
            let Some(bytes) = at(table) else { continue };
            let input = EndianSlice::new(bytes, LittleEndian);
            let (regions, types) = regions(input, start, left).map_err(damaged)?;
            if regions.windows(2).any(|pair| pair[0].end > pair[1].start) {
                return Err(error());
            }
            left -= regions.len();
            tables.catchers.push(Catcher { start, end, personality, table, regions, types });
        }
        tables.starts.sort_unstable();
        tables.starts.dedup();
        tables.catchers.sort_by_key(|catcher| catcher.start);
        tables.catchers.dedup_by_key(|catcher| catcher.start);
        Ok(tables)
    }

    /// The regions of a function, or of a part of one; none where it does not look at exceptions.
    pub(crate) fn regions(&self, start: u32, end: u32) -> Option<Vec<Region>> {
        let behind = self.catchers.partition_point(|catcher| catcher.start <= start);
        let catcher = self.catchers[..behind].last().filter(|catcher| start < catcher.end)?;
        let regions = &catcher.regions;
        let from = regions.partition_point(|region| region.end <= start);
        let to = regions.partition_point(|region| region.start < end);
        Some(regions.get(from..to).unwrap_or_default().to_vec())
    }
}

/// An address, or what is at one.
fn value(pointer: Pointer, at: BytesAt<'_, '_>) -> Option<u32> {
    match pointer {
        Pointer::Direct(to) => Some(to as u32),
        Pointer::Indirect(place) => {
            Some(u32::from_le_bytes(at(place as u32)?.get(..4)?.try_into().ok()?))
        }
    }
    .filter(|to| *to != 0)
}

/// The regions of a function's table, `most` at most, and whether it has types.
fn regions(mut input: Input<'_>, start: u32, most: usize) -> gimli::Result<(Vec<Region>, bool)> {
    const OMITTED: u8 = 0xff;
    let encoding = input.read_u8()?;
    let pads = if encoding == OMITTED { start } else { number(&mut input, encoding)? };
    let types = input.read_u8()? != OMITTED;
    if types {
        // Where the types are: the personality routine looks there.
        input.read_uleb128()?;
    }
    let encoding = input.read_u8()?;
    let length = input.read_uleb128()?;
    let mut rest = input.split(length as usize)?;
    let mut regions = Vec::new();
    while !rest.is_empty() {
        if regions.len() == most {
            return Err(gimli::Error::UnexpectedEof(rest.offset_id()));
        }
        let from = number(&mut rest, encoding)?;
        let length = number(&mut rest, encoding)?;
        let pad = number(&mut rest, encoding)?;
        rest.read_uleb128()?;
        let from = start.wrapping_add(from);
        regions.push(Region {
            start: from,
            end: from.saturating_add(length),
            pad: (pad != 0).then(|| pads.wrapping_add(pad)),
        });
    }
    regions.sort_unstable_by_key(|region| region.start);
    Ok((regions, types))
}

/// A number in one of the encodings `DW_EH_PE_*`.
fn number(input: &mut Input<'_>, encoding: u8) -> gimli::Result<u32> {
    Ok(match encoding & 0x0f {
        0x00 | 0x03 | 0x0b => input.read_u32()?,
        0x01 => input.read_uleb128()? as u32,
        0x02 => u32::from(input.read_u16()?),
        0x09 => input.read_sleb128()? as u32,
        0x0a => i32::from(input.read_u16()?.cast_signed()).cast_unsigned(),
        _ => return Err(gimli::Error::UnknownPointerEncoding(gimli::DwEhPe(encoding))),
    })
}

/// The functions of the unwinder's that the run time has: by their names, its methods. Others of them work on frames in memory,
/// which translated functions do not have.
pub(crate) const UNWINDER: [(&str, &str); 14] = [
    ("_Unwind_RaiseException", "raise"),
    ("_Unwind_ForcedUnwind", "force"),
    ("_Unwind_Resume", "resume"),
    ("_Unwind_Resume_or_Rethrow", "resume"),
    ("_Unwind_GetCFA", "frame"),
    ("_Unwind_GetGR", "register"),
    ("_Unwind_SetGR", "setRegister"),
    ("_Unwind_GetIP", "address"),
    ("_Unwind_GetIPInfo", "addressInfo"),
    ("_Unwind_SetIP", "setAddress"),
    ("_Unwind_GetLanguageSpecificData", "table"),
    ("_Unwind_GetRegionStart", "start"),
    // Addresses in tables are relative to nothing in programs that no loader moves.
    ("_Unwind_GetTextRelBase", "zero"),
    ("_Unwind_GetDataRelBase", "zero"),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn regions_are_read_in_any_encoding() {
        let region = |start, end, pad| Region { start, end, pad };
        let expected = [region(0x1010, 0x1018, Some(0x1040)), region(0x1020, 0x10a0, None)];
        let types = false;
        let table =
            [0xff, 0xff, 0x01, 0x09, 0x10, 0x08, 0x40, 0x01, 0x20, 0x80, 0x01, 0x00, 0x00, 99];
        assert_eq!(
            regions(EndianSlice::new(&table, LittleEndian), 0x1000, 2).unwrap(),
            (expected.to_vec(), types)
        );
        let types = true;
        // Types, landing pads from elsewhere on, fixed widths.
        let mut table = vec![0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x20, 0x03, 26];
        for (from, length, pad) in [(0x20_u32, 0x80_u32, 0_u32), (0x10, 8, 0x840)] {
            for number in [from, length, pad] {
                table.extend(number.to_le_bytes());
            }
            table.push(0);
        }
        assert_eq!(
            regions(EndianSlice::new(&table, LittleEndian), 0x1000, 2).unwrap(),
            (expected.to_vec(), types)
        );
        for length in 0..table.len() {
            assert!(regions(EndianSlice::new(&table[..length], LittleEndian), 0, 2).is_err());
        }
        assert!(regions(EndianSlice::new(&table, LittleEndian), 0, 1).is_err(), "there are two");
    }
}
