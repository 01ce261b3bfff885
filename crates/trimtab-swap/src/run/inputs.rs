//! What a plan or a sweep is made from: the files of a kernel, and traces.

use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_inputs::{Elf, Format, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_program::{BlockMap, BlockMapError, Program};

use crate::{Code, Granularity, PatchKind, Run};

/// What a plan or a sweep is made from.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The linked kernel with its symbols.
    pub kernel: PathBuf,
    /// Streams of every block that boots of this very build executed, at least one; they are taken
    /// together.
    pub trace: Vec<PathBuf>,
    /// The linker's map of the kernel.
    pub map: Option<PathBuf>,
    /// How finely code is taken apart.
    pub granularity: Granularity,
    /// What can patch code at run time and is never used.
    pub never_patched: Vec<PatchKind>,
    /// Swapping begins when this function runs first; none for the first of those that kernels have
    /// for it.
    pub from: Option<String>,
    /// The least share of each trace that has to be found in the kernel, 0 to 1.
    pub min_coverage: f64,
    /// Further formats of traces that can be read.
    pub formats: &'static [Format],
}

impl Inputs {
    /// What can patch code and is promised not to be used, ascending, each once.
    pub fn never(&self) -> Vec<PatchKind> {
        let mut kinds = self.never_patched.clone();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Files of a kernel, read.
pub struct Files {
    elf: Elf,
    pub(super) map: Option<Text>,
}

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn open(inputs: &Inputs) -> anyhow::Result<Self> {
        let elf = Elf::open(&inputs.kernel)?;
        let map = inputs.map.as_deref().map(Text::of_map).transpose()?;
        Ok(Self { elf, map })
    }

    /// The kernel's content.
    pub fn bytes(&self) -> &[u8] {
        self.elf.bytes()
    }

    /// The kernel's file.
    pub fn path(&self) -> &Path {
        self.elf.path()
    }

    /// The kernel.
    ///
    /// # Errors
    /// That it is no linked program.
    pub fn program(&self) -> anyhow::Result<Program<'_>> {
        self.elf.program()
    }
}

/// Reads the map of blocks, if there is one; there has to be one for `granularity` block.
///
/// # Errors
/// A damaged map, or none where one is needed.
pub fn block_map(files: &Files, granularity: Granularity) -> anyhow::Result<Option<BlockMap>> {
    match BlockMap::parse(files.bytes()) {
        Ok(map) => Ok(Some(map)),
        Err(BlockMapError::Missing) if granularity == Granularity::Function => Ok(None),
        Err(error) => Err(error).with_context(|| files.path().display().to_string()),
    }
}

/// Reads traces, also of further `formats`, all of which have to be streams.
///
/// # Errors
/// Files that cannot be read, and traces of first executions only.
pub fn runs(
    paths: &[PathBuf],
    program: &Program<'_>,
    min_coverage: f64,
    formats: &[Format],
) -> anyhow::Result<Runs> {
    let runs = Runs::read(paths, program, min_coverage, formats)?;
    if let Some(run) = runs.runs.iter().find(|run| !run.complete) {
        return Err(Failure::new(format!(
            "{} says only what ran first; expected a stream of every execution, from which it is \
             known how often code runs and what it runs together with",
            run.path.display()
        ))
        .hint("record one with trimtab trace --stream FILE")
        .into());
    }
    Ok(runs)
}

/// Streams that count from where swapping begins.
///
/// # Errors
/// That there is no such function, or none of it ran.
pub fn swapping_runs<'a>(
    runs: &'a Runs,
    code: &Code<'_>,
    from: Option<&str>,
) -> anyhow::Result<(Vec<Run<'a>>, String)> {
    let streams: Vec<_> = runs.streams()?.into_iter().flatten().collect();
    Ok(Run::all_after(streams, code, from)?)
}
