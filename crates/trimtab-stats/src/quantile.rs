//! Quantiles.

/// The value that a share `probability` (0 to 1) of `samples` lies below, interpolated between the
/// two samples around it; `None` of nothing, of a sample that is not finite, and for a share out of
/// range. Samples need not be sorted.
///
/// Source: R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American
/// Statistician 50 (1996), 361-365, definition 7, which is the one of R and of numpy.
pub fn quantile(samples: &[f64], probability: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&probability) || samples.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    of_sorted(&sorted, probability)
}

/// The median; `None` of nothing and of a sample that is not finite.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// [`quantile`] of samples in ascending order.
pub(crate) fn of_sorted(sorted: &[f64], probability: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = probability * last as f64;
    let below = (place.floor() as usize).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(low + (place - below as f64) * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // quantile(c(1, 2, 4, 8, 16), c(0, .1, .5, .9, 1)) in R.
        let samples = [16.0, 1.0, 8.0, 2.0, 4.0];
        for (probability, expected) in
            [(0.0, 1.0), (0.1, 1.4), (0.5, 4.0), (0.9, 12.8), (1.0, 16.0)]
        {
            let found = quantile(&samples, probability).unwrap();
            assert!((found - expected).abs() < 1e-12, "{probability}: {found}");
        }
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!((median(&[]), quantile(&samples, 1.5)), (None, None));
        assert_eq!(median(&[f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn quantiles_ascend_and_stay_within_the_samples(
            samples in prop::collection::vec(-1e6f64..1e6, 1..50), one in 0.0f64..=1.0, other in 0.0f64..=1.0,
        ) {
            let (low, high) = (one.min(other), one.max(other));
            let (low, high) = (quantile(&samples, low).unwrap(), quantile(&samples, high).unwrap());
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= low && low <= high + 1e-9 && high <= most);
        }
    }
}
