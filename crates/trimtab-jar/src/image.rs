//! A program as it is loaded: its segments, its code, where its functions begin.

use crate::error::JarError;
use crate::lines::Lines;
use crate::unwind::UnwindTables;
use object::LittleEndian;
use object::elf::{self, FileHeader32};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use trimtab_program::{Isa, Program};

/// The functions that the run time calls for an exception that nothing caught.
pub(crate) const AT_END: [&str; 2] = ["__cxa_begin_catch", "_ZSt9terminatev"];

/// Programs end below this: above are the heap, mapped files, and the stack.
pub(crate) const LIMIT: u64 = 0x4000_0000;

/// Distance between the start of the table of global offsets and `gp`.
const GP_OFFSET: u32 = 0x7ff0;

/// What is loaded where.
#[derive(Debug, Clone)]
pub(crate) struct Segment<'data> {
    pub(crate) address: u32,
    pub(crate) bytes: &'data [u8],
    /// Size in memory; what the bytes do not fill is zero.
    pub(crate) size: u32,
    pub(crate) writable: bool,
}

/// A program as it is loaded.
pub(crate) struct Image<'data> {
    pub(crate) entry: u32,
    pub(crate) segments: Vec<Segment<'data>>,
    /// Address of the program headers, where they are loaded, and their number.
    pub(crate) headers: (u32, u16),
    pub(crate) gp: u32,
    /// Start and end of the table of global offsets.
    pub(crate) got: (u32, u32),
    /// The first address of what is only written as the program begins, and the one behind it.
    relro: (u32, u32),
    /// Start and end of the tables of call frames.
    call_frames: (u32, u32),
    /// Runs of code by ascending address, as words.
    code: Vec<(u32, Vec<u32>)>,
    /// Functions by their address: end and name.
    pub(crate) functions: BTreeMap<u32, (u32, String)>,
    /// Its code is position-independent, though linked to one place: as compilers for Linux make it.
    pub(crate) is_independent: bool,
    /// Addresses of functions by their symbols.
    pub(crate) symbols: BTreeMap<String, u32>,
    /// It has symbols of functions.
    pub(crate) named: bool,
    /// Lines of source.
    pub(crate) lines: Lines,
    /// What the tables of exceptions say.
    pub(crate) unwind: UnwindTables,
    /// Words of data that can be addresses of code, ascending.
    pub(crate) labels: Vec<u32>,
    /// Those that lie outside the table of global offsets.
    pub(crate) pointers: Vec<u32>,
}

fn damaged(what: &str) -> JarError {
    JarError::Damaged { what: what.to_owned() }
}

/// Bytes as words.
fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

impl<'data> Image<'data> {
    /// Reads a linked file.
    pub(crate) fn read(data: &'data [u8]) -> Result<Self, JarError> {
        // Long: each check belongs to what was read just before it.
        let program = Program::parse_any(data)?;
        if program.isa() != Isa::Mips32 {
            return Err(JarError::Machine { found: other(program.isa()) });
        }
        let endian = LittleEndian;
        let header =
            FileHeader32::<LittleEndian>::parse(data).map_err(|_| damaged("its header"))?;
        check_flags(header.e_flags(endian))?;
        if header.e_type(endian) != elf::ET_EXEC {
            return Err(JarError::Dynamic { found: "position-independent" });
        }
        let mut segments = Vec::new();
        let mut headers = (0, 0);
        let table = header
            .program_headers(endian, data)
            .map_err(|_| damaged("its program headers lie outside the file"))?;
        for segment in table {
            match segment.p_type(endian) {
                elf::PT_INTERP | elf::PT_DYNAMIC => {
                    return Err(JarError::Dynamic { found: "dynamically linked" });
                }
                elf::PT_LOAD => {}
                _ => continue,
            }
            let (address, size) = (segment.p_vaddr(endian), segment.p_memsz(endian));
            let end = u64::from(address) + u64::from(size);
            if end > LIMIT {
                return Err(JarError::TooLarge { end, limit: LIMIT });
            }
            let bytes = segment
                .data(endian, data)
                .map_err(|()| damaged("a segment lies outside the file"))?;
            if bytes.len() > size as usize || address < 0x1_0000 {
                return Err(damaged(
                    "a segment is larger in the file than in memory, or begins below 0x10000",
                ));
            }
            if let Some(inside) = header.e_phoff(endian).checked_sub(segment.p_offset(endian))
                && inside < segment.p_filesz(endian)
            {
                headers = (address + inside, header.e_phnum(endian));
            }
            let writable = segment.p_flags(endian) & elf::PF_W != 0;
            segments.push(Segment { address, bytes, size, writable });
        }
        let mut image = Image {
            entry: header.e_entry(endian),
            segments,
            headers,
            gp: 0,
            got: (0, 0),
            relro: (0, 0),
            call_frames: (0, 0),
            code: Vec::new(),
            functions: BTreeMap::new(),
            is_independent: header.e_flags(endian) & (elf::EF_MIPS_PIC | elf::EF_MIPS_CPIC) != 0,
            symbols: BTreeMap::new(),
            named: true,
            lines: Lines::default(),
            unwind: UnwindTables::default(),
            labels: Vec::new(),
            pointers: Vec::new(),
        };
        image.read_sections(header, data, &program)?;
        image.read_functions(&program);
        image.find_labels();
        Ok(image)
    }

