//! Reading a linked little-endian ELF file, of 64 bits or (MIPS) 32.

use crate::error::ReadError;
use crate::isa::Isa;
use crate::linked;
use crate::program::{Function, FunctionId, Kind, Marker, Program, Section, SectionId, Segment};
use crate::ranges::Range;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::{LittleEndian, SectionIndex};
use std::collections::HashSet;

/// What both sizes of header are to the reader.
trait Header: FileHeader<Endian = LittleEndian> {}

impl Header for FileHeader32<LittleEndian> {}
impl Header for FileHeader64<LittleEndian> {}

impl<'data> Program<'data> {
    /// Reads the program from the bytes of a linked ELF file.
    ///
    /// Takes O(*n* log *n*) time for *n* symbols; names are borrowed from `data`.
    ///
    /// # Errors
    /// Whatever [`ReadError`] lists. Never panics, whatever the bytes are.
    pub fn parse(data: &'data [u8]) -> Result<Self, ReadError> {
        let program = Self::parse_any(data)?;
        if program.functions.is_empty() { Err(ReadError::Stripped) } else { Ok(program) }
    }

    /// As [`Program::parse`], but also reads a file that no symbols name functions of; it has none
    /// then.
    ///
    /// # Errors
    /// As [`Program::parse`], without [`ReadError::Stripped`].
    pub fn parse_any(data: &'data [u8]) -> Result<Self, ReadError> {
        match class(data)? {
            Class::Narrow => Self::parse_as::<FileHeader32<LittleEndian>>(data),
            Class::Wide => Self::parse_as::<FileHeader64<LittleEndian>>(data),
        }
    }

    fn parse_as<H: Header>(data: &'data [u8]) -> Result<Self, ReadError> {
        let header = H::parse(data).map_err(|_| bad_header(data))?;
        let isa = isa(header)?;
        kind(header)?;
        let endian = LittleEndian;

        let headers =
            header.sections(endian, data).map_err(|_| damage("the section table", data))?;
        let (sections, section_of_index) = code_sections::<H>(&headers, data)?;
        let segments = loaded_segments(header, data)?;
        let (candidates, mut markers) = symbols::<H>(&headers, data, &section_of_index, isa)?;
        let functions = disjoint(candidates, &sections, &mut markers);
        markers.sort_unstable_by_key(|marker| (marker.name, marker.address));

        let mut by_name: Vec<FunctionId> = (0..functions.len() as u32).map(FunctionId).collect();
        by_name.sort_unstable_by_key(|id| (functions[id.index()].name, *id));

        Ok(Program {
            data,
            isa,
            kind: kind(header)?,
            entry: header.e_entry(endian).into(),
            build_id: linked::build_id(&headers, data),
            sections,
            segments,
            functions,
            by_name,
            markers,
        })
    }
}

/// A part of a file is not what its headers say.
fn damage(what: &str, data: &[u8]) -> ReadError {
    ReadError::Damaged { what: what.to_owned(), size: data.len() }
}

/// The sections with code, by address, and for each index in the file's section table which of them it is.
fn code_sections<'data, H: Header>(
    headers: &SectionTable<'data, H>,
    data: &'data [u8],
) -> Result<(Vec<Section<'data>>, Vec<Option<SectionId>>), ReadError> {
    let endian = LittleEndian;
    let unnamed = || damage("a section's name", data);
    let mut sections = Vec::new();
    for (index, section) in headers.iter().enumerate() {
        let name = headers.section_name(endian, section).map_err(|_| unnamed())?;
        let flags: u64 = section.sh_flags(endian).into();
        let (offset, size) = (section.sh_offset(endian).into(), section.sh_size(endian).into());
        let code = u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR);
        if flags & code != code || size == 0 {
            continue;
        }
        let name = std::str::from_utf8(name).map_err(|_| unnamed())?;
        if section.sh_type(endian) == elf::SHT_NOBITS {
            return Err(ReadError::WithoutCode { section: name.to_owned() });
        }
        // All that is counted later is counted by this size.
        if offset.checked_add(size).is_none_or(|end: u64| end > data.len() as u64) {
            return Err(damage(&format!("section {name} of {size} bytes"), data));
        }
        let range = Range::with_length(section.sh_addr(endian).into(), size);
        sections.push((index, Section { name, range }));
    }
    sections.sort_by_key(|(_, section)| section.range);
    let mut section_of_index = vec![None; headers.len()];
    for (position, (index, _)) in sections.iter().enumerate() {
        section_of_index[*index] = Some(SectionId(position as u32));
    }
    Ok((sections.into_iter().map(|(_, section)| section).collect(), section_of_index))
}

