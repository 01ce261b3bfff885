//! `trimtab rent`: memory that is reserved for an idle device holds page cache meanwhile.

pub mod plan;
pub mod run;
pub mod sweep;
pub mod verify;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say from a trace what renting would bring, before a kernel is patched
    Plan(plan::Options),
    /// Build such a kernel, run loads in it, and return the memory beside them
    Run(run::Options),
    /// The same kernel: how fast memory of several sizes comes back, plain, overwritten, or with what was in use kept
    Sweep(sweep::Options),
    /// Compare each byte of random operations in such guests, and in some whose kernel lacks something
    Verify(verify::Options),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Plan(options) => plan::run(&options),
            Self::Run(options) => run::run(&options),
            Self::Sweep(options) => sweep::run(&options),
            Self::Verify(options) => verify::run(&options),
        }
    }
}
