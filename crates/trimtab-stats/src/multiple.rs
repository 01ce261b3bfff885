//! Many comparisons at once.

/// Probabilities corrected so that among all the comparisons they come from, the chance that any one
/// is taken for a difference without being one stays below the level that the corrected ones are
/// compared with. In the order of `p`.
///
/// Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal
/// of Statistics 6 (1979), 65-70.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let mut corrected = vec![0.0; p.len()];
    let mut most = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        most = most.max((p[place] * (p.len() - rank) as f64).min(1.0));
        corrected[place] = most;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // p.adjust(c(.01, .04, .03, .005), "holm") in R.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
        }
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn corrected_ones_are_larger_and_in_the_same_order(
            p in prop::collection::vec(0.0f64..=1.0, 1..30),
        ) {
            let found = holm(&p);
            for (one, corrected) in p.iter().zip(&found) {
                prop_assert!(corrected >= one && *corrected <= 1.0);
                for (other, beside) in p.iter().zip(&found) {
                    prop_assert!(one > other || corrected <= beside);
                }
            }
        }
    }
}
