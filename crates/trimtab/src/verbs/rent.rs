//! `trimtab rent`: memory that is reserved for an idle device holds page cache meanwhile.

pub mod plan;
pub mod run;
pub mod sweep;
pub mod verify;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use trimtab_lab::bytes;
use trimtab_lab::failure::Failure;
use trimtab_rent::run::Basis;
use trimtab_report::Report;

use crate::arguments::{self, Arch, Outputs};
use crate::verbs::stored;
use crate::{destination, output};

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say from a trace what renting would bring, before a kernel is patched
    Plan(plan::Options),
    /// Build a kernel that lends memory of idle devices, run loads in it, and return the memory beside them
    Run(run::Options),
    /// Say how fast lent memory of several sizes comes back: plain, overwritten, or with what was in use kept
    Sweep(sweep::Options),
    /// Compare each byte of random file operations where memory is lent, also in kernels that lack something
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

/// Which kernel the guests have, and where results go.
#[derive(Debug, Args)]
pub struct GuestArguments {
    /// The first of the random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub seed: u32,
    /// Architecture of the guests
    #[arg(long, value_name = "ARCH", default_value = "x86_64")]
    pub arch: Arch,
    /// The kernel's configuration: tiny, lab, or a file; what is needed is added to it
    #[arg(long, value_name = "NAME", default_value = "tiny")]
    pub config: String,
    /// The kernel's source [default: the newest installed source package]
    #[arg(long, value_name = "PATH")]
    pub source: Option<PathBuf>,
    /// Compare with GCMA, too: a patch for the same source that gives a kernel gcma_register_area(); none comes with trimtab
    #[arg(long, value_name = "PATCH")]
    pub gcma: Option<PathBuf>,
    /// Where to work, and where what was built is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

impl GuestArguments {
    /// Whether results can be written and the patch be read, before hours of work.
    fn check(&self) -> anyhow::Result<()> {
        if let Some(patch) = &self.gcma {
            bytes::open(patch).with_context(|| format!("cannot read {}", patch.display()))?;
        }
        Ok(destination::check([self.outputs.json.as_deref(), self.outputs.html.as_deref()])?)
    }

    fn basis(&self) -> Basis {
        Basis {
            work: self.work.clone(),
            kernel_source: self.source.clone(),
            config: self.config.clone(),
            isa: self.arch.isa(),
            gcma: self.gcma.clone(),
            seed: self.seed,
            command: trimtab_lab::shell::own_words().join(" "),
        }
    }

    /// Stores a report and shows it; what must hold and does not is an error.
    fn show<R: Report>(&self, found: &R) -> anyhow::Result<()> {
        stored::keep(&self.work, found)?;
        output::report(&self.outputs, found)?;
        match found.failures().as_slice() {
            [] => Ok(()),
            broken => {
                Err(Failure::new(format!("not everything holds: {}", broken.join("; "))).into())
            }
        }
    }
}