    fn read_sections(
        &mut self,
        header: &FileHeader32<LittleEndian>,
        data: &[u8],
        program: &Program<'_>,
    ) -> Result<(), JarError> {
        let endian = LittleEndian;
        let sections = header.sections(endian, data).map_err(|_| damaged("its section table"))?;
        let mut code: Vec<(u32, &[u8])> = Vec::new();
        for section in sections.iter() {
            let (address, size) = (section.sh_addr(endian), section.sh_size(endian));
            let name = sections.section_name(endian, section).unwrap_or_default();
            let flags = section.sh_flags(endian);
            let range = (address, address.saturating_add(size));
            match name {
                b".data.rel.ro" => self.relro = range,
                b".got" => self.got = range,
                _ => {}
            }
            if name == b".eh_frame" && flags & elf::SHF_ALLOC != 0 {
                let bytes = self
                    .bytes(address, size)
                    .ok_or_else(|| damaged("its section .eh_frame lies in no segment"))?;
                self.unwind =
                    UnwindTables::read(bytes, address, data.len() / 4, &|at| self.bytes_from(at))?;
                self.call_frames = range;
            }
            let executable = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
            if flags & executable == executable && section.sh_type(endian) == elf::SHT_PROGBITS {
                let bytes = self
                    .bytes(address, size)
                    .ok_or_else(|| damaged("a section of code lies in no segment"))?;
                if address.is_multiple_of(4) {
                    code.push((address, bytes));
                }
            }
        }
        self.read_symbols(&sections, data)?;
        let named = |name| {
            let (_, section) = sections.section_by_name(endian, name)?;
            let compressed = section.sh_flags(endian) & elf::SHF_COMPRESSED != 0;
            section.data(endian, data).ok().filter(|_| !compressed)
        };
        if let Some(lines) = named(b".debug_line") {
            self.lines = Lines::read(lines, named(b".debug_line_str").unwrap_or_default())
                .map_err(|_| damaged("its lines of source, in the section .debug_line"))?;
        }
        self.set_code(code)?;
        if self.word(self.entry).is_none() {
            return Err(damaged("it has no code where it begins"));
        }
        self.gp = match program.address_of("_gp").and_then(|gp| u32::try_from(gp).ok()) {
            Some(gp) => gp,
            None => self.got.0.wrapping_add(GP_OFFSET),
        };
        Ok(())
    }

    /// Notes runs of code. Sections of a damaged file may all be the same bytes: none is copied before it is known that they do not overlap.
    fn set_code(&mut self, mut code: Vec<(u32, &[u8])>) -> Result<(), JarError> {
        code.sort_unstable_by_key(|(address, _)| *address);
        let end = |(address, bytes): (u32, &[u8])| u64::from(address) + bytes.len() as u64;
        if code.windows(2).any(|pair| end(pair[0]) > u64::from(pair[1].0)) {
            return Err(damaged("two sections of code overlap"));
        }
        self.code = code.into_iter().map(|(address, bytes)| (address, words(bytes))).collect();
        Ok(())
    }

