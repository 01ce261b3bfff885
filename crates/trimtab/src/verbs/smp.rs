//! `trimtab smp`: what several CPUs cost a kernel, and CPUs that a kernel does not know.

pub mod bench_appkernel;
pub mod cost;
mod guest;
pub mod locks;
pub mod predict;
pub mod run;
pub mod scale;
pub mod study;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Count locks, lines that SMP changes, and complexity in trees of kernel source
    Study(study::Options),
    /// Say what SMP costs a kernel: bytes, and instructions of boots, calls, switches, faults and locks
    Cost(cost::Options),
    /// Predict from a trace what more CPUs would give, by kinds of locks
    Predict(predict::Options),
    /// Draw how a workload gets faster with the number of CPUs
    Scale(scale::Options),
    /// Draw how a workload gets faster with CPUs with one lock around the kernel, one per subsystem, and its own
    Locks(locks::Options),
    /// Run a program on the CPUs of the application kernel, which Linux does not know
    Run(run::Options),
    /// Say what the application kernel's CPUs did
    Status,
    /// Test the application kernel in a guest, and count what its calls and faults cost
    BenchAppkernel(bench_appkernel::Options),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Study(options) => study::run(&options),
            Self::Cost(options) => cost::run(&options),
            Self::Predict(options) => predict::run(&options),
            Self::Scale(options) => scale::run(&options),
            Self::Locks(options) => locks::run(&options),
            Self::Run(options) => run::run(&options),
            Self::Status => run::status(),
            Self::BenchAppkernel(options) => bench_appkernel::run(&options),
        }
    }
}
