//! `trimtab rent`: memory that is reserved for an idle device holds page cache meanwhile.

pub mod plan;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say from a trace what renting would bring, before a kernel is patched
    Plan(plan::Options),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Plan(options) => plan::run(&options),
        }
    }
}
