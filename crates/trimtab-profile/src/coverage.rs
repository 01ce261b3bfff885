//! How much of a trace a program has.

use crate::stale::{StaleProfile, TRACE_AGAIN, TRACE_SOURCES_AGAIN, print_files};

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
        let remedy = if self.without_files { print_files() } else { remedy.to_owned() };
        let found = (self.names(), self.bytes());
        Err(StaleProfile::of(found, minimum, &self.missing, remedy))
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
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
        assert!(error(true).contains("perf script"), "{}", error(true));
        assert!(!error(false).contains("perf"), "{}", error(false));
    }

    #[test]
    fn where_no_minimum_can_be_chosen_none_is_offered() {
        let coverage = Coverage { names_total: 3, names_found: 1, ..Coverage::default() };
        let error = coverage.check_sources(0.5).unwrap_err().to_string();
        assert!(error.ends_with(TRACE_SOURCES_AGAIN), "{error}");
        let without_files = Coverage { without_files: true, ..coverage };
        let error = without_files.check_sources(0.5).unwrap_err().to_string();
        assert!(error.contains("perf script"), "{error}");
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
