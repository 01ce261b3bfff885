//! Tests of two sides by ranks: whether one is larger, whatever the distribution.
//!
//! Up to [`EXACT`] samples the probability is exact, also with equal samples: all ways to give out the
//! ranks are counted. Above it, the sum of ranks is taken to be normally distributed, with the
//! variance corrected for equal samples and half a step for continuity.

use crate::StatisticsError;
use crate::distribution::normal_two_sided;
use crate::error::{finite, paired};
use crate::rank::{doubled, tie_term};

/// Most samples whose ranks are counted out.
const EXACT: usize = 50;

/// What a test by ranks says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// The statistic: V of [`wilcoxon`], the sum of the ranks of the positive differences; U of
    /// [`mann_whitney`], the pairs whose first side is the larger one, equal ones by half.
    pub statistic: f64,
    /// Probability, 0 to 1, of sides that lie as far apart or further, were there no difference.
    pub p: f64,
    /// Share of pairs, 0 to 1, whose first side is the larger one; 0.5 where neither is.
    pub larger: f64,
}

/// Wilcoxon's signed rank test: whether `one[i]` is larger or smaller than `other[i]`. Pairs of equal
/// sides are left out.
///
/// Source: F. Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1 (1945),
/// 80-83.
///
/// # Errors
/// [`StatisticsError`] where the samples do not pair up, are not finite, or no pair differs.
pub fn wilcoxon(one: &[f64], other: &[f64]) -> Result<RankTest, StatisticsError> {
    const STATISTIC: &str = "Wilcoxon's signed rank test";
    paired(one, other)?;
    finite(one)?;
    finite(other)?;
    if one.is_empty() {
        return Err(StatisticsError::Needs { statistic: STATISTIC, found: 0, needed: 1 });
    }
    let differences: Vec<f64> =
        one.iter().zip(other).map(|(one, other)| one - other).filter(|by| *by != 0.0).collect();
    if differences.is_empty() {
        return Err(StatisticsError::Constant { statistic: STATISTIC });
    }
    let sizes: Vec<f64> = differences.iter().map(|by| by.abs()).collect();
    let (ranks, groups) = doubled(&sizes);
    let positive = differences.iter().zip(&ranks).filter(|(by, _)| **by > 0.0);
    let statistic: u64 = positive.map(|(_, rank)| rank).sum();
    let count = differences.len() as f64;
    let p = if differences.len() <= EXACT {
        // Each rank is on the positive side or not: 2^n ways, counted by their sums.
        let mut ways = vec![0.0; ranks.iter().sum::<u64>() as usize + 1];
        ways[0] = 1.0;
        for rank in &ranks {
            for sum in (*rank as usize..ways.len()).rev() {
                ways[sum] += ways[sum - *rank as usize];
            }
        }
        exact(&ways, statistic as usize)
    } else {
        let variance =
            count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - tie_term(&groups) / 48.0;
        normal(statistic as f64 / 2.0 - count * (count + 1.0) / 4.0, variance)
    };
    let larger = differences.iter().filter(|by| **by > 0.0).count() as f64
        + 0.5 * (one.len() - differences.len()) as f64;
    Ok(RankTest { statistic: statistic as f64 / 2.0, p, larger: larger / one.len() as f64 })
}

/// The test of Mann and Whitney (Wilcoxon's rank sum test): whether samples of `one` are larger or
/// smaller than those of `other`, which do not pair up with them.
///
/// Source: H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is
/// Stochastically Larger than the Other", Annals of Mathematical Statistics 18 (1947), 50-60; the
/// variance with equal samples as in E. L. Lehmann, "Nonparametrics" (1975), section 1.4.
///
/// # Errors
/// [`StatisticsError`] where a side has no samples, one is not finite, or all are the same.
pub fn mann_whitney(one: &[f64], other: &[f64]) -> Result<RankTest, StatisticsError> {
    const STATISTIC: &str = "the test of Mann and Whitney";
    finite(one)?;
    finite(other)?;
    if one.is_empty() || other.is_empty() {
        let found = one.len().min(other.len());
        return Err(StatisticsError::Needs { statistic: STATISTIC, found, needed: 1 });
    }
    let all: Vec<f64> = one.iter().chain(other).copied().collect();
    let (ranks, groups) = doubled(&all);
    if groups.len() == 1 {
        return Err(StatisticsError::Constant { statistic: STATISTIC });
    }
    let sum: u64 = ranks[..one.len()].iter().sum();
    let (n, m) = (one.len() as f64, other.len() as f64);
    let statistic = sum as f64 / 2.0 - n * (n + 1.0) / 2.0;
    let p = if all.len() <= EXACT {
        exact(&subsets(&ranks, one.len()), sum as usize)
    } else {
        let count = n + m;
        let ties = tie_term(&groups) / (count * (count - 1.0));
        normal(statistic - n * m / 2.0, n * m / 12.0 * (count + 1.0 - ties))
    };
    Ok(RankTest { statistic, p, larger: statistic / (n * m) })
}

/// How many subsets of `size` of `ranks` have which sum.
fn subsets(ranks: &[u64], size: usize) -> Vec<f64> {
    let width = ranks.iter().sum::<u64>() as usize + 1;
    // ways[taken] counts subsets of so many ranks, by their sums.
    let mut ways = vec![vec![0.0; width]; size + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        let rank = *rank as usize;
        for taken in (1..=size).rev() {
            let (below, above) = ways.split_at_mut(taken);
            for (sum, found) in below[taken - 1][..width - rank].iter().enumerate() {
                above[0][sum + rank] += found;
            }
        }
    }
    ways.swap_remove(size)
}

