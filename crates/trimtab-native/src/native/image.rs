//! A program or library on disk: its functions, and where in memory they are.

mod planting;

use super::arch::Breakpoint;
use super::system;
use memmap2::Mmap;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, SectionIndex};
use std::fs::File;
use std::io;
use std::ops::Range;
use trimtab_program::linked;

type Header = FileHeader64<LittleEndian>;

/// Why a file is not traced.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("it is no program of this machine's 64-bit kind")]
    Foreign,
    #[error("its ELF file is damaged: {0}")]
    Damaged(#[from] object::Error),
    #[error("it has no symbols of functions; build it without stripping")]
    NoFunctions,
}

/// A function whose entry can be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Function {
    /// Where it is linked to run.
    pub(super) address: u64,
    /// Its length in bytes; at least 1.
    pub(super) size: u64,
    /// Where in the file its name begins.
    name: u64,
}

/// An executable segment.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Where it is linked to run.
    address: u64,
    /// Where its bytes are in the file.
    file: (u64, u64),
}

impl Segment {
    /// Linked addresses whose bytes are in the file.
    fn addresses(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.file.1)
    }

    fn holds(&self, address: u64) -> bool {
        self.addresses().contains(&address)
    }
}

/// A program or library that is watched.
#[derive(Debug)]
pub(super) struct Image {
    file: File,
    bytes: Mmap,
    breakpoint: Breakpoint,
    /// By ascending address; no two have the same, and none lies within another.
    functions: Vec<Function>,
    segments: Vec<Segment>,
    pub(super) build_id: Option<String>,
}

impl Image {
    /// Reads the symbols of a file: all of them, or where it is stripped those that it exports.
    pub(super) fn read(file: &File) -> Result<Self, Unfit> {
        // Devices and empty files cannot be mapped.
        if !file.metadata()?.is_file() || file.metadata()?.len() == 0 {
            return Err(Unfit::Foreign);
        }
        let bytes = system::map(file)?;
        let data: &[u8] = &bytes;
        let header = Header::parse(data).map_err(|_| Unfit::Foreign)?;
        let little = header.e_ident().data == elf::ELFDATA2LSB;
        let isa = linked::isa(header).filter(|isa| little && isa.is_here());
        let Some(breakpoint) = isa.and_then(Breakpoint::of) else {
            return Err(Unfit::Foreign);
        };
        let mut segments = Vec::new();
        for segment in header.program_headers(LittleEndian, data)? {
            let file = segment.file_range(LittleEndian);
            let flags = segment.p_flags(LittleEndian);
            if segment.p_type(LittleEndian) == elf::PT_LOAD && flags & elf::PF_X != 0 {
                segments.push(Segment { address: segment.p_vaddr(LittleEndian), file });
            }
        }
        let sections = header.sections(LittleEndian, data)?;
        let build_id = linked::build_id(&sections, data).map(hex::encode);
        let mut functions = functions(&sections, data, elf::SHT_SYMTAB)?;
        if functions.is_empty() {
            functions = self::functions(&sections, data, elf::SHT_DYNSYM)?;
        }
        functions.retain(|function| segments.iter().any(|s| s.holds(function.address)));
        if functions.is_empty() {
            return Err(Unfit::NoFunctions);
        }
        Ok(Image { file: file.try_clone()?, bytes, breakpoint, functions, segments, build_id })
    }

    /// All functions by ascending address.
    pub(super) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The index of the function at whose linked address a breakpoint can stand.
    pub(super) fn function_at(&self, address: u64) -> Option<usize> {
        let index = self.functions.binary_search_by_key(&address, |f| f.address).ok()?;
        self.breakpoint.fits(address, self.code(address)?).then_some(index)
    }

    /// A function's name.
    pub(super) fn name(&self, function: &Function) -> String {
        String::from_utf8_lossy(name_at(&self.bytes, function.name)).into_owned()
    }

