//! `trimtab order`: where code should go, as a linker takes it.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use trimtab_fit::OrderRequest;
use trimtab_fit::order::order;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::say;
use trimtab_layout::{
    DEFAULT_OF_KERNELS, DEFAULT_OF_PROGRAMS, HasName, InPlace, algorithms_and_shuffled,
};
use trimtab_link::{LAYOUT, Linker};

use crate::arguments;
use crate::{destination, formats, output};

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
    /// The linker that is to follow the order.
    #[arg(
        long, value_name = "LINKER", value_parser = arguments::linkers(Linker::ALL),
        help = format!(
            "The linker that is to follow the order [default: {} for a kernel, else {}]",
            Linker::default_for(true), Linker::default_for(false)
        )
    )]
    pub linker: Option<Linker>,
    /// Write the order to FILE; to standard output where it is not given or -
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How the order is found.
    #[arg(
        long, value_name = "NAME",
        help = format!(
            "How the order is found [default: {DEFAULT_OF_KERNELS} for a kernel with its map, else \
             {DEFAULT_OF_PROGRAMS}]"
        )
    )]
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
    let (text, summary) = order(&request(options)?)?;
    match to_file {
        Some(file) => output::whole(file, &text)?,
        None => output::print(&text)?,
    }
    if let Some(file) = &options.json {
        output::json(&summary, file)?;
    }
    match (to_file, json_alone) {
        (_, true) => {}
        (Some(_), false) => output::print(&summary.render(output::width()))?,
        // Standard output holds the order.
        (None, false) => say(summary.render(output::width()).trim_end()),
    }
    Ok(())
}

/// The algorithms with what they do, one a line; then those that are no orders of functions, with
/// what uses them.
fn list() -> String {
    let all = algorithms_and_shuffled(0);
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

fn request(options: &Options) -> anyhow::Result<OrderRequest> {
    Ok(OrderRequest {
        program: options.program.clone().context("there is no program")?,
        traces: options.trace.clone(),
        map: options.map.clone(),
        linker: options.linker,
        output: options.output.clone(),
        algorithm: options.algorithm.clone(),
        seed: options.seed,
        min_coverage: options.min_coverage,
        formats: formats::ALL,
    })
}
