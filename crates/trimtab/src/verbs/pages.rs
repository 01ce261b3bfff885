//! `trimtab pages`: what a run touched, and the fewest pages it could have touched.

use std::path::PathBuf;

use clap::Args;
use trimtab_fit::PagesRequest;
use trimtab_fit::pages::pages;

use crate::arguments::{self, Outputs};
use crate::verbs::stored::StoreArguments;
use crate::{destination, formats, output};

/// Counts, per section, the pages that a program's code spans, those that a run touched, and the
/// fewest it could have touched: with functions moved, and with only executed bytes kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: how much of a kernel's boot is there to gain?

    trimtab pages vmlinux --trace boot.trace --html pages.html")]
pub struct Options {
    /// The linked program with its symbols; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// A trace of this very build; more than one are taken together
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub trace: Vec<PathBuf>,
    /// The linker's map of the program: tells where the pages above the minimum come from
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Only this section; where it is not given, .text and a line for each other section of code
    #[arg(long, value_name = "NAME")]
    pub section: Option<String>,
    /// The least share of the trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Counts.
///
/// # Errors
/// Files that cannot be read, and the trace of another build.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let report = pages(&request(options))?;
    options.kept.keep(&report)?;
    output::report(&options.outputs, &report)
}

fn request(options: &Options) -> PagesRequest {
    PagesRequest {
        program: options.program.clone(),
        traces: options.trace.clone(),
        map: options.map.clone(),
        section: options.section.clone(),
        min_coverage: options.min_coverage,
        formats: formats::ALL,
    }
}
