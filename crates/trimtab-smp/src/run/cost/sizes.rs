//! Sizes of a kernel's sections.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind};

/// The section of what each CPU has a copy of.
const PER_CPU: &str = ".data..percpu";

/// Bytes of a kernel by kind of section, and of each section that is loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Sections of code.
    pub(super) text: u64,
    pub(super) read_only: u64,
    pub(super) data: u64,
    /// Variables in sections of zeros: sections may be padded to large pages.
    pub(super) bss: u64,
    pub(super) per_cpu: u64,
    pub(super) sections: BTreeMap<String, u64>,
}

/// Reads the section headers of an ELF file.
pub(super) fn of(vmlinux: &[u8]) -> Result<Sizes> {
    let file = object::File::parse(vmlinux).context("the kernel's vmlinux cannot be read")?;
    let (mut sizes, mut zeros) = (Sizes::default(), BTreeSet::new());
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        if sh_flags & u64::from(SHF_ALLOC) == 0 {
            continue;
        }
        let name = String::from_utf8_lossy(section.name_bytes()?).into_owned();
        let is = |flag: u32| sh_flags & u64::from(flag) != 0;
        let size = section.size();
        match section.kind() {
            _ if is(SHF_EXECINSTR) => sizes.text += size,
            _ if name == PER_CPU => sizes.per_cpu += size,
            SectionKind::UninitializedData => _ = zeros.insert(section.index().0),
            _ if is(SHF_WRITE) => sizes.data += size,
            _ => sizes.read_only += size,
        }
        *sizes.sections.entry(name).or_default() += section.size();
    }
    let mut variables: BTreeMap<u64, u64> = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data) {
        if symbol.section_index().is_some_and(|section| zeros.contains(&section.0)) {
            // A variable can have further names.
            let size = variables.entry(symbol.address()).or_default();
            *size = symbol.size().max(*size);
        }
    }
    sizes.bss = variables.values().fold(0, |all, size| all.saturating_add(*size));
    Ok(sizes)
}