    /// The code from a linked address to the end of its segment.
    fn code(&self, address: u64) -> Option<&[u8]> {
        let segment = self.segments.iter().find(|segment| segment.holds(address))?;
        let (start, length) = segment.file;
        let from = start.checked_add(address - segment.address)?;
        let to = start.checked_add(length)?.min(self.bytes.len() as u64);
        self.bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    /// The distance of run-time from linked addresses, for a file of which the part from `offset`
    /// on was mapped executable at `start`; nothing where no executable segment begins there.
    pub(super) fn bias(&self, start: u64, offset: u64, page: u64) -> Option<u64> {
        let begins = |segment: &&Segment| segment.file.0 / page * page == offset;
        let segment = self.segments.iter().find(begins)?;
        Some(start.wrapping_add(segment.file.0 - offset).wrapping_sub(segment.address))
    }
}

/// The functions of a symbol table: those with a size, in sections of code. Of several names for an
/// address a global one is taken, then the first by alphabet; of a function within another only the
/// outer one, as [`trimtab_program::Program`] does it.
fn functions(
    sections: &object::read::elf::SectionTable<'_, Header>,
    data: &[u8],
    kind: u32,
) -> Result<Vec<Function>, Unfit> {
    let table = sections.symbols(LittleEndian, data, kind)?;
    if table.is_empty() {
        return Ok(Vec::new());
    }
    let strings = sections.section(table.string_section())?.sh_offset(LittleEndian);
    let is_code: Vec<bool> = sections
        .iter()
        .map(|section| section.sh_flags(LittleEndian) & u64::from(elf::SHF_EXECINSTR) != 0)
        .collect();
    let mut found: Vec<(Function, u8)> = Vec::new();
    for (index, symbol) in table.enumerate() {
        let function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
        let name = symbol.st_name(LittleEndian);
        if !function || symbol.st_size(LittleEndian) == 0 || name == 0 {
            continue;
        }
        let section = table.symbol_section(LittleEndian, symbol, index)?;
        let in_code =
            section.is_some_and(|SectionIndex(at)| is_code.get(at).copied().unwrap_or(false));
        if !in_code {
            continue;
        }
        found.push((
            Function {
                address: symbol.st_value(LittleEndian),
                size: symbol.st_size(LittleEndian),
                name: strings.saturating_add(u64::from(name)),
            },
            linked::rank(symbol.st_bind()),
        ));
    }
    // Names are long, and only those of the few functions that have several are looked at.
    found.sort_unstable_by(|(a, a_rank), (b, b_rank)| {
        let by_name = || name_at(data, a.name).cmp(name_at(data, b.name));
        (a.address, a_rank).cmp(&(b.address, b_rank)).then_with(by_name)
    });
    let mut functions: Vec<Function> = Vec::with_capacity(found.len());
    for (function, _) in found {
        let end = |function: &Function| function.address.saturating_add(function.size);
        let within = functions.last().is_some_and(|last| {
            linked::is_within(last.address..end(last), function.address, end(&function))
        });
        if !within {
            functions.push(function);
        }
    }
    Ok(functions)
}

/// The name that begins at this place in the file.
fn name_at(data: &[u8], from: u64) -> &[u8] {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let bytes = data.get(from..).unwrap_or_default();
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::arch::NATIVE;
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use trimtab_program::PAGE_SIZE as PAGE;

    /// A real program, small enough to be damaged many times.
    const SMALL: &[u8] = if cfg!(target_arch = "aarch64") {
        include_bytes!("../../../../testdata/programs/lld-aarch64.elf")
    } else {
        include_bytes!("../../../../testdata/programs/lld-x86_64.elf")
    };

    fn image(bytes: &[u8]) -> Result<Image, Unfit> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Image::read(&file)
    }

    /// This very program, which has symbols.
    fn this() -> (Image, Vec<u8>) {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        (image(&bytes).unwrap(), bytes)
    }

    #[test]
    fn functions_are_in_order_and_have_names() {
        let (image, _) = this();
        let functions = image.functions();
        assert!(functions.len() > 1000);
        assert!(functions.windows(2).all(|pair| pair[0].address < pair[1].address));
        assert!(functions.iter().any(|f| image.name(f) == "main"));
        for (index, function) in functions.iter().enumerate().step_by(97) {
            assert_eq!(image.function_at(function.address), Some(index));
            assert!(!image.name(function).is_empty());
        }
    }

    #[test]
    fn it_finds_the_same_functions_as_the_program_model() {
        let (image, bytes) = this();
        let program = trimtab_program::Program::parse(&bytes).unwrap();
        for function in image.functions() {
            let id = program.function_at(function.address).unwrap();
            assert_eq!(program.function(id).range.start, function.address);
            assert_eq!(program.function(id).name, image.name(function));
        }
    }

    #[test]
    fn each_function_gets_a_breakpoint_and_no_other_byte_changes() {
        let (image, _) = this();
        assert!(image.functions().len() > 1000);
        // Nearly everywhere, and with most pages left out.
        breakpoints_come_and_go(&image, &|index| !index.is_multiple_of(3));
        breakpoints_come_and_go(&image, &|index| index.is_multiple_of(64));
    }

