//! Friedman's test: whether some of many candidates do better than others, over blocks of results
//! that belong together (an input, a round).

use crate::StatisticsError;
use crate::distribution::{chi_squared_above, t_quantile};
use crate::error::finite;
use crate::rank::{doubled, tie_term};

/// What Friedman's test says.
#[derive(Debug, Clone, PartialEq)]
pub struct Friedman {
    /// The statistic, close to chi-squared with one degree of freedom fewer than candidates.
    pub statistic: f64,
    /// Probability, 0 to 1, of a statistic so large or larger, were all candidates alike.
    pub p: f64,
    /// Sum of the ranks of each candidate over all blocks; the smallest result has rank 1.
    pub rank_sums: Vec<f64>,
    /// Sum of the squares of all ranks.
    squares: f64,
    /// Blocks.
    blocks: f64,
}

/// Tests `blocks`, each of which has one result of each candidate, in the same order.
///
/// Sources: M. Friedman, "The Use of Ranks to Avoid the Assumption of Normality Implicit in the
/// Analysis of Variance", Journal of the American Statistical Association 32 (1937), 675-701; with
/// equal results as in W. J. Conover, "Practical Nonparametric Statistics" (3rd edition, 1999),
/// section 5.8.
///
/// # Errors
/// [`StatisticsError`] below two blocks or two candidates, for blocks of different lengths, a result
/// that is not finite, and where within each block all results are the same.
pub fn friedman(blocks: &[Vec<f64>]) -> Result<Friedman, StatisticsError> {
    const STATISTIC: &str = "Friedman's test";
    let candidates = blocks.first().map_or(0, Vec::len);
    for found in [blocks.len(), candidates] {
        if found < 2 {
            return Err(StatisticsError::Needs { statistic: STATISTIC, found, needed: 2 });
        }
    }
    let mut rank_sums = vec![0.0; candidates];
    let (mut ties, mut squares) = (0.0, 0.0);
    for block in blocks {
        if block.len() != candidates {
            return Err(StatisticsError::Round { found: block.len(), expected: candidates });
        }
        finite(block)?;
        let (ranks, groups) = doubled(block);
        ties += tie_term(&groups);
        for (sum, rank) in rank_sums.iter_mut().zip(ranks) {
            let rank = rank as f64 / 2.0;
            *sum += rank;
            squares += rank * rank;
        }
    }
    let (count, k) = (blocks.len() as f64, candidates as f64);
    let spread = k * (k + 1.0) * count - ties / (k - 1.0);
    if spread <= 0.0 {
        return Err(StatisticsError::Constant { statistic: STATISTIC });
    }
    let mean = count * (k + 1.0) / 2.0;
    let apart: f64 = rank_sums.iter().map(|sum| (sum - mean).powi(2)).sum();
    let statistic = 12.0 * apart / spread;
    let p = chi_squared_above(k - 1.0, statistic).unwrap_or(1.0);
    Ok(Friedman { statistic, p, rank_sums, squares, blocks: count })
}

impl Friedman {
    /// How far the sums of ranks of two candidates must lie apart to differ at `level` (0 to 1), once
    /// the test as a whole says that some differ.
    ///
    /// Source: Conover, as above, the comparison behind the test.
    pub fn least_difference(&self, level: f64) -> f64 {
        let (blocks, k) = (self.blocks, self.rank_sums.len() as f64);
        let freedom = (blocks - 1.0) * (k - 1.0);
        let sums: f64 = self.rank_sums.iter().map(|sum| sum * sum).sum();
        let rest = (2.0 * (blocks * self.squares - sums) / freedom).max(0.0);
        t_quantile(freedom, 1.0 - level / 2.0).unwrap_or(f64::INFINITY) * rest.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three ways to round first base by 22 runners, from M. Hollander and D. A. Wolfe,
    /// "Nonparametric Statistical Methods" (1973), table 7.1.
    const ROUNDING: [[f64; 3]; 22] = [
        [5.40, 5.50, 5.55],
        [5.85, 5.70, 5.75],
        [5.20, 5.60, 5.50],
        [5.55, 5.50, 5.40],
        [5.90, 5.85, 5.70],
        [5.45, 5.55, 5.60],
        [5.40, 5.40, 5.35],
        [5.45, 5.50, 5.35],
        [5.25, 5.15, 5.00],
        [5.85, 5.80, 5.70],
        [5.25, 5.20, 5.10],
        [5.65, 5.55, 5.45],
        [5.60, 5.35, 5.45],
        [5.05, 5.00, 4.95],
        [5.50, 5.50, 5.40],
        [5.45, 5.55, 5.50],
        [5.55, 5.55, 5.35],
        [5.45, 5.50, 5.55],
        [5.50, 5.45, 5.25],
        [5.65, 5.60, 5.40],
        [5.70, 5.65, 5.55],
        [6.30, 6.30, 6.25],
    ];

    #[test]
    fn a_printed_example() {
        let blocks: Vec<Vec<f64>> = ROUNDING.iter().map(|row| row.to_vec()).collect();
        let found = friedman(&blocks).unwrap();
        assert!((found.statistic - 11.143).abs() < 5e-4, "{found:?}");
        assert!((found.p - 0.003_805).abs() < 5e-7, "{found:?}");
        assert_eq!(found.rank_sums, [53.0, 47.0, 32.0]);
        // The narrow and the wide way differ, the outer two do not differ from round out.
        let least = found.least_difference(0.05);
        assert!(least < 53.0 - 32.0 && least > 53.0 - 47.0, "{least}");
    }

    #[test]
    fn what_cannot_be_tested() {
        assert!(matches!(friedman(&[]), Err(StatisticsError::Needs { .. })));
        let one = vec![vec![1.0], vec![2.0]];
        assert!(matches!(friedman(&one), Err(StatisticsError::Needs { .. })));
        let ragged = vec![vec![1.0, 2.0], vec![2.0]];
        assert!(matches!(friedman(&ragged), Err(StatisticsError::Round { .. })));
        let same = vec![vec![1.0, 1.0], vec![2.0, 2.0]];
        assert!(matches!(friedman(&same), Err(StatisticsError::Constant { .. })));
    }

    proptest! {
        #[test]
        fn only_the_order_within_a_block_counts(
            blocks in prop::collection::vec(prop::collection::vec(0.0f64..1.0, 4..=4), 2..20),
        ) {
            let shifted: Vec<Vec<f64>> = blocks
                .iter()
                .enumerate()
                .map(|(at, block)| block.iter().map(|value| value * 8.0 + at as f64).collect())
                .collect();
            prop_assert_eq!(friedman(&blocks), friedman(&shifted));
        }
    }
}
