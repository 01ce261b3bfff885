//! `trimtab swap`: code that is only in memory while it is needed.

mod arguments;
pub mod check;
pub mod plan;
pub mod run;
pub mod sweep;

use clap::Subcommand;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Decide which code of a kernel stays in memory and where the rest lies
    Plan(plan::Options),
    /// Check a kernel that was linked by a plan
    Check(check::Options),
    /// Count page faults for thresholds, placements, cache sizes and policies
    Sweep(sweep::Options),
    /// Build a kernel that swaps its cold code out, run it, and say what that saves and costs
    Run(run::Options),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// Whatever made it impossible.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Plan(options) => plan::run(&options),
            Self::Check(options) => check::run(&options),
            Self::Sweep(options) => sweep::run(&options),
            Self::Run(options) => run::run(&options),
        }
    }
}
