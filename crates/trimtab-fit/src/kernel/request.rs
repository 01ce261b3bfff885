//! What is asked of a fit of a kernel.

use std::path::PathBuf;

use anyhow::Result;
use trimtab_lab::failure::Failure;
use trimtab_program::Isa;

/// A kernel to fit, and how.
#[derive(Debug, Clone)]
pub struct KernelRequest {
    /// Kernel source: a tarball, a Debian source package (`.dsc`), or a directory, which is copied; none for the newest supported one
    /// that is installed.
    pub source: Option<PathBuf>,
    /// Name of a configuration of the lab, or path of a file that holds one.
    pub config: String,
    /// What the kernel is built for.
    pub isa: Isa,
    /// A static busybox for the guest; none for the one that is found.
    pub busybox: Option<PathBuf>,
    /// The work directory.
    pub work: PathBuf,
    /// Boots to trace for the order, from 1 to [`plan::MOST`](super::plan::MOST).
    pub boots: u32,
    /// Boots of each kernel to time; 0 for none.
    pub wall_boots: u32,
    /// Boots on each machine that made no order, at least 1.
    pub held_out_boots: u32,
    /// What is moved.
    pub granularity: Granularity,
    /// What records the boots that make the order.
    pub tracer: Tracer,
    /// What compiles the kernel.
    pub compiler: Compiler,
    /// The least share of a trace that has to be found in the kernel, 0 to 1.
    pub min_coverage: f64,
    /// Seed of the shuffles that the order is compared with.
    pub seed: u64,
    /// Where the report's page will be written; it is named in the report.
    pub html: Option<PathBuf>,
}

/// What is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    /// Functions as they are.
    Function,
    /// The blocks of functions that run, away from those that do not.
    Block,
}

/// What records a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracer {
    /// The plugin for QEMU: all code, from the first instruction.
    Plugin,
    /// The kernel's function tracer: what a board can see.
    Ftrace,
}

/// What compiles a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// LLVM's.
    Clang,
    /// GNU's.
    Gcc,
}

impl KernelRequest {
    /// Fails at once where what was asked for is not to be had with functions split.
    ///
    /// # Errors
    /// What does not go together.
    pub(super) fn check(&self) -> Result<()> {
        if self.granularity == Granularity::Function {
            return Ok(());
        }
        if self.tracer == Tracer::Ftrace {
            return Err(Failure::usage(
                "ftrace sees which functions run, and not which of their blocks; see --help",
            )
            .hint("use --tracer plugin with --granularity block")
            .into());
        }
        match self.compiler {
            Compiler::Clang => Ok(()),
            Compiler::Gcc => Err(cannot_split("gcc").into()),
        }
    }
}

/// That a compiler does not split functions.
pub(super) fn cannot_split(compiler: &str) -> Failure {
    Failure::new(format!(
        "{compiler} cannot split functions: the kernel's configuration does not accept \
         CONFIG_BLOCK_ORDER, which needs clang"
    ))
    .hint("use --compiler clang, or --granularity function")
}