    fn read_symbols(
        &mut self,
        sections: &SectionTable<'_, FileHeader32<LittleEndian>>,
        data: &[u8],
    ) -> Result<(), JarError> {
        let endian = LittleEndian;
        let table = sections
            .symbols(endian, data, elf::SHT_SYMTAB)
            .map_err(|_| damaged("its symbol table"))?;
        for symbol in table.iter().filter(|symbol| symbol.st_type() == elf::STT_FUNC) {
            if let Ok(name) = table.symbol_name(endian, symbol)
                && let Ok(name) = std::str::from_utf8(name)
                && symbol.st_value(endian) != 0
                // Static functions of other files may have the same name.
                && (symbol.st_bind() != elf::STB_LOCAL || !self.symbols.contains_key(name))
            {
                self.symbols.insert(name.to_owned(), symbol.st_value(endian));
            }
        }
        Ok(())
    }

    fn read_functions(&mut self, program: &Program<'_>) {
        let mut starts: BTreeMap<u32, String> = BTreeMap::new();
        for function in program.functions() {
            if let Ok(start) = u32::try_from(function.range.start)
                && self.word(start).is_some()
            {
                starts.insert(start, function.name.to_owned());
            }
        }
        self.named = !starts.is_empty();
        for (start, _) in &self.code {
            starts.entry(*start).or_insert_with(|| format!("section_{start:x}"));
        }
        starts.entry(self.entry).or_insert_with(|| "start".to_owned());
        if !self.named {
            let entries =
                self.unwind.starts.iter().copied().filter(|start| self.word(*start).is_some());
            for start in self.called().into_iter().chain(entries) {
                starts.entry(start).or_insert_with(|| format!("f_{start:x}"));
            }
        }
        self.set_functions(starts);
    }

    /// Whether the program has a function of C's by which it can say how to round.
    pub(crate) fn sets_rounding(&self) -> bool {
        let setters = ["fesetround", "fesetenv", "feupdateenv", "fesetmode"];
        setters.iter().any(|name| self.symbols.contains_key(*name))
    }

