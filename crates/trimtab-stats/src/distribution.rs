//! Probabilities of the distributions that the tests rest on.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

/// Quantile of Student's t with `freedom` degrees of freedom; `None` where these are not above 0.
pub(crate) fn t_quantile(freedom: f64, probability: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(probability))
}

/// Probability of a t at least as far from 0 as `value`, on both sides.
pub(crate) fn t_two_sided(freedom: f64, value: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((2.0 * distribution.cdf(-value.abs())).min(1.0))
}

/// Probability of a standard normal value at least as far from 0 as `value`, on both sides.
pub(crate) fn normal_two_sided(value: f64) -> f64 {
    (2.0 * normal_cdf(-value.abs())).min(1.0)
}

/// Distribution function of the standard normal.
pub(crate) fn normal_cdf(value: f64) -> f64 {
    Normal::standard().cdf(value)
}

/// Quantile of the standard normal.
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}

/// Probability of a chi-squared value of at least `value`.
pub(crate) fn chi_squared_above(freedom: f64, value: f64) -> Option<f64> {
    Some(ChiSquared::new(freedom).ok()?.sf(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (freedom, expected) in [(1.0, 12.706), (9.0, 2.262), (29.0, 2.045), (120.0, 1.980)] {
            let found = t_quantile(freedom, 0.975).unwrap();
            assert!((found - expected).abs() < 5e-4, "{freedom}: {found}, expected {expected}");
            assert!((t_two_sided(freedom, found).unwrap() - 0.05).abs() < 1e-6);
        }
        assert!((normal_two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((normal_quantile(normal_cdf(-1.3)) + 1.3).abs() < 1e-9);
        assert!((chi_squared_above(2.0, 5.991).unwrap() - 0.05).abs() < 1e-4);
        assert_eq!((t_quantile(0.0, 0.975), chi_squared_above(0.0, 1.0)), (None, None));
    }
}
