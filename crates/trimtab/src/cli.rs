//! The command line.

use clap::{Parser, Subcommand};

use crate::progress::Detail;
use crate::verbs::{
    check, compare, completions, doctor, fit, jar, man_pages, order, pages, probe, rent, report,
    smp, swap, trace, tune, worker, wrapped,
};

/// Fits Linux to the machine it runs on: traces what really executes, decides where code should
/// go, builds it that way, and proves the effect by running it again.
#[derive(Debug, Parser)]
#[command(
    version = env!("TRIMTAB_VERSION"),
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 failed, 2 bad usage, 130 stopped by Ctrl-C."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Show no progress, only results and failures
    #[arg(long, short, global = true, display_order = 1000)]
    pub quiet: bool,
    /// Show each command that is started
    #[arg(long, short, global = true, conflicts_with = "quiet", display_order = 1000)]
    pub verbose: bool,
}

impl Cli {
    /// How much is to be shown while it is done.
    pub fn detail(&self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Commands,
            _ => Detail::Stages,
        }
    }
}

/// What a person wants done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say what this machine has, what is missing, and the command that installs it
    Doctor(doctor::Options),
    /// Build, trace, lay out, relink, run again, compare
    Fit {
        /// What to fit.
        #[command(subcommand)]
        what: fit::Verb,
    },
    /// Trace the boot of a kernel, or a run of a program
    Trace(trace::Options),
    /// Count the pages that a run touched, and the fewest it could have touched
    Pages(pages::Options),
    /// Write the order of functions that a linker is to follow
    Order(order::Options),
    /// Compare the orders of all algorithms on traces that made them and on others
    Compare(compare::Options),
    /// Account for every line of an order in the program that was linked with it
    Check(check::Options),
    /// Have a program call a hook at the entry and the exit of its functions
    Probe {
        /// What to do.
        #[command(subcommand)]
        what: probe::Verb,
    },
    /// Keep only that code of a kernel in memory which is needed
    Swap {
        /// What to do.
        #[command(subcommand)]
        what: swap::Verb,
    },
    /// Find compiler flags that make a program fast
    Tune {
        /// What to do.
        #[command(subcommand)]
        what: tune::What,
    },
    /// Count what several CPUs change in a kernel
    Smp {
        /// What to do.
        #[command(subcommand)]
        what: smp::Verb,
    },
    /// Lend memory that is reserved for an idle device to the page cache
    Rent {
        /// What to do.
        #[command(subcommand)]
        what: rent::Verb,
    },
    /// Translate a MIPS program to a jar that any JVM runs
    Jar(jar::Options),
    /// Show an experiment again
    Report(report::Options),
    /// Print completions for a shell
    Completions(completions::Options),
    /// Write manual pages for man
    #[command(hide = true)]
    ManPages(man_pages::Options),
    /// Link in the place of a linker
    #[command(hide = true)]
    WrappedLink(wrapped::Link),
    /// Compile in the place of a compiler
    #[command(hide = true)]
    WrappedCompile(wrapped::Compile),
    /// Compile in the place of a compiler, by rules
    #[command(hide = true)]
    WrappedFlags(wrapped::Flags),
    /// Run a command and measure it
    #[command(hide = true)]
    WrappedRun(wrapped::Run),
    /// Fetch a program of the catalogue.
    #[command(hide = true)]
    WrappedPrepare(wrapped::Prepare),
    /// Fetch the source of a Debian package.
    #[command(hide = true)]
    WrappedSource(wrapped::Source),
    /// Do jobs for a trimtab on another machine
    #[command(hide = true)]
    Worker(worker::Options),
}

impl Verb {
    /// Does it, where trimtab stands in the place of another program: without signal handlers and
    /// threads. Gives the exit code.
    pub fn run_wrapped(&self) -> Option<u8> {
        match self {
            Self::WrappedLink(options) => Some(wrapped::link(options)),
            Self::WrappedCompile(options) => Some(wrapped::compile(options)),
            Self::WrappedFlags(options) => Some(wrapped::flags(options)),
            Self::WrappedRun(options) => Some(wrapped::run(options)),
            Self::WrappedPrepare(options) => Some(wrapped::prepare(options)),
            Self::WrappedSource(options) => Some(wrapped::source(options)),
            _ => None,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible; see [`crate::failure`].
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Doctor(options) => doctor::run(&options),
            Self::Fit { what: fit::Verb::Kernel(options) } => fit::kernel::run(&options),
            Self::Fit { what: fit::Verb::Program(options) } => fit::program::run(&options),
            Self::Trace(options) => trace::run(&options),
            Self::Pages(options) => pages::run(&options),
            Self::Order(options) => order::run(&options),
            Self::Compare(options) => compare::run(&options),
            Self::Check(options) => check::run(&options),
            Self::Probe { what } => what.run(),
            Self::Swap { what } => what.run(),
            Self::Tune { what } => what.run(),
            Self::Smp { what } => what.run(),
            Self::Rent { what } => what.run(),
            Self::Jar(options) => jar::run(&options),
            Self::Report(options) => report::run(&options),
            Self::Completions(options) => completions::run(&options),
            Self::ManPages(options) => man_pages::run(&options),
            Self::Worker(options) => worker::run(&options),
            Self::WrappedLink(_)
            | Self::WrappedCompile(_)
            | Self::WrappedFlags(_)
            | Self::WrappedRun(_)
            | Self::WrappedPrepare(_)
            | Self::WrappedSource(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
