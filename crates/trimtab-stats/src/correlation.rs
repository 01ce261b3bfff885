//! Correlation: how far one thing goes with another.

use crate::distribution::{normal_two_sided, t_two_sided};
use crate::error::{finite, paired};
use crate::rank::{doubled, ranks};
use crate::{StatisticsError, mean};

/// A correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// The coefficient, −1 to 1.
    pub coefficient: f64,
    /// Probability, 0 to 1, of a coefficient as far from 0 or further, were there no correlation.
    pub p: f64,
}

/// Pearson's coefficient: how close pairs lie to a straight line. The probability is that of
/// Student's t with n − 2 degrees of freedom.
///
/// Source: K. Pearson, "Notes on Regression and Inheritance in the Case of Two Parents", Proceedings
/// of the Royal Society of London 58 (1895), 240-242.
///
/// # Errors
/// [`StatisticsError`] where the samples do not pair up, are fewer than three, not finite, or one
/// side is always the same.
pub fn pearson(one: &[f64], other: &[f64]) -> Result<Correlation, StatisticsError> {
    check("Pearson's correlation", one, other)?;
    let off = |side: &[f64]| -> Vec<f64> {
        let mean = mean(side).unwrap_or(0.0);
        side.iter().map(|value| value - mean).collect()
    };
    let (one, other) = (off(one), off(other));
    let sum =
        |one: &[f64], other: &[f64]| -> f64 { one.iter().zip(other).map(|(a, b)| a * b).sum() };
    let scale = sum(&one, &one).sqrt() * sum(&other, &other).sqrt();
    if scale == 0.0 {
        return Err(StatisticsError::Constant { statistic: "Pearson's correlation" });
    }
    let coefficient = (sum(&one, &other) / scale).clamp(-1.0, 1.0);
    let freedom = one.len() as f64 - 2.0;
    let t = coefficient * (freedom / (1.0 - coefficient * coefficient)).sqrt();
    let p = if t.is_finite() { t_two_sided(freedom, t).unwrap_or(1.0) } else { 0.0 };
    Ok(Correlation { coefficient, p })
}

/// Spearman's rank correlation: whether one side always rises with the other, along any curve. The
/// probability is that of Student's t, which from ten pairs on is close.
///
/// Source: C. Spearman, "The Proof and Measurement of Association between Two Things", American
/// Journal of Psychology 15 (1904), 72-101.
///
/// # Errors
/// As [`pearson`].
pub fn spearman(one: &[f64], other: &[f64]) -> Result<Correlation, StatisticsError> {
    check("Spearman's correlation", one, other)?;
    pearson(&ranks(one), &ranks(other))
}

/// Kendall's τ-b: of all pairs of pairs, how many more go the same way than go opposite ways. The
/// probability takes it to be normally distributed, which from ten pairs on is close. Takes time that
/// grows with the square of the number of pairs.
///
/// Source: M. G. Kendall, "Rank Correlation Methods" (4th edition, 1970), chapters 3 and 4.
///
/// # Errors
/// As [`pearson`].
pub fn kendall(one: &[f64], other: &[f64]) -> Result<Correlation, StatisticsError> {
    check("Kendall's correlation", one, other)?;
    let mut sum = 0.0;
    for (place, (a, b)) in one.iter().zip(other).enumerate() {
        for (c, d) in one[..place].iter().zip(other) {
            sum += sign(a - c) * sign(b - d);
        }
    }
    let n = one.len() as f64;
    let (first, second) = (doubled(one).1, doubled(other).1);
    let pairs = n * (n - 1.0) / 2.0;
    let tied = |groups: &[usize]| over(groups, |t| t * (t - 1.0) / 2.0);
    let scale = ((pairs - tied(&first)) * (pairs - tied(&second))).sqrt();
    let cubic = |groups: &[usize]| over(groups, |t| t * (t - 1.0) * (2.0 * t + 5.0));
    let triples = |groups: &[usize]| over(groups, |t| t * (t - 1.0) * (t - 2.0));
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - cubic(&first) - cubic(&second)) / 18.0
        + tied(&first) * tied(&second) * 2.0 / (n * (n - 1.0))
        + triples(&first) * triples(&second) / (9.0 * n * (n - 1.0) * (n - 2.0));
    Ok(Correlation {
        coefficient: (sum / scale).clamp(-1.0, 1.0),
        p: normal_two_sided(sum / variance.sqrt()),
    })
}

