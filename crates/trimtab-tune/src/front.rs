//! What no other beats in all respects.

/// Places of the candidates that no other beats in both numbers, of which less is better, by the first
/// of them; of candidates with the same numbers only the first counts.
pub fn front(candidates: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| {
        let (one, other) = (candidates[*a], candidates[*b]);
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)).then(a.cmp(b))
    });
    let mut least = f64::INFINITY;
    order.retain(|place| {
        let better = candidates[*place].1 < least;
        least = least.min(candidates[*place].1);
        better
    });
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_beaten_is_left_out() {
        assert_eq!(
            front(&[(1.0, 5.0), (0.9, 9.0), (0.95, 7.0), (0.96, 8.0), (0.9, 9.0)]),
            [1, 2, 0]
        );
        assert_eq!(front(&[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn none_of_the_front_is_beaten_and_all_others_are(
            points in prop::collection::vec((0u8..20, 0u8..20), 0..30)
        ) {
            let points: Vec<(f64, f64)> =
                points.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).collect();
            let found = front(&points);
            for (place, one) in points.iter().enumerate() {
                let beaten = found.iter().any(|other| {
                    points[*other].0 <= one.0 && points[*other].1 <= one.1
                });
                prop_assert!(beaten);
                if found.contains(&place) {
                    let beats = |p: &(f64, f64)| {
                        p.0 <= one.0 && p.1 <= one.1 && (p.0 < one.0 || p.1 < one.1)
                    };
                    prop_assert!(!points.iter().any(beats));
                }
            }
        }
    }
}