/// What of the file is loaded, in the order of the program headers.
fn loaded_segments<H: Header>(header: &H, data: &[u8]) -> Result<Vec<Segment>, ReadError> {
    let endian = LittleEndian;
    let headers =
        header.program_headers(endian, data).map_err(|_| damage("the program headers", data))?;
    let loaded = headers.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let segment = |segment: &H::ProgramHeader| Segment {
        range: Range::with_length(segment.p_vaddr(endian).into(), segment.p_memsz(endian).into()),
        physical: segment.p_paddr(endian).into(),
        file: Range::with_length(segment.p_offset(endian).into(), segment.p_filesz(endian).into()),
    };
    Ok(loaded.map(segment).collect())
}

/// The symbols that can be functions of the sections with code, and all others. `section_of_index` is
/// indexed by the file's section table; `marked` says that symbols tell code and data apart.
fn symbols<'data, H: Header>(
    headers: &SectionTable<'data, H>,
    data: &'data [u8],
    section_of_index: &[Option<SectionId>],
    isa: Isa,
) -> Result<(Vec<Candidate<'data>>, Vec<Marker<'data>>), ReadError> {
    let endian = LittleEndian;
    let table = headers
        .symbols(endian, data, elf::SHT_SYMTAB)
        .map_err(|_| damage("the symbol table", data))?;
    let mut candidates = Vec::new();
    let mut markers = Vec::new();
    for (index, symbol) in table.enumerate() {
        if symbol.is_undefined(endian)
            || matches!(symbol.st_type(), elf::STT_SECTION | elf::STT_FILE | elf::STT_TLS)
        {
            continue;
        }
        let name =
            symbol.name(endian, table.strings()).map_err(|_| damage("a symbol's name", data))?;
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if name.is_empty() || isa.mapped(name.as_bytes()).is_some() {
            continue;
        }
        // Absolute symbols have no section, and files with very many sections keep the index in a
        // table of its own.
        let section = table
            .symbol_section(endian, symbol, index)
            .ok()
            .flatten()
            .and_then(|SectionIndex(index)| section_of_index.get(index).copied().flatten());
        match section {
            Some(section) if is_function::<H>(symbol) => {
                candidates.push(Candidate::new::<H>(name, symbol, section));
            }
            _ => markers.push(Marker { name, address: symbol.st_value(endian).into() }),
        }
    }
    Ok((candidates, markers))
}

/// The size of a file's addresses.
enum Class {
    /// 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
}

fn class(data: &[u8]) -> Result<Class, ReadError> {
    let start = data.get(..4.min(data.len())).unwrap_or_default();
    if start != elf::ELFMAG {
        let found: Vec<String> = start.iter().map(|byte| format!("{byte:02x}")).collect();
        let found = if found.is_empty() { "nothing at all".to_owned() } else { found.join(" ") };
        return Err(ReadError::NotElf { found });
    }
    match data.get(4..6) {
        Some([elf::ELFCLASS64, elf::ELFDATA2LSB]) => Ok(Class::Wide),
        Some([elf::ELFCLASS32, elf::ELFDATA2LSB]) => Ok(Class::Narrow),
        Some([elf::ELFCLASS32, elf::ELFDATA2MSB]) => {
            Err(ReadError::Format { found: "a big-endian 32-bit ELF file" })
        }
        Some([_, elf::ELFDATA2MSB]) => Err(ReadError::Format { found: "a big-endian ELF file" }),
        _ => Err(bad_header(data)),
    }
}

fn bad_header(data: &[u8]) -> ReadError {
    ReadError::Damaged { what: "the ELF header".to_owned(), size: data.len() }
}

fn isa<H: Header>(header: &H) -> Result<Isa, ReadError> {
    if let Some(isa) = linked::isa(header) {
        return Ok(isa);
    }
    let found = header.e_machine(LittleEndian);
    // Of an instruction set that we know, the size of addresses is the other one.
    match Isa::of_elf_machine(found) {
        Some(Isa::Mips32) => Err(ReadError::Format { found: "a 64-bit ELF file for MIPS" }),
        Some(Isa::X86_64 | Isa::Aarch64) => Err(ReadError::Format { found: "a 32-bit ELF file" }),
        None if matches!(found, elf::EM_386 | elf::EM_ARM) && header.is_class_32() => {
            Err(ReadError::Format { found: "a 32-bit ELF file" })
        }
        None => Err(ReadError::Machine { found }),
    }
}

