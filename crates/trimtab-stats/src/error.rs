//! Why samples have no statistic.

use thiserror::Error;

/// Why samples have no statistic.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum StatisticsError {
    /// One sample has no spread.
    #[error("{found} runs were given, a confidence interval needs 2 or more; measure more boots")]
    TooFew {
        /// Samples given.
        found: usize,
    },
    /// The two sides of a comparison do not pair up.
    #[error(
        "{before} runs before and {after} after cannot be compared in pairs; \
         run the two sides in turn, equally often"
    )]
    Unpaired {
        /// Samples before.
        before: usize,
        /// Samples after.
        after: usize,
    },
    /// A sample that is no duration.
    #[error("a run took {value}, expected a finite number above zero; measure it again")]
    NotPositive {
        /// The sample.
        value: f64,
    },
    /// A sample that is no number.
    #[error("a sample is {value}, expected a finite number; measure it again")]
    NotFinite {
        /// The sample.
        value: f64,
    },
    /// Samples that a statistic cannot be made of.
    #[error("{found} samples were given, {statistic} needs {needed}; measure more often")]
    Needs {
        /// Which statistic.
        statistic: &'static str,
        /// Samples given.
        found: usize,
        /// Fewest samples that do.
        needed: usize,
    },
    /// Samples that are all the same, where a statistic rests on how they differ.
    #[error("all samples are the same, {statistic} needs samples that differ")]
    Constant {
        /// Which statistic.
        statistic: &'static str,
    },
    /// A level that is no probability.
    #[error("{value} was given as {name}, expected a number between 0 and 1, both excluded")]
    NotProbability {
        /// What it was given as.
        name: &'static str,
        /// The value.
        value: f64,
    },
    /// A round of a race with more or fewer results than there are candidates.
    #[error("a round has {found} results, expected {expected}: one of each candidate")]
    Round {
        /// Results given.
        found: usize,
        /// Candidates of the race.
        expected: usize,
    },
}

/// Checks that all of `samples` are numbers.
pub(crate) fn finite(samples: &[f64]) -> Result<(), StatisticsError> {
    match samples.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(StatisticsError::NotFinite { value: *value }),
        None => Ok(()),
    }
}

/// Checks that the sides of pairs are equally many.
pub(crate) fn paired(one: &[f64], other: &[f64]) -> Result<(), StatisticsError> {
    match one.len() == other.len() {
        true => Ok(()),
        false => Err(StatisticsError::Unpaired { before: one.len(), after: other.len() }),
    }
}

/// Checks that `value`, called `name`, lies between 0 and 1.
pub(crate) fn probability(name: &'static str, value: f64) -> Result<(), StatisticsError> {
    match value > 0.0 && value < 1.0 {
        true => Ok(()),
        false => Err(StatisticsError::NotProbability { name, value }),
    }
}
