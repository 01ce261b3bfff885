//! What is asked of a fit of a kernel.

use std::path::PathBuf;

use trimtab_program::Isa;

/// A kernel to fit, and how.
#[derive(Debug, Clone)]
pub struct KernelRequest {
    /// Kernel source: a tarball, or a directory, which is copied; none for the newest supported one
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