fn kind<H: Header>(header: &H) -> Result<Kind, ReadError> {
    match header.e_type(LittleEndian) {
        elf::ET_EXEC => Ok(Kind::Executable),
        elf::ET_DYN => Ok(Kind::Shared),
        found => Err(ReadError::NotLinked { found }),
    }
}

/// Functions are `STT_FUNC`; the kernel's assembly marks code that is not called as a function
/// (`SYM_CODE_START`) by an untyped symbol with a size.
fn is_function<H: Header>(symbol: &H::Sym) -> bool {
    match symbol.st_type() {
        elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
        elf::STT_NOTYPE => symbol.st_size(LittleEndian).into() > 0,
        _ => false,
    }
}

/// What a version adds to the rank of a name.
const VERSIONED: u8 = 8;

struct Candidate<'data> {
    name: &'data str,
    start: u64,
    size: u64,
    section: SectionId,
    global: bool,
    /// Lower is the better name for its address.
    rank: u8,
}

impl<'data> Candidate<'data> {
    fn new<H: Header>(name: &'data str, symbol: &H::Sym, section: SectionId) -> Self {
        let untyped = symbol.st_type() == elf::STT_NOTYPE;
        Candidate {
            name,
            start: symbol.st_value(LittleEndian).into(),
            size: symbol.st_size(LittleEndian).into(),
            section,
            global: symbol.st_bind() == elf::STB_GLOBAL,
            // Linkers know a symbol with a version under its bare name, another name says more.
            rank: u8::from(name.contains('@')) * VERSIONED
                + u8::from(untyped) * 4
                + linked::rank(symbol.st_bind()),
        }
    }
}

impl Candidate<'_> {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }
}

/// A name that is global and has several addresses is that of several versions of a function, which lld
/// writes without their versions: another name at the same address says more.
fn rank_versions(candidates: &mut [Candidate<'_>]) {
    let mut global: Vec<(&str, u64)> =
        candidates.iter().filter(|c| c.global).map(|c| (c.name, c.start)).collect();
    global.sort_unstable();
    global.dedup();
    let several: HashSet<&str> =
        global.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0).collect();
    for candidate in candidates.iter_mut().filter(|c| c.global && several.contains(c.name)) {
        candidate.rank += VERSIONED;
    }
}

/// Makes functions that do not overlap: one for each address, cut where the next begins or the
/// section ends. Names that lose become markers. A symbol without size reaches to the next one.
fn disjoint<'data>(
    mut candidates: Vec<Candidate<'data>>,
    sections: &[Section<'data>],
    markers: &mut Vec<Marker<'data>>,
) -> Vec<Function<'data>> {
    candidates.retain(|candidate| {
        let inside = sections[candidate.section.0 as usize].range.contains(candidate.start);
        if !inside {
            markers.push(Marker { name: candidate.name, address: candidate.start });
        }
        inside
    });
    rank_versions(&mut candidates);
    candidates.sort_unstable_by_key(|c| (c.start, c.size == 0, c.rank, c.name, c.size));
    let mut chosen: Vec<Candidate<'data>> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        match chosen.last() {
            // A further name, or a label or function within one that has a size of its own. One
            // that reaches further begins a function: the one before is cut.
            Some(last)
                if linked::is_within(last.start..last.end(), candidate.start, candidate.end()) =>
            {
                markers.push(Marker { name: candidate.name, address: candidate.start });
            }
            _ => chosen.push(candidate),
        }
    }
    let starts: Vec<u64> = chosen.iter().map(|candidate| candidate.start).collect();
    chosen
        .into_iter()
        .enumerate()
        .map(|(index, candidate)| {
            let section_end = sections[candidate.section.0 as usize].range.end;
            let limit = starts.get(index + 1).map_or(section_end, |next| section_end.min(*next));
            let end = match candidate.size {
                0 => limit,
                size => candidate.start.saturating_add(size).min(limit),
            };
            Function {
                name: candidate.name,
                range: Range { start: candidate.start, end: end.max(candidate.start) },
                section: candidate.section,
            }
        })
        .collect()
}
