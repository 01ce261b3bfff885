//! `trimtab order`: where code should go, as a linker takes it.

mod summary;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use trimtab_layout::{
    Algorithm, InPlace, Movable, Named, Order, PieceId, Placement, Shuffled, algorithms, named,
};
use trimtab_link::{Followed, LAYOUT};
use trimtab_program::{FragmentId, Fragments, Program, SectionId};

use crate::arguments;
use crate::{destination, output};
use summary::Summary;
use trimtab_inputs::{self as inputs, Elf, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_link::Linker;
use trimtab_link::kernel::Mobility;

/// Name of the order that is random, which no trace makes.
const SHUFFLED: &str = "shuffled";

/// Writes the order in which a linker is to place functions, from traces of the program.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: order a program by its start-up, then relink with the order

    trimtab order app --trace start.trace --linker lld -o app.order
    clang ... -ffunction-sections -fuse-ld=lld -Wl,--symbol-ordering-file=app.order")]
pub struct Options {
    /// The linked program with its symbols; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM", required_unless_present_any = ["list_algorithms", "print_patch"])]
    pub program: Option<PathBuf>,
    /// A trace of this very build; the first is the run to make fast, further ones say what else
    /// can be expected to run
    #[arg(
        long, value_name = "FILE", num_args = 1,
        required_unless_present_any = ["list_algorithms", "print_patch"]
    )]
    pub trace: Vec<PathBuf>,
    /// The linker's map of the program: gives what the linker moved exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// The linker that is to follow the order [default: kernel for a kernel, else lld]
    #[arg(long, value_name = "LINKER", value_parser = arguments::linkers(Linker::ALL))]
    pub linker: Option<Linker>,
    /// Write the order to FILE; to standard output where it is not given or -
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How the order is found [default: packed for a kernel with its map, else fault-curve]
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<String>,
    /// Only list the algorithms that there are
    #[arg(long, conflicts_with_all = ["program", "trace", "print_patch"])]
    pub list_algorithms: bool,
    /// Only print the patch that lets a kernel of this version take an order
    #[arg(
        long, value_name = "VERSION", conflicts_with_all = ["program", "trace"],
        value_parser = PossibleValuesParser::new(LAYOUT.series())
    )]
    pub print_patch: Option<String>,
    /// The least share of each trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Seed of random choices: the order of --algorithm shuffled
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Also write a summary of what was ordered as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Writes the order.
///
/// # Errors
/// Files that cannot be read or written, and the trace of another build.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if options.list_algorithms {
        return output::print(&list());
    }
    if let Some(series) = &options.print_patch {
        return output::print(LAYOUT.patch(series).unwrap_or_default());
    }
    let to_file = options.output.as_deref().filter(|file| !output::is_standard_output(file));
    let json_alone = options.json.as_deref().is_some_and(output::is_standard_output);
    if json_alone && to_file.is_none() {
        return Err(Failure::usage(
            "both the order and its summary are to go to standard output; see --help",
        )
        .hint("give the order a file: -o FILE")
        .into());
    }
    destination::check([options.output.as_deref(), options.json.as_deref()])?;
    let (text, summary) = find(options)?;
    match to_file {
        Some(file) => output::whole(file, &text)?,
        None => output::print(&text)?,
    }
    if let Some(file) = &options.json {
        output::json(&summary, file)?;
    }
    match (to_file, json_alone) {
        (_, true) => {}
        (Some(_), false) => output::print(&summary.render())?,
        // Standard output holds the order.
        (None, false) => eprint!("{}", summary.render()),
    }
    Ok(())
}

