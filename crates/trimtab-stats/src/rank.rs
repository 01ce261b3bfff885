//! Ranks of samples, with the mean rank where samples are equal.

/// The rank of each sample, from 1; equal samples all get the mean of the ranks that they take up.
pub fn ranks(samples: &[f64]) -> Vec<f64> {
    doubled(samples).0.into_iter().map(|rank| rank as f64 / 2.0).collect()
}

/// Twice the rank of each sample, which is a whole number also where samples are equal, and the
/// sizes of the groups of equal samples, in ascending order of these.
pub(crate) fn doubled(samples: &[f64]) -> (Vec<u64>, Vec<usize>) {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|one, other| samples[*one].total_cmp(&samples[*other]));
    let mut ranks = vec![0; samples.len()];
    let mut groups = Vec::new();
    let mut start = 0;
    for group in order.chunk_by(|one, other| samples[*one] == samples[*other]) {
        let end = start + group.len();
        for place in group {
            // The ranks from start + 1 to end have the mean (start + 1 + end) / 2.
            ranks[*place] = (start + 1 + end) as u64;
        }
        groups.push(group.len());
        start = end;
    }
    (ranks, groups)
}

/// Sum of t³ − t over the sizes t of groups of equal samples: what they take from the variance of
/// sums of ranks.
pub(crate) fn tie_term(groups: &[usize]) -> f64 {
    groups.iter().map(|size| (*size as f64).powi(3) - *size as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_samples_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.0, -0.0]), [4.5, 3.0, 4.5, 1.5, 1.5]);
        assert_eq!(doubled(&[3.0, 1.0, 3.0]).1, [1, 2]);
        assert_eq!(tie_term(&[1, 2, 3]), 30.0);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn ranks_add_up(samples in prop::collection::vec((0i32..10).prop_map(f64::from), 0..50)) {
            let count = samples.len() as f64;
            prop_assert_eq!(ranks(&samples).iter().sum::<f64>(), count * (count + 1.0) / 2.0);
        }
    }
}
