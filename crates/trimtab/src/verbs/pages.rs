//! `trimtab pages`: what a run touched, and the fewest pages it could have touched.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{self, Outputs};

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
    /// The linker's map of the program: gives what the linker moved exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Only this section; all sections of code where it is not given
    #[arg(long, value_name = "NAME")]
    pub section: Option<String>,
    /// The least share of the trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = cli::MIN_COVERAGE, value_parser = cli::share)]
    pub min_coverage: f64,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Counts.
///
/// # Errors
/// Files that cannot be read, and the trace of another build.
pub fn run(_options: &Options) -> anyhow::Result<()> {
    super::not_built("pages")
}
