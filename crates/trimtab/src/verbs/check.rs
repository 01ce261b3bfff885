//! `trimtab check`: did the linker do what the order says?

use std::path::PathBuf;

use clap::Args;

/// Accounts for every line of an order: placed, unknown, duplicate name, discarded, or pinned by
/// the kernel; and checks the boundary symbols of a kernel.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: after relinking with the order, see what became of it

    trimtab check vmlinux --order boot.order --before vmlinux.before")]
pub struct Options {
    /// The program as it was linked with the order; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// The order that the linker was given
    #[arg(long, value_name = "FILE")]
    pub order: PathBuf,
    /// The program as it was linked without the order, to compare boundary symbols and sizes
    #[arg(long, value_name = "PROGRAM")]
    pub before: Option<PathBuf>,
    /// The linker's map of the program: tells input sections apart that share a name
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Checks.
///
/// # Errors
/// Files that cannot be read, and an order that was not honoured.
pub fn run(_options: &Options) -> anyhow::Result<()> {
    super::not_built("check")
}
