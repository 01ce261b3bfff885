//! Which functions are to be instrumented.

use std::collections::HashSet;

use glob::Pattern;

use crate::error::ProbeError;
use crate::reason::Reason;

/// Which functions are to be instrumented: all, unless something is said.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    only: Option<Vec<Pattern>>,
    not: Option<Vec<Pattern>>,
    names: Option<HashSet<String>>,
    min_size: u64,
}

impl Selection {
    /// Only functions whose names match one of these patterns.
    ///
    /// # Errors
    /// [`ProbeError::Pattern`].
    pub fn only(mut self, patterns: &[impl AsRef<str>]) -> Result<Self, ProbeError> {
        self.only = set(patterns)?;
        Ok(self)
    }

    /// No functions whose names match one of these patterns.
    ///
    /// # Errors
    /// [`ProbeError::Pattern`].
    pub fn not(mut self, patterns: &[impl AsRef<str>]) -> Result<Self, ProbeError> {
        self.not = set(patterns)?;
        Ok(self)
    }

    /// Only functions of these names: of a profile, say.
    #[must_use]
    pub fn named(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.names = Some(names.into_iter().collect());
        self
    }

    /// Only functions of at least so many bytes.
    #[must_use]
    pub fn min_size(mut self, bytes: u64) -> Self {
        self.min_size = bytes;
        self
    }

    /// Whether a function is selected.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, name: &str, size: u64) -> Result<(), Reason> {
        let matches = |patterns: &Option<Vec<Pattern>>| {
            patterns.as_ref().map(|patterns| patterns.iter().any(|pattern| pattern.matches(name)))
        };
        let wanted = matches(&self.only) != Some(false)
            && matches(&self.not) != Some(true)
            && self.names.as_ref().is_none_or(|names| names.contains(name));
        match (wanted, size >= self.min_size) {
            (false, _) => Err(Reason::NotSelected),
            (_, false) => Err(Reason::Small),
            _ => Ok(()),
        }
    }
}

fn set(patterns: &[impl AsRef<str>]) -> Result<Option<Vec<Pattern>>, ProbeError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let read = |pattern: &str| {
        Pattern::new(pattern).map_err(|error| ProbeError::Pattern {
            pattern: pattern.to_owned(),
            why: error.msg.to_owned(),
        })
    };
    patterns.iter().map(|pattern| read(pattern.as_ref())).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_unless_something_is_said() {
        assert_eq!(Selection::default().check("main", 1), Ok(()));
    }

    #[test]
    fn names_patterns_and_sizes() {
        let selection = Selection::default()
            .only(&["parse_*", "main"])
            .unwrap()
            .not(&["*_slow"])
            .unwrap()
            .min_size(16);
        assert_eq!(selection.check("parse_line", 16), Ok(()));
        assert_eq!(selection.check("main", 400), Ok(()));
        assert_eq!(selection.check("parse_slow", 16), Err(Reason::NotSelected));
        assert_eq!(selection.check("mains", 16), Err(Reason::NotSelected));
        assert_eq!(selection.check("main", 15), Err(Reason::Small));
        let named = Selection::default().named(["hot".to_owned()]);
        assert_eq!(named.check("hot", 1), Ok(()));
        assert_eq!(named.check("cold", 1), Err(Reason::NotSelected));
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Selection::default().only(&["a[b"]).unwrap_err().to_string();
        assert!(error.starts_with("`a[b` is no pattern of names: "), "{error}");
    }
}
