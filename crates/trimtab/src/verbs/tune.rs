//! `trimtab tune`: compiler flags that make a program or a kernel fast.

pub mod bench;
pub mod flags;
pub mod kernel;
pub mod profile;
pub mod program;
pub mod trials;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_layout::cost::CORES;
use trimtab_program::any_of;
use trimtab_report::Report;
use trimtab_tune::TuneProgram;
use trimtab_tune::run::{BATCH, Limits, Plan};
use trimtab_tune::search::Method;

/// What is chosen among, and how.
#[derive(Debug, Args)]
pub struct SearchOptions {
    /// The level that is tuned on top of
    #[arg(long, value_name = "LEVEL", default_value = "-O2", allow_hyphen_values = true)]
    pub level: String,
    /// Choose among the flags of FILE, as tune flags prints them, and not among all of the compiler's
    #[arg(long, value_name = "FILE")]
    pub flags: Option<PathBuf>,
    /// Judge by the cycles of a model of a core, and not by instructions alone
    #[arg(long, value_name = "NAME", value_parser = CORES.map(|core| core.id))]
    pub core: Option<String>,
    /// How to search
    #[arg(long, value_name = "NAME", default_value = Method::Incumbent.name(), help = search_help())]
    pub search: Method,
    /// Seed of the search
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

fn search_help() -> String {
    format!("How to search: {}", any_of(Method::ALL.map(Method::name)))
}

impl SearchOptions {
    fn plan(&self, budget: u32, ablation: Option<u32>) -> Plan {
        let ablation = ablation.map(|most| most as usize);
        Plan {
            method: self.search,
            budget: budget as usize,
            seed: self.seed,
            batch: BATCH,
            ablation,
        }
    }
}

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
    /// Find the flags that make a kernel's system calls fast
    Kernel(kernel::Options),
    /// Compare searches on programs of the catalogue
    Bench(bench::Options),
    /// Count the system calls of a command
    Profile(profile::Options),
    /// Print the flags that a compiler has and that are tuned
    Flags(flags::Options),
    /// Write what was tried into a file, or add what was tried elsewhere
    Trials(trials::Options),
}

impl What {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Program(options) => program::run(&options),
            Self::Kernel(options) => kernel::run(&options),
            Self::Bench(options) => bench::run(&options),
            Self::Profile(options) => profile::run(&options),
            Self::Flags(options) => flags::run(&options),
            Self::Trials(options) => trials::run(&options),
        }
    }
}

/// The text of a file of flags, with its name.
///
/// # Errors
/// That it cannot be read.
fn flags_of(file: Option<&Path>) -> anyhow::Result<Option<(String, String)>> {
    let Some(file) = file else { return Ok(None) };
    let text = text_of(file)?;
    Ok(Some((file.display().to_string(), text)))
}

/// The text of a file that somebody gives.
///
/// # Errors
/// That it cannot be read.
fn text_of(file: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read {}", file.display());
    let bytes = Bytes::open(file).with_context(cannot)?;
    Ok(bytes.to_text().with_context(cannot)?.to_owned())
}

/// What does not hold is a failure.
fn verdict(found: &TuneProgram) -> anyhow::Result<()> {
    let broken = found.failures();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{} was tuned, but not everything holds: {}",
        found.program,
        broken.join("; ")
    ))
    .into())
}
