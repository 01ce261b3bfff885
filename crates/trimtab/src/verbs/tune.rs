//! `trimtab tune`: compiler flags that make a program fast.

pub mod bench;
pub mod flags;
pub mod profile;
pub mod program;

use std::time::Duration;

use clap::{Args, Subcommand};
use trimtab_tune::run::Limits;

/// What builds and runs may take.
#[derive(Debug, Args)]
pub struct LimitOptions {
    /// Seconds that a build may take
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub build_limit: u64,
    /// Seconds that a run or a check may take, also when it is counted
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub limit: u64,
    /// MiB of data that a process of a build, run or check may have
    #[arg(long, value_name = "MIB", default_value = "4096", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub memory_limit: u64,
}

impl LimitOptions {
    fn limits(&self) -> Limits {
        Limits {
            build: Duration::from_secs(self.build_limit),
            run: Duration::from_secs(self.limit),
            memory: self.memory_limit << 20,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Find the flags that make a program fast, and the fewest that do
    Program(program::Options),
    /// Compare searches on programs of the catalogue
    Bench(bench::Options),
    /// Count the system calls of a command
    Profile(profile::Options),
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
            Self::Profile(options) => profile::run(&options),
            Self::Flags(options) => flags::run(&options),
        }
    }
}
