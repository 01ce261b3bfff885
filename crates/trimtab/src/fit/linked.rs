//! A linked kernel as the layout sees it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use trimtab_layout::pages;
use trimtab_link::kernel;
use trimtab_profile::{Profile, Trace, read};
use trimtab_program::{Fragment, Fragments, LinkMap, Program, Range, RangeSet, SectionId};

/// The files of a linked kernel, in memory.
#[derive(Debug)]
pub struct Files {
    vmlinux: PathBuf,
    data: Vec<u8>,
    map: String,
}

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// That one cannot be read.
    pub fn read(vmlinux: &Path, map: &Path) -> Result<Self> {
        let cannot = |path: &Path| format!("cannot read {}", path.display());
        Ok(Files {
            vmlinux: vmlinux.to_owned(),
            data: fs::read(vmlinux).with_context(|| cannot(vmlinux))?,
            map: fs::read_to_string(map).with_context(|| cannot(map))?,
        })
    }

    /// Makes sense of them.
    ///
    /// # Errors
    /// That they are no kernel, or do not belong together.
    pub fn kernel(&self) -> Result<Kernel<'_>> {
        let name = || self.vmlinux.display().to_string();
        let program = Program::parse(&self.data).with_context(name)?;
        let map = LinkMap::parse(&self.map).with_context(name)?;
        let Some((text, _)) = program.section_named(".text") else {
            bail!("{} has no section .text", name());
        };
        if !kernel::is_kernel(&program) {
            bail!("{} is not a Linux kernel: it has no _stext and _etext", name());
        }
        let fragments = Fragments::from_link_map(&program, &map, text);
        let orphans = fragments.orphans(&program).count();
        let functions = program.functions().iter().filter(|f| f.section == text).count();
        if orphans * 100 > functions {
            bail!(
                "the linker's map does not belong to {}: {orphans} of its {functions} functions \
                 are not in it",
                name()
            );
        }
        let bounded = kernel::bounded_ranges(&program);
        Ok(Kernel { program, text, fragments, bounded })
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
    bounded: Vec<Range>,
}

impl Kernel<'_> {
    /// Whether a layout may move this fragment.
    pub fn movable(&self, fragment: &Fragment<'_>) -> bool {
        kernel::pinned(fragment, &self.bounded).is_none()
    }

    /// The ranges between boundary symbols.
    pub fn bounded(&self) -> &[Range] {
        &self.bounded
    }

    /// Addresses of its text.
    pub fn range(&self) -> Range {
        self.program.section(self.text).range
    }

    /// Finds a trace in it.
    pub fn profile(&self, trace: &Trace) -> Profile {
        Profile::resolve(trace, &self.program)
    }

    /// How many pages of the text a set of executed bytes touches.
    pub fn touched(&self, executed: &RangeSet) -> u32 {
        let executed: RangeSet = executed.within(self.range()).collect();
        u32::try_from(pages::touched(&executed).len()).unwrap_or(u32::MAX)
    }
}

/// Reads a trace from a file.
///
/// # Errors
/// That it cannot be read, or is no trace.
pub fn trace(path: &Path) -> Result<Trace> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    read::read(&text).with_context(|| path.display().to_string())
}
