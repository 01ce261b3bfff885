//! `trimtab tune bench`: searches beside each other.

use std::path::PathBuf;

use clap::Args;
use trimtab_tune::run::{Comparison, Setup, compare};
use trimtab_tune::search::Method;

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::verbs::tune::LimitOptions;
use crate::{destination, output};

/// Compares searches on programs of the catalogue: each has the same flags to choose from, the same
/// evaluations and, where it takes any, the same first sets of flags. Optuna's TPE takes part where
/// python3 has it or can install it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: all searches on two programs

    trimtab tune bench bzip2 zlib --seeds 10 --budgets 100,300 --html bench.html")]
pub struct Options {
    /// Programs of the catalogue
    #[arg(value_name = "NAME", required = true)]
    pub programs: Vec<String>,
    /// Only these searches; the first is what the others are held against
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub searches: Vec<Method>,
    /// Leave Optuna out
    #[arg(long)]
    pub no_optuna: bool,
    /// Seeds that each search is begun with
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(2..))]
    pub seeds: u64,
    /// Numbers of sets of flags after which searches are looked at
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "100,300")]
    pub budgets: Vec<usize>,
    /// Rounds in which the best of the first search is timed beside the program as it is, until it is clear which is
    /// faster; 0: it is not timed
    #[arg(long, value_name = "N", default_value = "0")]
    pub rounds: u32,
    /// The compiler: gcc, clang, another name, or a path
    #[arg(long, value_name = "NAME", default_value = "gcc")]
    pub compiler: String,
    /// What builds and runs may take.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Where to work, and where what was tried is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Compares.
///
/// # Errors
/// What is missing, and a program that cannot be tuned.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let setup = Setup {
        compiler: options.compiler.clone(),
        level: "-O2".to_owned(),
        flags: None,
        portable: false,
        core: None,
        limits: options.limits.limits(),
        work: options.work.clone(),
        outside: Vec::new(),
        command: trimtab_lab::shell::own_words().join(" "),
    };
    let methods = match options.searches.as_slice() {
        [] => Method::ALL.to_vec(),
        some => some.to_vec(),
    };
    let comparison = Comparison {
        programs: options.programs.clone(),
        methods,
        optuna: !options.no_optuna,
        seeds: options.seeds,
        budgets: options.budgets.clone(),
        rounds: options.rounds,
        setup,
    };
    let found = compare(&comparison, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)
}
