//! Ordering: where code should go, as a linker takes it.

mod part;
mod summary;

use std::path::{Path, PathBuf};

use trimtab_inputs::{self as inputs, Elf, Format, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_layout::{
    Algorithm, DEFAULT_OF_KERNELS, DEFAULT_OF_PROGRAMS, algorithms_and_shuffled, named,
};
use trimtab_link::Linker;
use trimtab_link::kernel::Mobility;
use trimtab_program::{Program, SectionId};

use part::Part;
pub use summary::Summary;

/// What is ordered, and for whom.
#[derive(Debug, Clone)]
pub struct OrderRequest {
    /// The linked program with its symbols.
    pub program: PathBuf,
    /// Traces of this very build; the first is the run to make fast.
    pub traces: Vec<PathBuf>,
    /// The linker's map of the program.
    pub map: Option<PathBuf>,
    /// The linker that is to follow the order; without it [`Linker::default_for`] the program.
    pub linker: Option<Linker>,
    /// The file that the order will be written to, for the line that says how to use it.
    pub output: Option<PathBuf>,
    /// How the order is found; without it [`DEFAULT_OF_KERNELS`] for a kernel with its map, else
    /// [`DEFAULT_OF_PROGRAMS`].
    pub algorithm: Option<String>,
    /// Seed of the shuffled order.
    pub seed: u64,
    /// The least share of each trace that has to be found in the program, 0 to 1.
    pub min_coverage: f64,
    /// Formats of traces that are read beside the common ones.
    pub formats: &'static [Format],
}

/// Finds the order: its text, and what is to be said of it.
///
/// # Errors
/// Files that cannot be read, the trace of another build, an unknown algorithm, and that there is
/// nothing to order.
pub fn order(request: &OrderRequest) -> anyhow::Result<(String, Summary)> {
    let path = request.program.as_path();
    let file = Elf::open(path)?;
    let program = file.program()?;
    let mobility = Mobility::of(&program);
    let algorithm = algorithm(request, mobility.is_kernel())?;
    let linker = request.linker.unwrap_or_else(|| Linker::default_for(mobility.is_kernel()));
    if linker.program().is_none() && !mobility.is_kernel() {
        return Err(Failure::usage(format!(
            "{} is no Linux kernel: it has no symbols _stext, _etext and __sched_text_start",
            path.display()
        ))
        .hint(format!(
            "for another program give its linker: --linker {}",
            Linker::list(Linker::of_programs())
        ))
        .into());
    }
    let map_file = request.map.as_deref().map(Text::of_map).transpose()?;
    let map = map_file.as_ref().map(|text| text.link_map()).transpose()?;
    let with_map = map.as_ref().zip(request.map.as_deref());
    let runs = Runs::read(&request.traces, &program, request.min_coverage, request.formats)?;

    let sections = sections(&program, path, linker)?;
    let mut parts = Vec::new();
    for section in &sections {
        let fragments = inputs::fragments(&program, with_map, *section)?;
        parts.push(Part::of(&program, fragments, &runs, &mobility, &*algorithm, linker)?);
    }
    let listed = parts.iter().flat_map(|part| part.listed.iter().map(|id| part.fragments.get(*id)));
    let emitted = trimtab_link::write(linker, listed);
    if emitted.lines == 0 {
        let names: Vec<&str> = sections.iter().map(|id| program.section(*id).name).collect();
        return Err(Failure::new(format!(
            "there is nothing to order: no function in {} of {} that can be moved ran",
            names.join(", "),
            path.display()
        ))
        .hint("trimtab pages says what ran in which section")
        .into());
    }
    let functions = parts.iter().map(Part::functions).sum();
    let summary = Summary::new(
        summary::OrderContext {
            program: path,
            linker,
            algorithm: algorithm.name(),
            output: request.output.as_deref(),
            exact: with_map.is_some(),
        },
        &emitted,
        functions,
        &runs,
        |profile| summary::predict(&program, &parts, profile),
    )
    .with_namesakes(&parts)
    .with_elsewhere(&program, &sections, &runs.profiles);
    Ok((emitted.text, summary))
}

/// The output sections that are laid out, each by itself: `.text`, and what linkers make beside it with
/// `-z keep-text-section-prefix`, where the linker's order is for these, too.
fn sections(program: &Program<'_>, path: &Path, linker: Linker) -> Result<Vec<SectionId>, Failure> {
    let main = inputs::section(program, path, None)?;
    if !linker.orders_all_sections() {
        return Ok(vec![main]);
    }
    let beside = inputs::sections(program)
        .filter(|id| *id != main && program.section(*id).name.starts_with(".text."));
    Ok(std::iter::once(main).chain(beside).collect())
}

/// The algorithm that was asked for, or the best for what is known. A kernel's text is never loaded
/// on demand, so that fewer pages are what counts; packing needs to know where input sections begin
/// and how they are aligned. In any other program each page is a fault.
fn algorithm(request: &OrderRequest, kernel: bool) -> Result<Box<dyn Algorithm>, Failure> {
    let packs = kernel && request.map.is_some();
    let default = if packs { DEFAULT_OF_KERNELS } else { DEFAULT_OF_PROGRAMS };
    let name = request.algorithm.as_deref().unwrap_or(default);
    named(algorithms_and_shuffled(request.seed), name).map_err(|unknown| {
        Failure::usage(format!(
            "there is no algorithm {name}, expected {}; see --help",
            unknown.known.join(", ")
        ))
        .hint("trimtab order --list-algorithms says what each does")
    })
}