/// Two-sided probability of a sum that so many `ways` lead to, by sum: twice that of the smaller side.
fn exact(ways: &[f64], sum: usize) -> f64 {
    let all: f64 = ways.iter().sum();
    let below: f64 = ways[..=sum].iter().sum();
    let above: f64 = ways[sum..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

/// Two-sided probability of a sum of ranks that is `off` its mean, with half a step for continuity.
fn normal(off: f64, variance: f64) -> f64 {
    normal_two_sided((off.abs() - 0.5).max(0.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The depression scale factors of nine patients at two visits, from M. Hollander and
    /// D. A. Wolfe, "Nonparametric Statistical Methods" (1973), table 3.1.
    #[test]
    #[allow(clippy::approx_constant, reason = "a patient's factor is 3.14")]
    fn signed_ranks_of_a_printed_example() {
        let first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let found = wilcoxon(&first, &second).unwrap();
        assert_eq!(found.statistic, 40.0);
        assert!((found.p - 2.0 * 0.019_531_25).abs() < 1e-12, "{found:?}");
        assert_eq!(found.larger, 7.0 / 9.0);
    }

    /// Permeability of the chorioamnion at term and before, from the same, table 4.1.
    #[test]
    fn rank_sums_of_a_printed_example() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = mann_whitney(&term, &early).unwrap();
        assert_eq!(found.statistic, 35.0);
        assert!((found.p - 2.0 * 0.1272).abs() < 1e-4, "{found:?}");
        assert_eq!(found.larger, 0.7);
    }

    /// Sixty numbers with many equal ones; the probabilities are those of scipy 1.17.
    #[test]
    fn many_samples_with_equal_ones() {
        let side = |step: f64, by: f64| -> Vec<f64> {
            (0..60).map(|at| (f64::from(at) * step % 1.0 * 20.0).round_ties_even() + by).collect()
        };
        let (one, other) = (side(0.618_033_988, 2.0), side(0.754_877_666, 0.0));
        let found = wilcoxon(&one, &other).unwrap();
        // scipy.stats.wilcoxon gives the smaller of both sums.
        assert!((found.p - 0.055_016_869).abs() < 1e-9, "{found:?}");
        let found = mann_whitney(&one, &other[..30]).unwrap();
        assert_eq!(found.statistic, 1156.5);
        assert!((found.p - 0.028_242_282).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_cannot_be_tested() {
        assert!(matches!(wilcoxon(&[1.0], &[1.0, 2.0]), Err(StatisticsError::Unpaired { .. })));
        assert!(matches!(wilcoxon(&[1.0], &[1.0]), Err(StatisticsError::Constant { .. })));
        assert!(matches!(wilcoxon(&[], &[]), Err(StatisticsError::Needs { .. })));
        assert!(matches!(mann_whitney(&[], &[1.0]), Err(StatisticsError::Needs { .. })));
        assert!(matches!(mann_whitney(&[2.0], &[2.0]), Err(StatisticsError::Constant { .. })));
        assert!(mann_whitney(&[f64::NAN], &[2.0]).is_err());
    }

    /// Every way to give signs to the ranks, one by one.
    fn enumerated(differences: &[f64]) -> f64 {
        let sizes: Vec<f64> = differences.iter().map(|by| by.abs()).collect();
        let ranks = crate::ranks(&sizes);
        let sum = |signs: u32| -> f64 {
            ranks.iter().enumerate().filter(|(at, _)| signs >> at & 1 == 1).map(|(_, r)| r).sum()
        };
        let found: u32 =
            differences.iter().enumerate().map(|(at, by)| u32::from(*by > 0.0) << at).sum();
        let all = 1_u32 << ranks.len();
        let below = (0..all).filter(|signs| sum(*signs) <= sum(found)).count();
        let above = (0..all).filter(|signs| sum(*signs) >= sum(found)).count();
        (2.0 * below.min(above) as f64 / f64::from(all)).min(1.0)
    }

    proptest! {
        #[test]
        fn signs_are_counted_out(
            differences in prop::collection::vec((-4i32..5).prop_map(f64::from), 1..10),
        ) {
            let kept: Vec<f64> = differences.iter().copied().filter(|by| *by != 0.0).collect();
            prop_assume!(!kept.is_empty());
            let zeros = vec![0.0; differences.len()];
            let found = wilcoxon(&differences, &zeros).unwrap();
            prop_assert!((found.p - enumerated(&kept)).abs() < 1e-12);
        }

        #[test]
        fn swapping_the_sides_changes_nothing_but_the_direction(
            one in prop::collection::vec((0i32..9).prop_map(f64::from), 1..40),
            other in prop::collection::vec((0i32..9).prop_map(f64::from), 1..40),
        ) {
            if let (Ok(there), Ok(back)) = (mann_whitney(&one, &other), mann_whitney(&other, &one)) {
                prop_assert!((there.p - back.p).abs() < 1e-9, "{:?} {:?}", there, back);
                prop_assert!((there.larger + back.larger - 1.0).abs() < 1e-12);
                prop_assert!(there.p > 0.0 && there.p <= 1.0);
            }
        }

        #[test]
        fn the_normal_distribution_takes_over_smoothly(shift in 0.0f64..0.3) {
            // 50 pairs are counted out, 51 are not: the probabilities must be close.
            let side = |count: usize, by: f64| -> Vec<f64> {
                (0..count).map(|at| (at as f64 * 0.618_033_988).fract() + by).collect()
            };
            let twisted = |count| -> Vec<f64> {
                (0..count).map(|at| (at as f64 * 0.754_877_666).fract()).collect()
            };
            let exact = wilcoxon(&side(50, shift), &twisted(50)).unwrap();
            let normal = wilcoxon(&side(51, shift), &twisted(51)).unwrap();
            prop_assert!((exact.p - normal.p).abs() < 0.08, "{:?} {:?}", exact, normal);
        }
    }
}
