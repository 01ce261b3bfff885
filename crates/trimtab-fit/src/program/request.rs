//! What is asked of a fit of a program.

use std::path::PathBuf;

use trimtab_link::Linker;

/// A program to fit, and how.
#[derive(Debug, Clone)]
pub struct ProgramRequest {
    /// The program `trimtab` itself: it stands in the place of compilers and linkers while the
    /// build runs, and starts what is measured.
    pub trimtab: PathBuf,
    /// The command that builds the program; a shell runs it in the current folder.
    pub build: String,
    /// Commands that start the program and end, at least one; the first is the one to make better.
    pub run: Vec<String>,
    /// Commands that judge the order and do not make it.
    pub held_out: Vec<String>,
    /// The program that is laid out; none for what the first command starts.
    pub program: Option<PathBuf>,
    /// Shared libraries of the same build that are laid out as well.
    pub library: Vec<PathBuf>,
    /// Versions of the program that others made, to be measured in turn with ours: name and file.
    pub beside: Vec<(String, PathBuf)>,
    /// What is moved.
    pub granularity: Granularity,
    /// At the granularity of blocks: how those that stay follow each other.
    pub block_order: BlockOrder,
    /// What records the runs.
    pub tracer: Tracer,
    /// What links the program.
    pub linker: Linker,
    /// Where the sections lie in the file.
    pub sections: Sections,
    /// Name of the algorithm that finds the order.
    pub algorithm: String,
    /// Starts of each side to measure, cold and warm; 0 for none.
    pub runs: u32,
    /// Seconds that one run may take before it is ended.
    pub limit: u64,
    /// Seconds that one build may take before it is ended.
    pub build_limit: u64,
    /// The least share of a trace that has to be found in the program, 0 to 1.
    pub min_coverage: f64,
    /// Seed of the shuffles that the order is compared with.
    pub seed: u64,
    /// The work directory.
    pub work: PathBuf,
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

/// How the blocks of a function that run follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOrder {
    /// As the compiler has them.
    Source,
    /// So that jumps that are often taken are short or fall through.
    ExtTsp,
}

/// Where the sections of a program lie in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sections {
    /// With lld: what a start needs stands together. Other linkers keep their own way.
    Together,
    /// As the linker always does.
    Kept,
}

/// What records a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracer {
    /// QEMU; where it is missing or the program does not run in it, breakpoints.
    Auto,
    /// QEMU with the plugin: every block, and it counts instructions.
    Qemu,
    /// Breakpoints: functions, not their blocks, of any program.
    Native,
}
