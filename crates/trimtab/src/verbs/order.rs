//! `trimtab order`: where code should go, as a linker takes it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli;

/// Writes the order in which a linker is to place functions, from traces of the program.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: order a program by its start-up, then relink with the order

    trimtab order app --trace start.trace --linker lld -o app.order
    clang ... -ffunction-sections -fuse-ld=lld -Wl,--symbol-ordering-file=app.order")]
pub struct Options {
    /// The linked program with its symbols; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// A trace of this very build; of more than one, the first counts first
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub trace: Vec<PathBuf>,
    /// The linker's map of the program: gives what the linker moved exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// The linker that is to follow the order
    #[arg(long, value_name = "LINKER")]
    pub linker: Linker,
    /// Write the order to FILE; - writes it to standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// How the order is found
    #[arg(long, value_name = "NAME", default_value = "first-execution")]
    pub algorithm: String,
    /// The least share of the trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = cli::MIN_COVERAGE, value_parser = cli::share)]
    pub min_coverage: f64,
    /// Seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Also write a summary of what was ordered as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Linkers that can follow an order, each with a file format of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Linker {
    /// LLVM's lld: `--symbol-ordering-file`
    Lld,
    /// gold: `--section-ordering-file`
    Gold,
    /// GNU ld: a piece of linker script
    Gnu,
    /// The kernel's own linker script, with trimtab's patch
    Kernel,
}

/// Writes the order.
///
/// # Errors
/// Files that cannot be read or written, and the trace of another build.
pub fn run(_options: &Options) -> anyhow::Result<()> {
    super::not_built("order")
}
