//! `trimtab smp`: what several CPUs cost a kernel.

pub mod study;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Count locks, lines that SMP changes, and complexity in trees of kernel source
    Study(study::Options),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Study(options) => study::run(&options),
        }
    }
}
