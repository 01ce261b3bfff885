//! Means and spread.

/// Arithmetic mean; `None` of nothing.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// Geometric mean, which is how ratios are averaged; `None` of nothing, and where a value is not
/// finite and above zero.
///
/// Source: P. J. Fleming and J. J. Wallace, "How Not to Lie with Statistics", CACM 29 (1986),
/// 218-221.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).map(f64::exp)
}

/// Standard deviation of the population that `samples` are drawn from, with n − 1 below the sum of
/// squares; `None` of fewer than two.
pub fn deviation(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples).filter(|_| samples.len() >= 2)?;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    Some((squares / (samples.len() as f64 - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert!((geometric_mean(&[1.0, 4.0, 16.0]).unwrap() - 4.0).abs() < 1e-12);
        // The eight numbers of deviation 2 over n, which is 2.1381 over n - 1.
        let found = deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((found - 2.138_089_935).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_mean() {
        assert_eq!((mean(&[]), geometric_mean(&[]), deviation(&[1.0])), (None, None, None));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(geometric_mean(&[1.0, bad]), None);
        }
    }

    proptest! {
        #[test]
        fn the_geometric_mean_is_the_smaller(values in prop::collection::vec(0.01f64..100.0, 1..30)) {
            let (geometric, mean) = (geometric_mean(&values).unwrap(), mean(&values).unwrap());
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(geometric <= mean * (1.0 + 1e-12) && geometric >= least * (1.0 - 1e-12));
        }

        #[test]
        fn ratios_the_other_way_round_have_the_inverse_mean(
            values in prop::collection::vec(0.01f64..100.0, 1..30),
        ) {
            let back: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
            let product = geometric_mean(&values).unwrap() * geometric_mean(&back).unwrap();
            prop_assert!((product - 1.0).abs() < 1e-9);
        }
    }
}
