//! A linked kernel as the layout sees it.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use trimtab_link::kernel::{self, Pin};
use trimtab_profile::{Profile, Trace};
use trimtab_program::{BlockMap, Fragment, Fragments, Program, Range, SectionId};

use trimtab_inputs::{self as inputs, Elf, Text};
use trimtab_link::kernel::Mobility;

/// The files of a linked kernel.
#[derive(Debug)]
pub struct Files {
    vmlinux: Elf,
    map: Text,
}

impl Files {
    /// Opens them.
    ///
    /// # Errors
    /// That one cannot be read.
    pub fn open(vmlinux: &Path, map: &Path) -> Result<Self> {
        Ok(Files { vmlinux: Elf::open(vmlinux)?, map: Text::of_map(map)? })
    }

    /// Makes sense of them.
    ///
    /// # Errors
    /// That they are no kernel, or do not belong together.
    pub fn kernel(&self) -> Result<Kernel<'_>> {
        let path = self.vmlinux.path();
        let program = self.vmlinux.program()?;
        let map = self.map.link_map()?;
        let text = inputs::section(&program, path, None)?;
        let mobility = Mobility::of(&program);
        if !mobility.is_kernel() {
            bail!("{} is not a Linux kernel: it has no _stext and _etext", path.display());
        }
        let fragments = inputs::fragments(&program, Some((&map, self.map.path())), text)?;
        Ok(Kernel { program, text, fragments, mobility })
    }

    /// Its basic blocks.
    ///
    /// # Errors
    /// That the compiler wrote down none, or in a way that is not known.
    pub fn block_map(&self) -> Result<BlockMap> {
        BlockMap::parse(self.vmlinux.bytes()).with_context(|| {
            format!("cannot split the functions of {}", self.vmlinux.path().display())
        })
    }
}

/// A linked kernel.
#[derive(Debug)]
pub struct Kernel<'data> {
    /// Its functions.
    pub program: Program<'data>,
    /// The section that holds them.
    pub text: SectionId,
    /// Its input sections.
    pub fragments: Fragments<'data>,
    mobility: Mobility,
}

impl Kernel<'_> {
    /// Whether a layout may move this fragment.
    pub fn movable(&self, fragment: &Fragment<'_>) -> bool {
        self.mobility.allows(fragment)
    }

    /// How many functions it has, less those that the linker made.
    pub fn functions(&self) -> usize {
        let functions = self.program.functions().iter();
        functions
            .filter(|function| !function.name.ends_with(".cold"))
            .filter(|function| !kernel::is_linker_made(function.name))
            .count()
    }

    /// Each piece of code behind which the linker put something of its own, by its address, and how
    /// many bytes there are from its end to the end of that.
    pub fn linker_made(&self) -> HashMap<u64, u64> {
        let mut made = HashMap::new();
        let mut owner: Option<Range> = None;
        for fragment in self.fragments.as_slice() {
            let pin = kernel::pinned(fragment, &[]);
            match (pin, owner) {
                (Some(Pin::Linker), Some(owner)) => {
                    made.insert(owner.start, fragment.range.end.saturating_sub(owner.end));
                }
                _ => owner = Some(fragment.range),
            }
        }
        made
    }

    /// The ranges between boundary symbols.
    pub fn pinned(&self) -> &[Range] {
        self.mobility.pinned()
    }

    /// Addresses of its text.
    pub fn range(&self) -> Range {
        self.program.section(self.text).range
    }

    /// Finds a trace in it.
    pub fn profile(&self, trace: &Trace) -> Profile {
        Profile::resolve(trace, &self.program)
    }
}
