//! What is said of a stale trace: one of another build, or of another program.

use thiserror::Error;

/// What is said of a trace, a map or a plan that does not belong to the program.
pub const OF_ANOTHER_BUILD: &str = "is of another build";

/// What to do where too little was found.
pub(crate) const TRACE_AGAIN: &str =
    "trace this build again, or accept the loss with --min-coverage";
/// The same where no limit can be chosen.
pub(crate) const TRACE_SOURCES_AGAIN: &str = "trace a build of these sources again";
/// What makes perf print all that we look for.
const PERF_SCRIPT: &str = "perf script -F ip,sym,symoff,dso";
/// What is said of so many names that fit only when the suffix is left out that the compiler put behind them.
pub fn only_without_suffix(many: &str) -> String {
    format!("{many} found only without the compiler's suffix: the trace {OF_ANOTHER_BUILD}")
}

/// What to do where a trace does not say in which file each function is.
pub(crate) fn print_files() -> String {
    format!(
        "the trace does not say in which file each function is, so those of libraries count \
         as missing here: print the files too, with `{PERF_SCRIPT}`; or trace this build again"
    )
}

/// A share in percent, rounded to a decimal; cut off behind it where a share that falls short of the
/// limit would otherwise read as that limit.
fn percent_of(share: f64, limit: f64) -> f64 {
    let rounded = (share * 1e3).round() / 10.0;
    match share < limit && rounded >= limit * 100.0 {
        true => (share * 1e3).floor() / 10.0,
        false => rounded,
    }
}

/// A trace that does not belong to the program.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum StaleProfile {
    /// Not one event lies in the program.
    #[error(
        "the trace says nothing of this program: none of its functions ran \
         ({outside} events lie outside its code); trace a run of this very build: \
         a kernel with `nokaslr`; a position-independent program with the symbols beside the addresses, \
         as `{PERF_SCRIPT}` prints them"
    )]
    Empty {
        /// Events outside the program's code.
        outside: u64,
    },
    /// Too little could be found.
    #[error(
        "the trace {OF_ANOTHER_BUILD}: {names:.1} % of its functions and {bytes:.1} % of its bytes \
         are in this program, expected at least {minimum} %; first missing: {missing}; {remedy}"
    )]
    Stale {
        /// Share of names found, in percent.
        names: f64,
        /// Share of bytes found, in percent.
        bytes: f64,
        /// The least that was asked for, in percent.
        minimum: f64,
        /// The first ten missing names.
        missing: String,
        /// What to do.
        remedy: String,
    },
}

impl StaleProfile {
    /// Of the shares of names and bytes that were `found`, with what to do.
    pub(crate) fn of(found: (f64, f64), minimum: f64, missing: &[String], remedy: String) -> Self {
        StaleProfile::Stale {
            names: percent_of(found.0, minimum),
            bytes: percent_of(found.1, minimum),
            minimum: (minimum * 1e6).round() / 1e4,
            missing: missing.iter().take(10).cloned().collect::<Vec<_>>().join(", "),
            remedy,
        }
    }
}