    /// Has functions be found by their addresses, as Java calls them; with what manages memory.
    pub(crate) fn export(
        &mut self,
        names: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, u32>, JarError> {
        let mut exports = BTreeMap::new();
        if names.is_empty() {
            return Ok(exports);
        }
        for name in ["main", "malloc", "free"].into_iter().chain(names.iter().map(String::as_str)) {
            let address = self.symbols.get(name).copied();
            let address = address.ok_or_else(|| JarError::Symbol { name: name.to_owned() })?;
            exports.insert(name.to_owned(), address);
            self.pointers.push(address);
        }
        self.pointers.sort_unstable();
        self.pointers.dedup();
        Ok(exports)
    }

    fn set_functions(&mut self, starts: BTreeMap<u32, String>) {
        let next: Vec<u32> = starts.keys().skip(1).copied().chain([u32::MAX]).collect();
        let ends: Vec<u32> =
            starts.keys().zip(next).map(|(start, next)| next.min(self.code_end(*start))).collect();
        self.functions =
            starts.into_iter().zip(ends).map(|((start, name), end)| (start, (end, name))).collect();
    }

    /// Makes functions begin at further addresses; says whether there are any that are new.
    pub(crate) fn add_functions(&mut self, addresses: impl IntoIterator<Item = u32>) -> bool {
        let mut starts: BTreeMap<u32, String> =
            self.functions.iter().map(|(start, (_, name))| (*start, name.clone())).collect();
        let before = starts.len();
        for start in addresses {
            starts.entry(start).or_insert_with(|| format!("f_{start:x}"));
        }
        let grew = starts.len() > before;
        self.set_functions(starts);
        grew
    }

    /// Where direct calls lead, and words of data that look like the start of a function: for
    /// programs without symbols.
    fn called(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for (start, words) in &self.code {
            for (pc, word) in (*start..).step_by(4).zip(words) {
                let target = match word >> 26 {
                    3 => (pc & 0xf000_0000) | ((word & 0x03ff_ffff) << 2),
                    1 if (word >> 16) & 31 == 17 => {
                        pc.wrapping_add(4).wrapping_add_signed(i32::from(*word as i16) << 2)
                    }
                    _ => continue,
                };
                if self.word(target).is_some() && target != pc.wrapping_add(8) {
                    found.push(target);
                }
            }
        }
        let data = self.data_words().into_iter().map(|(_, word)| word);
        found.extend(data.filter(|word| self.begins_with_prologue(*word)));
        found
    }

    /// Whether the code here sets up `gp` or a frame: `lui gp` or `addiu sp, sp, -n`.
    fn begins_with_prologue(&self, address: u32) -> bool {
        self.word(address).is_some_and(|first| {
            first >> 16 == 0x3c1c || (first >> 16 == 0x27bd && first & 0x8000 != 0)
        })
    }

    /// Whether a function may begin here: with a prologue, or behind another one's end.
    pub(crate) fn looks_like_function(&self, address: u32) -> bool {
        if self.begins_with_prologue(address) {
            return true;
        }
        let back = |words: u32| address.checked_sub(4 * words).and_then(|at| self.word(at));
        // Functions begin at multiples of 16 at most, behind `nop`; a delay slot may be one as well.
        let returns = |words: u32| back(words).is_some_and(|word| word & 0xfc1f_ffff == 8);
        (2..6).any(|words| returns(words) && (1..words - 1).all(|between| back(between) == Some(0)))
    }

    /// Aligned words of data, with their addresses.
    fn data_words(&self) -> Vec<(u32, u32)> {
        let mut words = Vec::new();
        for segment in &self.segments {
            let skip = segment.address.wrapping_neg() as usize % 4;
            let bytes = segment.bytes.get(skip..).unwrap_or_default();
            let first = segment.address.wrapping_add(skip as u32);
            for (address, word) in (first..).step_by(4).zip(bytes.chunks_exact(4)) {
                if self.word(address).is_none() {
                    let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                    words.push((address, word));
                }
            }
        }
        words
    }

    fn find_labels(&mut self) {
        for (address, word) in self.data_words() {
            let near = word.wrapping_add(self.gp);
            for target in [word, near] {
                if target % 4 == 0 && self.word(target).is_some() {
                    self.labels.push(target);
                }
            }
            let in_got = (self.got.0..self.got.1).contains(&address);
            // An entry of the unwinder's is no pointer that anything calls through.
            let in_frames = (self.call_frames.0..self.call_frames.1).contains(&address);
            if !in_got && !in_frames && word % 4 == 0 && self.word(word).is_some() {
                self.pointers.push(word);
            }
        }
        self.pointers.extend(self.unwind.catchers.iter().map(|catcher| catcher.personality));
        for name in AT_END {
            self.pointers.extend(self.symbols.get(name));
        }
        for list in [&mut self.labels, &mut self.pointers] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// The bytes at an address, as far as the file has them.
    fn bytes(&self, address: u32, size: u32) -> Option<&'data [u8]> {
        self.segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.address)? as usize;
            segment.bytes.get(start..start.checked_add(size as usize)?)
        })
    }

    /// The bytes from an address to the end of what the file has of its segment.
    fn bytes_from(&self, address: u32) -> Option<&'data [u8]> {
        self.segments
            .iter()
            .find_map(|segment| segment.bytes.get(address.checked_sub(segment.address)? as usize..))
    }

    /// The word of code at an address.
    pub(crate) fn word(&self, address: u32) -> Option<u32> {
        let at = self.code.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        let (start, words) = &self.code[at];
        (address.is_multiple_of(4)).then(|| words.get(((address - start) / 4) as usize).copied())?
    }

    /// End of the run of code that holds this address.
    pub(crate) fn code_end(&self, address: u32) -> u32 {
        let at = self.code.partition_point(|(start, _)| *start <= address);
        at.checked_sub(1).map_or(address, |at| end(&self.code[at]))
    }

    /// Start and end of each run of code, ascending.
    pub(crate) fn runs_of_code(&self) -> impl Iterator<Item = (u32, u32)> {
        self.code.iter().map(|run| (run.0, end(run)))
    }

    /// Words of code.
    pub(crate) fn instructions(&self) -> usize {
        self.code.iter().map(|(_, words)| words.len()).sum()
    }

    /// The word at an address if it never changes: in a segment that is not written, or in the table
    /// of global offsets of a program that no loader relocates.
    pub(crate) fn constant(&self, address: u32) -> Option<u32> {
        let fixed = (self.got.0..self.got.1).contains(&address)
            || self.segments.iter().any(|segment| {
                !segment.writable
                    && address >= segment.address
                    && address - segment.address < segment.size
            });
        if !fixed || !address.is_multiple_of(4) {
            return None;
        }
        self.stored_word(address)
    }

    /// The word at an address in a table of labels, which the compiler takes for constant: as [`Self::constant`], or where addresses
    /// are that a loader would have to change.
    pub(crate) fn label(&self, address: u32) -> Option<u32> {
        let is_relro = (self.relro.0..self.relro.1).contains(&address);
        self.constant(address).or_else(|| is_relro.then(|| self.data(address)).flatten())
    }

    /// A word of data as the program begins, where there is no code.
    pub(crate) fn data(&self, address: u32) -> Option<u32> {
        if !address.is_multiple_of(4) || self.word(address).is_some() {
            return None;
        }
        self.stored_word(address)
    }

    fn stored_word(&self, address: u32) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(address, 4)?.try_into().ok()?))
    }

    /// The name of what begins at an address.
    pub(crate) fn function_name(&self, start: u32) -> String {
        let known = self.functions.get(&start).map(|(_, name)| name.clone());
        known.unwrap_or_else(|| format!("f_{start:x}"))
    }

    /// Names that are no other function's: of functions, by address.
    pub(crate) fn unique_names(functions: &[(u32, String)]) -> Vec<String> {
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        let clean = functions.iter().map(|(address, name)| {
            let name: String = name
                .chars()
                // A `$` is in names that are made here.
                .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
                .take(200)
                .collect();
            let name = if name.is_empty() { "f".to_owned() } else { name };
            let times = seen.entry(name.clone()).or_default();
            *times += 1;
            if *times > 1 { format!("{name}$at${address:x}") } else { name }
        });
        clean.collect()
    }
}

