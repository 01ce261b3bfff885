//! How much of a trace a program has.

use thiserror::Error;

/// How much of a trace could be found in a program. The trace of another build is the commonest
/// silent failure of profile-guided layout; this makes it loud.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Distinct functions that the trace names or enters.
    pub names_total: u64,
    /// Those of them that the program has, entered where the program has its entry.
    pub names_found: u64,
    /// Distinct bytes of the program's code that the trace says ran.
    pub bytes_total: u64,
    /// Those of them that lie in a known function.
    pub bytes_found: u64,
    /// What could not be found, in the order of the trace: names, or addresses where the trace
    /// gives no names.
    pub missing: Vec<String>,
    /// Names that several functions share; all of them were taken as executed.
    pub ambiguous: u64,
    /// Distinct names that fit only when the suffix is left out that the compiler put behind them
    /// (`.llvm.1234`, `.isra.0`): those of another build, most likely.
    pub without_suffix: u64,
    /// Events outside the program's code: firmware, boot loader, user space, modules, and all of
    /// other programs.
    pub outside: u64,
    /// The tracer saw several files and does not say in which of them its events are, so that those of
    /// libraries count as the program's.
    pub without_files: bool,
}

impl Coverage {
    /// Share of the names found, 0 to 1; 0 where there are none.
    pub fn names(&self) -> f64 {
        share(self.names_found, self.names_total)
    }

    /// Share of the executed bytes found, 0 to 1; 0 where there are none.
    pub fn bytes(&self) -> f64 {
        share(self.bytes_found, self.bytes_total)
    }

    /// Fails where less than `minimum` (0 to 1) of the names or of the bytes was found, which is what the
    /// user accepts.
    ///
    /// # Errors
    /// [`StaleProfile`], which names the first ten missing symbols.
    pub fn check(&self, minimum: f64) -> Result<(), StaleProfile> {
        self.check_or(minimum, TRACE_AGAIN)
    }

    /// The same where the minimum is nobody's to choose, and any build of the same sources will do.
    ///
    /// # Errors
    /// [`StaleProfile`], which names the first ten missing symbols.
    pub fn check_sources(&self, minimum: f64) -> Result<(), StaleProfile> {
        self.check_or(minimum, TRACE_SOURCES_AGAIN)
    }

    fn check_or(&self, minimum: f64, remedy: &'static str) -> Result<(), StaleProfile> {
        if self.names_total == 0 {
            return Err(StaleProfile::Empty { outside: self.outside });
        }
        let bytes = self.bytes_total == 0 || self.bytes() >= minimum;
        if self.names() >= minimum && bytes {
            return Ok(());
        }
        Err(StaleProfile::Stale {
            names: percent_of(self.names(), minimum),
            bytes: percent_of(self.bytes(), minimum),
            minimum: (minimum * 1e6).round() / 1e4,
            missing: self.missing.iter().take(10).cloned().collect::<Vec<_>>().join(", "),
            remedy: match self.without_files {
                true => format!(
                    "the trace does not say in which file each function is, so those of libraries count \
                     as missing here: print the files too, with `{PERF_SCRIPT}`; or trace this build again"
                ),
                false => remedy.to_owned(),
            },
        })
    }
}

/// What is said of a trace, a map or a plan that does not belong to the program.
pub const OF_ANOTHER_BUILD: &str = "is of another build";

/// What to do where too little was found.
const TRACE_AGAIN: &str = "trace this build again, or accept the loss with --min-coverage";
const TRACE_SOURCES_AGAIN: &str = "trace a build of these sources again";
/// What makes perf print all that we look for.
const PERF_SCRIPT: &str = "perf script -F ip,sym,symoff,dso";

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_between_nothing_and_all() {
        let coverage = Coverage::default();
        assert_eq!((coverage.names(), coverage.bytes()), (0.0, 0.0));
        let coverage = Coverage {
            names_total: 4,
            names_found: 3,
            bytes_total: 10,
            bytes_found: 10,
            ..Coverage::default()
        };
        assert_eq!((coverage.names(), coverage.bytes()), (0.75, 1.0));
    }

    #[test]
    fn names_and_bytes_must_both_reach_the_minimum() {
        let coverage = |names_found, bytes_found| Coverage {
            names_total: 10,
            names_found,
            bytes_total: 10,
            bytes_found,
            ..Coverage::default()
        };
        assert_eq!(coverage(9, 9).check(0.9), Ok(()));
        assert!(coverage(8, 10).check(0.9).is_err());
        assert!(coverage(10, 8).check(0.9).is_err());
        assert_eq!(coverage(0, 0).check(0.0), Ok(()));
    }

    #[test]
    fn what_falls_short_does_not_read_as_enough() {
        let coverage = Coverage { names_total: 10_000, names_found: 9_499, ..Coverage::default() };
        let error = coverage.check(0.95).unwrap_err().to_string();
        assert!(error.contains(": 94.9 % of its functions"), "{error}");
        assert!(error.contains("expected at least 95 %"), "{error}");
        let error = coverage.check(0.955).unwrap_err().to_string();
        assert!(error.contains("expected at least 95.5 %"), "{error}");
    }

    #[test]
    fn who_prints_no_files_is_told_to() {
        let coverage = |without_files| Coverage {
            names_total: 10,
            names_found: 1,
            without_files,
            ..Coverage::default()
        };
        let error = |without_files| coverage(without_files).check(0.9).unwrap_err().to_string();
        assert!(error(true).contains(PERF_SCRIPT), "{}", error(true));
        assert!(!error(false).contains("perf"), "{}", error(false));
    }

    #[test]
    fn where_no_minimum_can_be_chosen_none_is_offered() {
        let coverage = Coverage { names_total: 3, names_found: 1, ..Coverage::default() };
        let error = coverage.check_sources(0.5).unwrap_err().to_string();
        assert!(error.ends_with(TRACE_SOURCES_AGAIN), "{error}");
        let without_files = Coverage { without_files: true, ..coverage };
        let error = without_files.check_sources(0.5).unwrap_err().to_string();
        assert!(error.contains(PERF_SCRIPT), "{error}");
    }

    #[test]
    fn functions_without_bytes_are_no_failure() {
        let coverage = Coverage { names_total: 1, names_found: 1, ..Coverage::default() };
        assert_eq!(coverage.check(0.9), Ok(()));
    }

    #[test]
    fn nothing_at_all_has_a_message_of_its_own() {
        let error = Coverage { outside: 7, ..Coverage::default() }.check(0.0).unwrap_err();
        assert_eq!(error, StaleProfile::Empty { outside: 7 });
        assert!(error.to_string().contains("7 events lie outside its code"), "{error}");
    }
}
