//! Basic blocks as the compiler wrote them down, in `.llvm_bb_addr_map`.

use crate::ranges::Range;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, ReadRef};
use thiserror::Error;

/// Type of the section that clang's `-fbasic-block-address-map` makes.
const SHT_LLVM_BB_ADDR_MAP: u32 = 0x6fff_4c0a;
/// The same before blocks had numbers: LLVM up to 13.
const SHT_LLVM_BB_ADDR_MAP_V0: u32 = 0x6fff_4c08;

/// Why a map of basic blocks cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockMapError {
    /// There is none.
    #[error(
        "the file has no map of its basic blocks, expected a section .llvm_bb_addr_map: \
         compile with clang's -fbasic-block-address-map, and keep the section when linking"
    )]
    Missing,
    /// It is not an ELF file of the right kind.
    #[error("the map of basic blocks cannot be read: this is no 64-bit little-endian ELF file")]
    NotElf,
    /// Made by a compiler that is too old or too new.
    #[error(
        "the map of basic blocks has version {found}, expected 2 to 5 (clang 19 to 23): \
         compile all objects again with one such clang"
    )]
    Version {
        /// The version found.
        found: u8,
    },
    /// Made with options that leave out the blocks.
    #[error(
        "the map of basic blocks of the function at {function:#x} has features {features:#x}, \
         which say that {what}: compile without -pgo-analysis-map and the like"
    )]
    Features {
        /// Address of the function.
        function: u64,
        /// The feature bits found.
        features: u16,
        /// What the features mean.
        what: &'static str,
    },
    /// It ends within an entry, or a number is too large.
    #[error(
        "the map of basic blocks is truncated or damaged at byte {offset} of its {size}: \
         build the file again"
    )]
    Damaged {
        /// Where in the section.
        offset: usize,
        /// The section's length in bytes.
        size: usize,
    },
}

/// A basic block by the compiler's number, by which the compiler can place it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The number by which the compiler knows it within its function. The entry block has 0.
    pub id: u32,
    /// Where it lies in memory. Padding is not part of it.
    pub range: Range,
    /// Whether control can run on from its end into the next block in memory.
    pub falls_through: bool,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    entry: u64,
    first: u32,
    count: u32,
}

/// The basic blocks of all functions of a linked file that clang compiled with
/// `-fbasic-block-address-map`.
#[derive(Debug, Clone, Default)]
pub struct BlockMap {
    /// By ascending entry.
    functions: Vec<Function>,
    blocks: Vec<Block>,
}

impl BlockMap {
    /// Reads the map from the bytes of a linked ELF file. Takes O(*n* log *n*) time for *n*
    /// functions.
    ///
    /// # Errors
    /// Whatever [`BlockMapError`] lists. Never panics, whatever the bytes are.
    pub fn parse(data: &[u8]) -> Result<Self, BlockMapError> {
        let header =
            FileHeader64::<LittleEndian>::parse(data).map_err(|_| BlockMapError::NotElf)?;
        let endian = header.endian().map_err(|_| BlockMapError::NotElf)?;
        let sections = header.sections(endian, data).map_err(|_| BlockMapError::NotElf)?;
        let mut map = BlockMap::default();
        let mut found = false;
        for section in sections.iter() {
            match section.sh_type(endian) {
                SHT_LLVM_BB_ADDR_MAP => {}
                // Linkers keep a section under its name when they do not know its type.
                elf::SHT_PROGBITS
                    if sections.section_name(endian, section) == Ok(b".llvm_bb_addr_map") => {}
                SHT_LLVM_BB_ADDR_MAP_V0 => return Err(BlockMapError::Version { found: 0 }),
                _ => continue,
            }
            found = true;
            let (offset, size) = (section.sh_offset(endian), section.sh_size(endian));
            let bytes = data.read_bytes_at(offset, size).map_err(|()| BlockMapError::Damaged {
                offset: 0,
                size: usize::try_from(size).unwrap_or(usize::MAX),
            })?;
            map.read(bytes)?;
        }
        if !found {
            return Err(BlockMapError::Missing);
        }
        Ok(map.sorted())
    }

