//! Means with how far they can be trusted.
//!
//! Timings on a shared machine are noisy; a mean without an interval says nothing. The intervals
//! here are two-sided and rest on Student's t distribution.

use crate::distribution::{t_quantile, t_two_sided};
use crate::error::{finite, paired, probability};
use crate::{StatisticsError, deviation, mean};
use serde::{Deserialize, Serialize};

/// Confidence that the intervals of [`measured`] and [`paired_ratio`] cover the true value, 0 to 1.
pub const CONFIDENCE: f64 = 0.95;
/// The same as reports say it.
pub const CONFIDENCE_TEXT: &str = "95 %";

/// An estimate with its confidence interval, `low <= mean <= high`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in the interval: whether the runs cannot tell the truth from it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The interval with `f`, which must not fall, applied to its three numbers.
    fn map(self, f: fn(f64) -> f64) -> Self {
        Self { mean: f(self.mean), low: f(self.low), high: f(self.high) }
    }
}

/// A mean of durations with its 95 % confidence interval and the runs that it is the mean of; made by
/// [`measured`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Geometric mean, so that two of them have the ratio that [`paired_ratio`] estimates.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of runs.
    pub runs: u32,
    /// Each run, in the order in which they ran.
    pub samples: Vec<f64>,
}

/// Mean of `samples` with its interval of `confidence` (0 to 1, both excluded), `mean ± t · s / √n`
/// with n − 1 degrees of freedom.
///
/// Source: Student, "The Probable Error of a Mean", Biometrika 6 (1908), 1-25; as in the
/// NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.2. It takes the mean to be close
/// to normally distributed, which the 30 runs that trimtab takes by default make good.
///
/// # Errors
/// [`StatisticsError`] below two samples, for a sample or a confidence out of range.
pub fn t_interval(samples: &[f64], confidence: f64) -> Result<Interval, StatisticsError> {
    probability("confidence", confidence)?;
    finite(samples)?;
    let of = |mean: MeanOfSample| {
        let half = mean.errors(t_quantile(mean.freedom(), 1.0 - (1.0 - confidence) / 2.0)?);
        let mean = mean.mean;
        Some(Interval { mean, low: mean - half, high: mean + half })
    };
    let too_few = StatisticsError::TooFew { found: samples.len() };
    MeanOfSample::new(samples).and_then(of).ok_or(too_few)
}

/// Two-sided probability of Student's test of samples whose mean may be 0; `None` below two of them. Samples
/// that are all the same, and not 0, leave no doubt.
pub(crate) fn t_test(samples: &[f64]) -> Option<f64> {
    let mean = MeanOfSample::new(samples)?;
    match mean.deviation == 0.0 {
        true => Some(if mean.mean == 0.0 { 1.0 } else { 0.0 }),
        false => t_two_sided(mean.freedom(), mean.mean / mean.errors(1.0)),
    }
}

/// A mean, and what tells how far off it may be.
struct MeanOfSample {
    mean: f64,
    deviation: f64,
    count: f64,
}

impl MeanOfSample {
    fn new(samples: &[f64]) -> Option<Self> {
        let count = samples.len() as f64;
        Some(Self { mean: mean(samples)?, deviation: deviation(samples)?, count })
    }

    fn freedom(&self) -> f64 {
        self.count - 1.0
    }

    /// So many standard errors of the mean.
    fn errors(&self, many: f64) -> f64 {
        many * self.deviation / self.count.sqrt()
    }
}

/// Geometric mean of durations with its 95 % confidence interval, and the samples. The logarithms get
/// Student's interval, which is carried back with the exponential, as [`paired_ratio`] does: the ratio
/// of the means of two sides that ran in pairs *is* the mean of the ratios of the pairs, so that a
/// table of both means and the estimate beside it cannot disagree. One run that was held up by
/// something else moves it less than an arithmetic mean. Source: as there.
///
/// # Errors
/// [`StatisticsError::TooFew`] below two samples, [`StatisticsError::NotPositive`] for a sample
/// that is no duration.
pub fn measured(samples: &[f64]) -> Result<Estimate, StatisticsError> {
    positive(samples)?;
    let logarithms: Vec<f64> = samples.iter().map(|sample| sample.ln()).collect();
    let Interval { mean, low, high } = t_interval(&logarithms, CONFIDENCE)?.map(f64::exp);
    Ok(Estimate { mean, low, high, runs: samples.len() as u32, samples: samples.to_vec() })
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
    paired(before, after)?;
    positive(before)?;
    positive(after)?;
    let logarithms: Vec<f64> =
        before.iter().zip(after).map(|(before, after)| (after / before).ln()).collect();
    Ok(t_interval(&logarithms, CONFIDENCE)?.map(f64::exp))
}

fn positive(samples: &[f64]) -> Result<(), StatisticsError> {
    match samples.iter().find(|value| !value.is_finite() || **value <= 0.0) {
        Some(value) => Err(StatisticsError::NotPositive { value: *value }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interval_of_known_samples() {
        // Mean 5, deviation 2.1381, n = 8, t(7) = 2.3646: half = 1.7875.
        let samples = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0_f64];
        let found = t_interval(&samples, CONFIDENCE).unwrap();
        assert_eq!(found.mean, 5.0);
        assert!((found.high - 6.7875).abs() < 1e-3, "{found:?}");
        assert!((found.low - 3.2125).abs() < 1e-3, "{found:?}");
        // The same of durations, by their logarithms.
        let found = measured(&samples.map(f64::exp)).unwrap();
        for (found, expected) in [(found.mean, 5.0), (found.low, 3.2125), (found.high, 6.7875)] {
            assert!((found.ln() - expected).abs() < 1e-3, "{found:?}");
        }
        assert_eq!(found.runs, 8);
    }

    #[test]
    fn reports_say_the_confidence_that_intervals_have() {
        assert_eq!(CONFIDENCE_TEXT, format!("{} %", CONFIDENCE * 100.0));
    }

    #[test]
    fn the_test_rejects_what_the_interval_does_not_contain() {
        let samples = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0_f64];
        let low = t_interval(&samples, CONFIDENCE).unwrap().low;
        let from = |value: f64| t_test(&samples.map(|sample| sample - value)).unwrap();
        assert!((from(low) - (1.0 - CONFIDENCE)).abs() < 1e-9);
        assert!(from(low - 0.1) < 1.0 - CONFIDENCE && from(low + 0.1) > 1.0 - CONFIDENCE);
        assert_eq!(
            (t_test(&[1.0, 1.0]), t_test(&[0.0, 0.0]), t_test(&[1.0])),
            (Some(0.0), Some(1.0), None)
        );
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
        assert!(t_interval(&[-1.0, 1.0], 0.9).is_ok());
        assert!(t_interval(&[-1.0, 1.0], 1.0).is_err());
        assert!(t_interval(&[f64::INFINITY, 1.0], 0.9).is_err());
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

        #[test]
        fn the_ratio_of_the_means_is_the_mean_of_the_ratios(
            pairs in prop::collection::vec((0.1f64..100.0, 0.1f64..100.0), 2..40),
        ) {
            let (before, after): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let ratio = measured(&after).unwrap().mean / measured(&before).unwrap().mean;
            prop_assert!((ratio - paired_ratio(&before, &after).unwrap().mean).abs() < 1e-9 * ratio);
        }

        #[test]
        fn more_confidence_is_a_wider_interval(
            samples in prop::collection::vec(-100.0f64..100.0, 2..40),
        ) {
            let narrow = t_interval(&samples, 0.5).unwrap();
            let wide = t_interval(&samples, 0.99).unwrap();
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
    }
}