/// Finds the order: its text, and what is to be said of it.
fn find(options: &Options) -> anyhow::Result<(String, Summary)> {
    let path = options.program.as_deref().context("there is no program")?;
    let file = Elf::open(path)?;
    let program = file.program()?;
    let mobility = Mobility::of(&program);
    let algorithm = algorithm(options, mobility.is_kernel())?;
    let linker = match options.linker {
        Some(linker) => linker,
        None if mobility.is_kernel() => Linker::Kernel,
        None => Linker::Lld,
    };
    if linker == Linker::Kernel && !mobility.is_kernel() {
        return Err(Failure::usage(format!(
            "{} is no Linux kernel: it has no symbols _stext, _etext and __sched_text_start",
            path.display()
        ))
        .hint("for another program give its linker: --linker lld, gold or gnu")
        .into());
    }
    let map_file = options.map.as_deref().map(Text::of_map).transpose()?;
    let map = map_file.as_ref().map(|text| text.link_map()).transpose()?;
    let with_map = map.as_ref().zip(options.map.as_deref());
    let runs = Runs::read(&options.trace, &program, options.min_coverage, crate::formats::ALL)?;

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
        summary::What {
            program: path,
            linker,
            algorithm: algorithm.name(),
            output: options.output.as_deref(),
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
/// `-z keep-text-section-prefix`. A kernel pins all others, and a piece of GNU ld's script is for one.
fn sections(
    program: &Program<'_>,
    path: &Path,
    linker: trimtab_link::Linker,
) -> Result<Vec<SectionId>, Failure> {
    let main = inputs::section(program, path, None)?;
    if !matches!(linker, trimtab_link::Linker::Lld | trimtab_link::Linker::Gold) {
        return Ok(vec![main]);
    }
    let beside = inputs::sections(program)
        .filter(|id| *id != main && program.section(*id).name.starts_with(".text."));
    Ok(std::iter::once(main).chain(beside).collect())
}

/// One output section, laid out.
pub(crate) struct Part<'data> {
    fragments: Fragments<'data>,
    movable: Movable,
    /// What the order lists.
    listed: Vec<FragmentId>,
    followed: Followed,
    /// Where the linker will put the pieces.
    placement: Placement,
}

impl<'data> Part<'data> {
    fn of(
        program: &Program<'data>,
        fragments: Fragments<'data>,
        runs: &Runs,
        mobility: &Mobility,
        algorithm: &dyn Algorithm,
        linker: trimtab_link::Linker,
    ) -> anyhow::Result<Self> {
        let mut movable =
            Movable::new(&fragments, &runs.profiles, |fragment| mobility.allows(fragment));
        let streams: Vec<_> = runs.streams()?.into_iter().flatten().collect();
        // One trace without transitions would tip the scales.
        if streams.len() == runs.runs.len() {
            movable.observe(&fragments, &streams);
        }
        let problem = movable.problem();
        let order = algorithm.order(&problem);
        let listed: Vec<FragmentId> =
            order.listed().iter().map(|piece| movable.fragment(*piece)).collect();
        let followed = trimtab_link::follow(linker, program, &fragments, &listed);
        let piece_of: HashMap<FragmentId, PieceId> = (0..problem.pieces.len() as u32)
            .map(|piece| (movable.fragment(PieceId(piece)), PieceId(piece)))
            .collect();
        let leading = followed.order.iter().filter_map(|id| piece_of.get(id).copied());
        let order = Order::leading(leading, problem.pieces.len());
        let placement = Placement::new(&problem, &order);
        Ok(Part { placement, listed, followed, movable, fragments })
    }

    fn functions(&self) -> u64 {
        self.listed.iter().map(|id| self.fragments.get(*id).functions().count() as u64).sum()
    }
}

/// The algorithm that was asked for, or the best for what is known. A kernel's text is never loaded
/// on demand, so that fewer pages are what counts; packing needs to know where input sections begin
/// and how they are aligned. In any other program each page is a fault.
fn algorithm(options: &Options, kernel: bool) -> Result<Box<dyn Algorithm>, Failure> {
    let packs = kernel && options.map.is_some();
    let default = if packs { "packed" } else { "fault-curve" };
    let name = options.algorithm.as_deref().unwrap_or(default);
    if name == SHUFFLED {
        return Ok(Box::new(Shuffled { seed: options.seed }));
    }
    named(algorithms(), name).map_err(|unknown| {
        let mut names = unknown.known;
        names.push(SHUFFLED);
        Failure::usage(format!(
            "there is no algorithm {name}, expected {}; see --help",
            names.join(", ")
        ))
        .hint("trimtab order --list-algorithms says what each does")
    })
}

/// The algorithms with what they do, one a line; then those that are no orders of functions, with
/// what uses them.
fn list() -> String {
    let mut all = algorithms();
    all.push(Box::new(Shuffled { seed: 0 }));
    let line = |name: &str, description: &str| format!("{name:<16} {description}\n");
    let mut text: String =
        all.iter().map(|algorithm| line(algorithm.name(), algorithm.description())).collect();
    let in_place = InPlace::default();
    text += "\nParts of functions, in trimtab fit kernel --granularity block:\n";
    text += &line(in_place.name(), in_place.description());
    text +=
        "\nBlocks within a function, in trimtab fit program --granularity block --block-order:\n";
    text += &line("source", "as the compiler has them");
    text += &line("ext-tsp", "jumps often taken are short or fall through (IEEE TC 2020)");
    text
}
