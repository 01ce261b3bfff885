//! Means, and how far they can be trusted.
//!
//! Timings on a shared machine are noisy; a mean without an interval says nothing. Both intervals
//! here are two-sided, cover 95 %, and rest on Student's t distribution.

use crate::model::{Interval, Measured};
use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

/// Confidence that every interval of this module covers the true value, 0 to 1.
pub const CONFIDENCE: f64 = 0.95;

/// Why samples have no interval.
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
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// Mean of `samples` with its 95 % confidence interval, `mean ± t · s / √n` with n − 1 degrees of
/// freedom.
///
/// Source: Student, "The Probable Error of a Mean", Biometrika 6 (1908), 1-25; as in the
/// NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.2. It takes the mean to be close
/// to normally distributed, which the 30 runs that trimtab takes by default make good.
///
/// # Errors
/// [`StatisticsError::TooFew`] below two samples, [`StatisticsError::NotPositive`] for a sample
/// that is no duration.
pub fn measured(samples: &[f64]) -> Result<Measured, StatisticsError> {
    check(samples)?;
    let (mean, half) = student(samples)?;
    Ok(Measured {
        mean,
        low: mean - half,
        high: mean + half,
        runs: samples.len() as u32,
        samples: samples.to_vec(),
    })
}

/// How many times as long `after` takes as `before`: the geometric mean of the ratios of pairs,
/// with its 95 % confidence interval. `before[i]` and `after[i]` ran one right after the other, so
/// what slows the machine for a while slows both and cancels.
///
/// The logarithms of the ratios get Student's interval (the paired t test), and it is carried back
/// with the exponential. Sources: J. M. Bland and D. G. Altman, "Transformations, means, and
/// confidence intervals", BMJ 312 (1996), 1079, for the interval of logarithms; P. J. Fleming and
/// J. J. Wallace, "How Not to Lie with Statistics", CACM 29 (1986), 218-221, for why ratios are
/// averaged geometrically.
///
/// # Errors
/// [`StatisticsError`] where the samples do not pair up, are fewer than two, or not positive.
pub fn paired_ratio(before: &[f64], after: &[f64]) -> Result<Interval, StatisticsError> {
    if before.len() != after.len() {
        return Err(StatisticsError::Unpaired { before: before.len(), after: after.len() });
    }
    check(before)?;
    check(after)?;
    let logarithms: Vec<f64> =
        before.iter().zip(after).map(|(before, after)| (after / before).ln()).collect();
    let (mean, half) = student(&logarithms)?;
    Ok(Interval { mean: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
}

fn check(samples: &[f64]) -> Result<(), StatisticsError> {
    match samples.iter().find(|value| !value.is_finite() || **value <= 0.0) {
        Some(value) => Err(StatisticsError::NotPositive { value: *value }),
        None => Ok(()),
    }
}

/// Mean and half of the interval's width.
fn student(samples: &[f64]) -> Result<(f64, f64), StatisticsError> {
    let too_few = StatisticsError::TooFew { found: samples.len() };
    let (Some(mean), true) = (mean(samples), samples.len() >= 2) else {
        return Err(too_few);
    };
    let count = samples.len() as f64;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    let quantile = quantile(count - 1.0).ok_or(too_few)?;
    Ok((mean, quantile * deviation / count.sqrt()))
}

/// Two-sided quantile of Student's t at [`CONFIDENCE`].
fn quantile(freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(distribution.inverse_cdf(1.0 - (1.0 - CONFIDENCE) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (freedom, expected) in [(1.0, 12.706), (9.0, 2.262), (29.0, 2.045), (120.0, 1.980)] {
            let found = quantile(freedom).unwrap();
            assert!((found - expected).abs() < 5e-4, "{freedom}: {found}, expected {expected}");
        }
    }

    #[test]
    fn interval_of_known_samples() {
        // Mean 5, deviation 2.1381, n = 8, t(7) = 2.3646: half = 1.7875.
        let found = measured(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(found.mean, 5.0);
        assert!((found.high - 6.7875).abs() < 1e-3, "{found:?}");
        assert!((found.low - 3.2125).abs() < 1e-3, "{found:?}");
        assert_eq!(found.runs, 8);
    }

    #[test]
    fn what_slows_both_sides_cancels() {
        let before = [1.0, 2.0, 4.0, 1.5];
        let after: Vec<f64> = before.iter().map(|sample| sample * 0.9).collect();
        let found = paired_ratio(&before, &after).unwrap();
        for value in [found.mean, found.low, found.high] {
            assert!((value - 0.9).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn bad_samples_are_named() {
        assert_eq!(measured(&[1.0]), Err(StatisticsError::TooFew { found: 1 }));
        assert_eq!(measured(&[]), Err(StatisticsError::TooFew { found: 0 }));
        assert_eq!(measured(&[1.0, 0.0]), Err(StatisticsError::NotPositive { value: 0.0 }));
        assert_eq!(
            paired_ratio(&[1.0, 1.0], &[1.0]),
            Err(StatisticsError::Unpaired { before: 2, after: 1 })
        );
        assert!(measured(&[1.0, f64::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn swapping_the_sides_inverts_the_ratio(
            pairs in prop::collection::vec((0.1f64..100.0, 0.1f64..100.0), 2..40),
        ) {
            let (before, after): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let there = paired_ratio(&before, &after).unwrap();
            let back = paired_ratio(&after, &before).unwrap();
            prop_assert!((there.mean * back.mean - 1.0).abs() < 1e-9);
            prop_assert!((there.low * back.high - 1.0).abs() < 1e-9);
            prop_assert!(there.low <= there.mean && there.mean <= there.high);
        }
    }
}
