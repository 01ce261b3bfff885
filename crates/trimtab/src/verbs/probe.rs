//! `trimtab probe`: entry and exit of functions, in programs that are built from objects.

mod arguments;
pub mod bench;
pub mod build;
pub mod instrument;
pub mod link;
pub mod report;
mod summary;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Instrument objects and archives, between compiling and linking
    Instrument(instrument::Options),
    /// Run a build whose programs are instrumented when they are linked
    Build(build::Options),
    /// Show what instrumented programs recorded
    Report(report::Options),
    /// Measure what instrumentation costs real programs, beside other tools
    Bench(bench::Options),
    /// Stands in for the linker while a build runs
    #[command(hide = true)]
    Link(link::Options),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Instrument(options) => instrument::run(&options),
            Self::Build(options) => build::run(&options),
            Self::Report(options) => report::run(&options),
            Self::Bench(options) => bench::run(&options),
            Self::Link(options) => link::run(&options),
        }
    }
}
