//! The command line.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use trimtab_link::Linker;

use crate::progress::Detail;
use crate::verbs::{
    check, compare, completions, doctor, fit, jar, man_pages, order, pages, probe, report, swap,
    trace, wrapped,
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
        what: fit::What,
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
        what: probe::What,
    },
    /// Keep only that code of a kernel in memory which is needed
    Swap {
        /// What to do.
        #[command(subcommand)]
        what: swap::What,
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
    /// Run a command and measure it
    #[command(hide = true)]
    WrappedRun(wrapped::Run),
    /// Fetch a program of the catalogue.
    #[command(hide = true)]
    WrappedPrepare(wrapped::Prepare),
}

impl Verb {
    /// Does it, where trimtab stands in the place of another program: without signal handlers and
    /// threads. Gives the exit code.
    pub fn run_wrapped(&self) -> Option<u8> {
        match self {
            Self::WrappedLink(options) => Some(wrapped::link(options)),
            Self::WrappedCompile(options) => Some(wrapped::compile(options)),
            Self::WrappedRun(options) => Some(wrapped::run(options)),
            Self::WrappedPrepare(options) => Some(wrapped::prepare(options)),
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
            Self::Fit { what: fit::What::Kernel(options) } => fit::kernel::run(&options),
            Self::Fit { what: fit::What::Program(options) } => fit::program::run(&options),
            Self::Trace(options) => trace::run(&options),
            Self::Pages(options) => pages::run(&options),
            Self::Order(options) => order::run(&options),
            Self::Compare(options) => compare::run(&options),
            Self::Check(options) => check::run(&options),
            Self::Probe { what } => what.run(),
            Self::Swap { what } => what.run(),
            Self::Jar(options) => jar::run(&options),
            Self::Report(options) => report::run(&options),
            Self::Completions(options) => completions::run(&options),
            Self::ManPages(options) => man_pages::run(&options),
            Self::WrappedLink(_)
            | Self::WrappedCompile(_)
            | Self::WrappedRun(_)
            | Self::WrappedPrepare(_) => Ok(()),
        }
    }
}

/// Where results go beside the terminal.
#[derive(Debug, Clone, Default, Args)]
pub struct Outputs {
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the report as one HTML page to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The work directory where none is given.
pub const WORK: &str = "trimtab-work";

/// The least share of a trace that has to be found in the program, where none is given.
pub const MIN_COVERAGE: &str = "0.9";

/// Reads a share: a number from 0 to 1.
///
/// # Errors
/// What was expected instead.
pub fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a number from 0 to 1, such as 0.9 for 90 %".to_owned())
}

/// Reads the name of one of these linkers; help says what each is.
pub fn linkers(linkers: impl IntoIterator<Item = Linker>) -> impl TypedValueParser<Value = Linker> {
    let named =
        linkers.into_iter().map(|linker| PossibleValue::new(linker.name()).help(linker.summary()));
    PossibleValuesParser::new(named).try_map(|name| name.parse::<Linker>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!(share("0.9"), Ok(0.9));
        for text in ["90", "-0.1", "NaN", "", "1.01"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
