//! `trimtab trace`: what ran while a kernel booted.

use std::path::PathBuf;

use clap::Args;

use super::fit::kernel::Tracer;

/// Boots a kernel in a guest and records which of its code ran, in order of first execution.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: trace one boot of a kernel of your own, on a machine with 256 MiB and two CPUs

    trimtab trace arch/x86/boot/bzImage --vmlinux vmlinux --memory 256 --cpus 2 -o boot.trace")]
pub struct Options {
    /// The kernel image that boots, or a work directory of trimtab fit kernel
    #[arg(value_name = "KERNEL")]
    pub kernel: PathBuf,
    /// The linked kernel of that image, with its symbols
    #[arg(long, value_name = "FILE")]
    pub vmlinux: Option<PathBuf>,
    /// Write the trace to FILE
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// What records: the plugin in QEMU sees all code, ftrace what boards can see
    #[arg(long, value_name = "NAME", default_value = "plugin")]
    pub tracer: Tracer,
    /// Memory of the guest in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(32..=65536))]
    pub memory: u32,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: u32,
    /// What the guest runs after it has booted
    #[arg(long, value_name = "NAME", default_value = "boot")]
    pub workload: String,
    /// Give up on the guest after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub timeout: u32,
    /// Also write a summary of what was recorded as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Traces.
///
/// # Errors
/// Missing tools, a guest that does not come up, files that cannot be read or written.
pub fn run(_options: &Options) -> anyhow::Result<()> {
    super::not_built("trace")
}