    /// Reads the map from the bytes of one section `.llvm_bb_addr_map` of a linked file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_section(bytes: &[u8]) -> Result<Self, BlockMapError> {
        let mut map = BlockMap::default();
        map.read(bytes)?;
        Ok(map.sorted())
    }

    fn sorted(mut self) -> Self {
        let map = &mut self;
        // Of functions that the linker left out the address is that of none.
        map.functions.retain(|function| function.entry != 0 && function.count > 0);
        map.functions.sort_by_key(|function| function.entry);
        map.functions.dedup_by_key(|function| function.entry);
        self
    }

    /// The blocks of the function that begins at `entry`, in the order in which the compiler wrote
    /// them down: that of memory, cluster by cluster. `None` where it knows no such function.
    pub fn function(&self, entry: u64) -> Option<&[Block]> {
        let at = self.functions.binary_search_by_key(&entry, |function| function.entry).ok()?;
        let function = &self.functions[at];
        Some(&self.blocks[function.first as usize..][..function.count as usize])
    }

    /// The entries of all functions, ascending.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.functions.iter().map(|function| function.entry)
    }

    /// Number of blocks of all functions.
    pub fn blocks(&self) -> usize {
        self.functions.iter().map(|function| function.count as usize).sum()
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), BlockMapError> {
        let mut cursor = Cursor { bytes, at: 0 };
        while cursor.at < bytes.len() {
            self.read_function(&mut cursor)?;
        }
        Ok(())
    }

    /// One entry. Source of the format: the LLVM project's "Extensions" document, section
    /// `SHT_LLVM_BB_ADDR_MAP`.
    fn read_function(&mut self, cursor: &mut Cursor<'_>) -> Result<(), BlockMapError> {
        let version = cursor.byte()?;
        if !(2..=5).contains(&version) {
            return Err(BlockMapError::Version { found: version });
        }
        let mut features = u16::from(cursor.byte()?);
        if version >= 5 {
            features |= u16::from(cursor.byte()?) << 8;
        }
        let has = |feature: u16| features & feature != 0;
        let ranges = if has(MULTIPLE_RANGES) { cursor.uleb()? } else { 1 };
        let first = self.blocks.len();
        let mut entry = None;
        for _ in 0..ranges {
            let base = cursor.word()?;
            let function = *entry.get_or_insert(base);
            let refuse = |what| BlockMapError::Features { function, features, what };
            if has(WITHOUT_BLOCKS) {
                return Err(refuse("the blocks are left out"));
            }
            if has(PROFILED) || features > KNOWN {
                return Err(refuse("a profile lies between the entries"));
            }
            let count = cursor.uleb()?;
            let mut end = base;
            for _ in 0..count {
                let id = u32::try_from(cursor.uleb()?).map_err(|_| cursor.damaged())?;
                let start = end.saturating_add(cursor.uleb()?);
                end = start;
                if has(CALL_SITES) {
                    for _ in 0..cursor.uleb()? {
                        end = end.saturating_add(cursor.uleb()?);
                    }
                }
                end = end.saturating_add(cursor.uleb()?);
                let metadata = cursor.uleb()?;
                if has(HASHES) {
                    cursor.word()?;
                }
                let falls_through = metadata & CAN_FALL_THROUGH != 0;
                self.blocks.push(Block { id, range: Range { start, end }, falls_through });
            }
        }
        let count = u32::try_from(self.blocks.len() - first).map_err(|_| cursor.damaged())?;
        let first = u32::try_from(first).map_err(|_| cursor.damaged())?;
        self.functions.extend(entry.map(|entry| Function { entry, first, count }));
        Ok(())
    }
}

