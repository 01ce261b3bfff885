//! Arguments that several verbs of `trimtab swap` take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trimtab_swap::run::Inputs;
use trimtab_swap::{Granularity, PatchKind};

use crate::{arguments, formats};

/// What a plan or a sweep is made from.
#[derive(Debug, Args)]
pub struct InputArguments {
    /// The linked kernel with its symbols: vmlinux
    #[arg(value_name = "VMLINUX")]
    pub kernel: PathBuf,
    /// A stream of every block that a boot of this very build executed; more than one are taken
    /// together
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub trace: Vec<PathBuf>,
    /// The linker's map of the kernel: gives its input sections exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// How finely code is taken apart
    #[arg(long, value_name = "WHAT", default_value = "function")]
    pub granularity: Grain,
    /// What can patch code at run time and is never used: without it all that it could patch stays
    /// in memory
    #[arg(long, value_name = "KIND,...", value_delimiter = ',')]
    pub never_patched: Vec<Patcher>,
    /// Swapping begins when this function runs first; what ran before does not count [default:
    /// coldswap_activate, else mark_rodata_ro, mark_readonly or free_initmem]
    #[arg(long, value_name = "FUNCTION")]
    pub from: Option<String>,
    /// The least share of each trace that has to be found in the kernel, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
}

/// How finely code is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grain {
    /// Whole input sections
    Function,
    /// Hot, warm and frozen parts of functions; the kernel needs clang's map of its blocks
    Block,
}

/// What can patch code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Patcher {
    /// The function tracer
    Ftrace,
    /// Jump labels
    JumpLabels,
    /// Static calls
    StaticCalls,
    /// Lock prefixes: boot with noreplace-smp
    SmpLocks,
}

impl From<Grain> for Granularity {
    fn from(grain: Grain) -> Self {
        match grain {
            Grain::Function => Granularity::Function,
            Grain::Block => Granularity::Block,
        }
    }
}

impl From<Patcher> for PatchKind {
    fn from(kind: Patcher) -> Self {
        match kind {
            Patcher::Ftrace => PatchKind::Ftrace,
            Patcher::JumpLabels => PatchKind::JumpLabels,
            Patcher::StaticCalls => PatchKind::StaticCalls,
            Patcher::SmpLocks => PatchKind::SmpLocks,
        }
    }
}

impl InputArguments {
    /// The same for the engine.
    pub fn inputs(&self) -> Inputs {
        Inputs {
            kernel: self.kernel.clone(),
            trace: self.trace.clone(),
            map: self.map.clone(),
            granularity: self.granularity.into(),
            never_patched: self.never_patched.iter().map(|kind| (*kind).into()).collect(),
            from: self.from.clone(),
            min_coverage: self.min_coverage,
            formats: formats::ALL,
        }
    }
}
