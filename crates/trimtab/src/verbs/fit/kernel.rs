//! `trimtab fit kernel`: a kernel that touches fewer pages while it boots, and the proof.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::{self, Outputs};

/// Builds a kernel, traces its boot, orders its functions by it, relinks, boots again, and
/// compares; also on machines whose boots did not make the order, and with random orders.
///
/// A run that was stopped, by whatever, is resumed by the same command.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: fit Debian's kernel, and look at the result in a browser

    trimtab fit kernel --config lab --html fit.html")]
pub struct Options {
    /// Kernel source: a tarball or a directory, which is copied and not changed
    /// [default: the newest supported /usr/src/linux-source-*.tar.xz]
    #[arg(long, value_name = "TARBALL|DIR")]
    pub source: Option<PathBuf>,
    /// Kernel configuration: tiny (builds fast), lab (virtio, ext4, network, PCI, ACPI), or a file
    #[arg(long, value_name = "tiny|lab|FILE", default_value = "lab")]
    pub config: String,
    /// Architecture to build for
    #[arg(long, value_name = "ARCH", default_value = "x86_64")]
    pub arch: Arch,
    /// Where to build, and to keep what a later run can use again
    #[arg(long, value_name = "DIR", default_value = cli::WORK)]
    pub work: PathBuf,
    /// Boots to trace for the order
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: u32,
    /// Boots of each side to time; 0 for none
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub wall_boots: u32,
    /// What records the boot: the plugin in QEMU sees all code, ftrace what boards can see
    #[arg(long, value_name = "NAME", default_value = "plugin")]
    pub tracer: Tracer,
    /// Compiler of the kernel; the linker is lld for both
    #[arg(long, value_name = "NAME", default_value = "clang")]
    pub compiler: Compiler,
    /// The least share of the trace that has to be found in the kernel, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = cli::MIN_COVERAGE, value_parser = cli::share)]
    pub min_coverage: f64,
    /// Seed of random choices: the shuffles that the order is compared with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Architectures that a kernel can be fitted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arch {
    /// 64-bit PCs
    #[value(name = "x86_64")]
    X86_64,
}

/// What records a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tracer {
    /// trimtab's plugin for QEMU: all code, from the first instruction
    Plugin,
    /// The kernel's function tracer: as on a board, without early boot and entry code
    Ftrace,
}

/// What compiles a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compiler {
    /// LLVM's
    Clang,
    /// GNU's
    Gcc,
}

/// Fits.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a guest that does not come up.
pub fn run(_options: &Options) -> anyhow::Result<()> {
    super::super::not_built("fit kernel")
}
