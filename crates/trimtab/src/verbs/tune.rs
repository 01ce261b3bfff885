//! `trimtab tune`: compiler flags that make a program fast.

pub mod bench;
pub mod flags;
pub mod program;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Find the flags that make a program fast, and the fewest that do
    Program(program::Options),
    /// Compare searches on programs of the catalogue
    Bench(bench::Options),
    /// Print the flags that a compiler has and that are tuned
    Flags(flags::Options),
}

impl What {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Program(options) => program::run(&options),
            Self::Bench(options) => bench::run(&options),
            Self::Flags(options) => flags::run(&options),
        }
    }
}