fn end(run: &(u32, Vec<u32>)) -> u32 {
    run.0.saturating_add(4 * run.1.len() as u32)
}

fn other(isa: Isa) -> &'static str {
    match isa {
        Isa::X86_64 => "a program for x86-64",
        Isa::Aarch64 => "a program for AArch64",
        Isa::Mips32 => "a program for MIPS",
    }
}

/// Refuses what has other instructions or another way to call functions.
fn check_flags(flags: u32) -> Result<(), JarError> {
    let refuse = |found| Err(JarError::Machine { found });
    // `EF_MIPS_MICROMIPS` and `EF_MIPS_ARCH_ASE_M16`, which the crate for ELF does not name.
    if flags & 0x0200_0000 != 0 {
        return refuse("a program with microMIPS instructions");
    }
    if flags & 0x0400_0000 != 0 {
        return refuse("a program with MIPS16 instructions");
    }
    if flags & elf::EF_MIPS_ABI2 != 0 || !matches!(flags & elf::EF_MIPS_ABI, 0 | 0x1000) {
        return refuse("a program of another ABI than o32");
    }
    match flags & elf::EF_MIPS_ARCH {
        elf::EF_MIPS_ARCH_1
        | elf::EF_MIPS_ARCH_2
        | elf::EF_MIPS_ARCH_32
        | elf::EF_MIPS_ARCH_32R2 => Ok(()),
        0x9000_0000 | 0xa000_0000 => refuse("a program for release 6 of MIPS"),
        _ => refuse("a program for a 64-bit MIPS processor"),
    }
}