/// Sum of `f` over the sizes of groups.
fn over(groups: &[usize], f: fn(f64) -> f64) -> f64 {
    groups.iter().map(|size| f(*size as f64)).sum()
}

/// −1, 0 or 1; that of the standard library is 1 of 0.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

fn check(statistic: &'static str, one: &[f64], other: &[f64]) -> Result<(), StatisticsError> {
    paired(one, other)?;
    finite(one)?;
    finite(other)?;
    if one.len() < 3 {
        return Err(StatisticsError::Needs { statistic, found: one.len(), needed: 3 });
    }
    let constant = |side: &[f64]| side.iter().all(|value| *value == side[0]);
    match constant(one) || constant(other) {
        true => Err(StatisticsError::Constant { statistic }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lightness of tuna and how a panel liked it, from M. Hollander and D. A. Wolfe,
    /// "Nonparametric Statistical Methods" (1973), table 8.1.
    const LIGHT: [f64; 9] = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1];
    const LIKED: [f64; 9] = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8];

    #[test]
    fn a_printed_example() {
        let found = kendall(&LIGHT, &LIKED).unwrap();
        assert!((found.coefficient - 4.0 / 9.0).abs() < 1e-12, "{found:?}");
        assert!((found.p - 0.095_292_838).abs() < 1e-9, "{found:?}");
        assert!((spearman(&LIGHT, &LIKED).unwrap().coefficient - 0.6).abs() < 1e-12);
        let found = pearson(&LIGHT, &LIKED).unwrap();
        assert!((found.coefficient - 0.5712).abs() < 1e-4, "{found:?}");
        assert!((found.p - 0.1082).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn equal_samples_shrink_what_is_possible() {
        // (sum 4) / sqrt((6 - 1) * (6 - 1)).
        let found = kendall(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 2.0, 3.0]).unwrap();
        assert!((found.coefficient - 0.8).abs() < 1e-12, "{found:?}");
        // scipy 1.17.
        let one = [1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 7.0, 8.0, 9.0, 9.0, 10.0];
        let other = [1.0, 2.0, 2.0, 3.0, 3.0, 5.0, 4.0, 4.0, 9.0, 9.0, 8.0, 7.0];
        for (correlation, coefficient, p) in [
            (kendall as fn(&[f64], &[f64]) -> _, 0.764_252_901, 0.000_979_694_5),
            (spearman, 0.903_920_315, 0.000_054_772_6),
            (pearson, 0.907_732_010, 0.000_045_032_1),
        ] {
            let found: Correlation = correlation(&one, &other).unwrap();
            assert!((found.coefficient - coefficient).abs() < 1e-9, "{found:?}");
            assert!((found.p - p).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn what_has_no_correlation() {
        assert!(matches!(pearson(&[1.0], &[1.0]), Err(StatisticsError::Needs { .. })));
        let (rising, same) = ([1.0, 2.0, 3.0], [2.0; 3]);
        for correlation in [pearson, spearman, kendall] {
            assert!(matches!(correlation(&rising, &same), Err(StatisticsError::Constant { .. })));
            assert!(matches!(correlation(&rising, &[1.0]), Err(StatisticsError::Unpaired { .. })));
        }
    }

    proptest! {
        #[test]
        fn coefficients_are_in_range_and_turn_with_the_side(
            pairs in prop::collection::vec((0i32..9, 0i32..9), 3..40),
        ) {
            let one: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0)).collect();
            let other: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1)).collect();
            let turned: Vec<f64> = other.iter().map(|value| -value).collect();
            for correlation in [pearson, spearman, kendall] {
                let Ok(found) = correlation(&one, &other) else { continue };
                let back = correlation(&one, &turned).unwrap();
                prop_assert!(found.coefficient.abs() <= 1.0 && (0.0..=1.0).contains(&found.p));
                prop_assert!((found.coefficient + back.coefficient).abs() < 1e-9);
                prop_assert!((correlation(&one, &one).unwrap().coefficient - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn ranks_see_any_rising_curve_as_straight(
            samples in prop::collection::hash_set(-20i32..20, 3..30),
        ) {
            let samples: Vec<f64> = samples.into_iter().map(f64::from).collect();
            let curved: Vec<f64> = samples.iter().map(|value| (value / 4.0).exp()).collect();
            for correlation in [spearman, kendall] {
                prop_assert!((correlation(&samples, &curved).unwrap().coefficient - 1.0).abs() < 1e-12);
            }
        }
    }
}