    fn breakpoints_come_and_go(image: &Image, chosen: &dyn Fn(usize) -> bool) {
        let memory = tempfile::tempfile().unwrap();
        let all = 0..u64::MAX;
        // Far enough from 0 to be no page of the first segment.
        let bias = 0x10_0000;
        image.plant(&memory, bias, &all, chosen).unwrap();
        let width = image.breakpoint.bytes.len();
        let mut planted = 0;
        for segment in &image.segments {
            let original = image.code(segment.address).unwrap();
            let mut expected = original.to_vec();
            let mut written = vec![false; original.len()];
            for (index, function) in image.functions().iter().enumerate() {
                if !segment.addresses().contains(&function.address) || !chosen(index) {
                    continue;
                }
                let at = (function.address - segment.address) as usize;
                expected[at..at + width].copy_from_slice(image.breakpoint.bytes);
                written[at..at + width].fill(true);
                planted += 1;
            }
            let mut found = vec![0; original.len()];
            let read = memory.read_at(&mut found, segment.address + bias).unwrap();
            for at in 0..read {
                // Pages without functions are holes in the file.
                let hole = found[at] == 0 && !written[at];
                assert!(hole || found[at] == expected[at], "{at:#x}");
            }
        }
        assert_eq!(planted, (0..image.functions().len()).filter(|index| chosen(*index)).count());
        for index in (0..image.functions().len()).filter(|index| chosen(*index)) {
            image.restore(&memory, bias, index).unwrap();
        }
        for (index, function) in image.functions().iter().enumerate() {
            let mut found = [0; 8];
            memory.read_at(&mut found, function.address + bias).unwrap();
            let original = image.code(function.address).unwrap();
            // The next page can be a hole, whatever this one is.
            let in_page = (PAGE - function.address % PAGE) as usize;
            let compared = in_page.min(found.len()).min(original.len());
            let (found, original) = (&found[..compared], &original[..compared]);
            let hole = !chosen(index) && found.iter().all(|byte| *byte == 0);
            assert!(hole || found == original, "{:#x}", function.address);
        }
    }

    #[test]
    fn only_what_is_mapped_is_written() {
        let (image, _) = this();
        let memory = tempfile::tempfile().unwrap();
        let middle = image.functions()[image.functions().len() / 2].address / PAGE * PAGE;
        let window = middle..middle + PAGE;
        image.plant(&memory, 0, &window, |_| true).unwrap();
        assert_eq!(memory.metadata().unwrap().len(), window.end);
        let mut before = vec![0; middle as usize];
        memory.read_exact_at(&mut before, 0).unwrap();
        assert!(before.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn where_a_file_was_mapped_tells_where_its_functions_are() {
        let (image, _) = this();
        let segment = image.segments[0];
        let offset = segment.file.0 / PAGE * PAGE;
        let bias = image.bias(0x5555_0000, offset, PAGE).unwrap();
        assert_eq!(segment.address.wrapping_add(bias), 0x5555_0000 + segment.file.0 - offset);
        assert_eq!(image.bias(0x5555_0000, offset + (64 << 30), PAGE), None);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(matches!(image(b""), Err(Unfit::Foreign)));
        assert!(matches!(image(b"#!/bin/sh\n"), Err(Unfit::Foreign)));
        let elf = || trimtab_fixture::Elf::new().text(".text", 0x1000, 0x100);
        let other = elf().machine(elf::EM_RISCV).function("f", 0x1000, 4).build();
        assert!(matches!(image(&other), Err(Unfit::Foreign)));
        let stripped = elf().machine(NATIVE).stripped().build();
        assert!(matches!(image(&stripped), Err(Unfit::NoFunctions)));
        // Symbols, but the file has no segment that would be mapped.
        let unmapped = elf().machine(NATIVE).function("f", 0x1000, 4).build();
        assert!(matches!(image(&unmapped), Err(Unfit::NoFunctions)));
    }

    proptest::proptest! {
        #[test]
        fn damaged_files_are_read_or_refused(
            damage in proptest::collection::vec((0_usize..1 << 20, 0_u8..), 0..40),
            cut in 0_usize..1 << 20,
        ) {
            let mut bytes = SMALL.to_vec();
            for (at, byte) in damage {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            bytes.truncate(SMALL.len() - cut % SMALL.len() / 2);
            if let Ok(image) = image(&bytes) {
                let memory = tempfile::tempfile().unwrap();
                image.functions().iter().for_each(|f| drop(image.name(f)));
                let _ = image.plant(&memory, 0, &(0..1 << 24), |_| true);
            }
        }
    }
}