/// Bits of the feature field.
const PROFILED: u16 = 0b111;
const MULTIPLE_RANGES: u16 = 1 << 3;
const WITHOUT_BLOCKS: u16 = 1 << 4;
const CALL_SITES: u16 = 1 << 5;
const HASHES: u16 = 1 << 6;
const KNOWN: u16 = 0x7f;

/// Bit of a block's metadata.
const CAN_FALL_THROUGH: u64 = 1 << 3;

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn damaged(&self) -> BlockMapError {
        BlockMapError::Damaged { offset: self.at, size: self.bytes.len() }
    }

    fn byte(&mut self) -> Result<u8, BlockMapError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.damaged())?;
        self.at += 1;
        Ok(byte)
    }

    fn word(&mut self) -> Result<u64, BlockMapError> {
        let word = self.bytes[self.at..].first_chunk().ok_or_else(|| self.damaged())?;
        self.at += word.len();
        Ok(u64::from_le_bytes(*word))
    }

    fn uleb(&mut self) -> Result<u64, BlockMapError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if (part << shift) >> shift != part {
                return Err(self.damaged());
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<BlockMap, BlockMapError> {
        BlockMap::from_section(bytes)
    }

    fn ranges(map: &BlockMap, entry: u64) -> Vec<(u32, u64, u64)> {
        let blocks = map.function(entry).unwrap_or_default();
        blocks.iter().map(|block| (block.id, block.range.start, block.range.end)).collect()
    }

    #[test]
    fn blocks_follow_one_another_from_the_functions_entry() {
        let mut bytes = vec![2, 0];
        bytes.extend(0x1000u64.to_le_bytes());
        bytes.extend([
            2, /* 0 */ 0, 0, 0x10, 8, /* 3, behind 4 of padding */ 3, 4, 0x85, 1, 1,
        ]);
        let map = read(&bytes).unwrap();
        assert_eq!(ranges(&map, 0x1000), [(0, 0x1000, 0x1010), (3, 0x1014, 0x1014 + 133)]);
        let falls: Vec<bool> =
            map.function(0x1000).unwrap().iter().map(|block| block.falls_through).collect();
        assert_eq!(falls, [true, false]);
        assert_eq!((map.blocks(), map.function(0x1001)), (2, None));
    }

    #[test]
    fn a_split_function_has_several_ranges_and_newer_maps_have_call_sites_and_hashes() {
        let mut bytes = vec![4, (MULTIPLE_RANGES | CALL_SITES | HASHES) as u8, 2];
        bytes.extend(0x1000u64.to_le_bytes());
        bytes.extend([1, 0, 0, /* call sites */ 2, 5, 6, /* the rest */ 7, 0]);
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(0x9000u64.to_le_bytes());
        bytes.extend([1, 1, 0, 0, 32, 0]);
        bytes.extend(2u64.to_le_bytes());
        let map = read(&bytes).unwrap();
        assert_eq!(ranges(&map, 0x1000), [(0, 0x1000, 0x1012), (1, 0x9000, 0x9020)]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_what_to_do() {
        let damaged = |offset, size| Err(BlockMapError::Damaged { offset, size });
        for (bytes, expected) in [
            (&[1u8, 0][..], Err(BlockMapError::Version { found: 1 })),
            (&[2], damaged(1, 1)),
            (&[2, 0, 1, 2, 3], damaged(2, 5)),
            (&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x80], damaged(12, 12)),
            (&[2, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], damaged(12, 12)),
        ] {
            assert_eq!(read(bytes).map(|_| ()), expected, "{bytes:?}");
        }
        let profiled = [2, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(matches!(read(&profiled), Err(BlockMapError::Features { features: 1, .. })));
        assert_eq!(BlockMap::parse(b"no ELF").map(|_| ()), Err(BlockMapError::NotElf));
        let without = trimtab_fixture::Elf::new().build();
        assert_eq!(BlockMap::parse(&without).map(|_| ()), Err(BlockMapError::Missing));
    }
}
