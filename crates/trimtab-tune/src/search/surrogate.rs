//! What points cost, estimated from those that were measured: it costs less than building them.

use std::collections::BTreeMap;

use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::ridge_regression::{RidgeRegression, RidgeRegressionParameters};

use crate::space::{Point, Selection};

/// A random forest over the options that differ between the measured points.
///
/// Source: L. Breiman, "Random Forests", Machine Learning 45 (2001), 5-32; as a surrogate in
/// F. Hutter, H. H. Hoos and K. Leyton-Brown, "Sequential Model-Based Optimization for General Algorithm
/// Configuration", LION 5 (2011), 507-523. The forest is that of the crate smartcore.
pub struct Surrogate {
    features: Vec<Selection>,
    forest: RandomForestRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>,
}

/// Trees of the forest.
const TREES: usize = 40;
/// Most points that are learned from: the last ones.
const MOST_POINTS: usize = 300;
/// Fewest points on either side of an option for it to be looked at.
const FEWEST: usize = 2;

impl Surrogate {
    /// Learns from points with what they cost; none where they are too few or all alike.
    pub fn learn(measured: &[(Point, f64)], seed: u64) -> Option<Self> {
        let measured = &measured[measured.len().saturating_sub(MOST_POINTS)..];
        let features = differing(measured, FEWEST);
        if features.is_empty() || measured.len() < 2 * FEWEST {
            return None;
        }
        let rows: Vec<Vec<f64>> = measured.iter().map(|(point, _)| row(&features, point)).collect();
        let costs: Vec<f64> = measured.iter().map(|(_, cost)| cost.ln()).collect();
        let parameters = RandomForestRegressorParameters::default()
            .with_n_trees(TREES)
            .with_max_depth(12)
            .with_m((features.len() / 3).max(1))
            .with_seed(seed);
        let matrix = DenseMatrix::from_2d_vec(&rows).ok()?;
        let forest = RandomForestRegressor::fit(&matrix, &costs, parameters).ok()?;
        Some(Self { features, forest })
    }

    /// What each point is expected to cost; nothing where that cannot be said.
    pub fn costs(&self, points: &[Point]) -> Option<Vec<f64>> {
        let rows: Vec<Vec<f64>> = points.iter().map(|point| row(&self.features, point)).collect();
        let costs = self.forest.predict(&DenseMatrix::from_2d_vec(&rows).ok()?).ok()?;
        Some(costs.into_iter().map(f64::exp).collect())
    }
}

/// How far coefficients are drawn to nothing: as if so many points said that an option does nothing.
const DRAWN: f64 = 1.0;
/// What options count that all of the last points have: they stand for what these have in common, which is hardly
/// drawn to nothing, as an intercept is not.
const COMMON: f64 = 10.0;

/// What each option does to the cost by itself, as the logarithm of a ratio: a linear regression over
/// what was measured last, drawn to nothing where little is known. Empty where nothing can be said.
///
/// Costs are in times of that without any option, so that nothing is added to the effects; what all points have
/// must be among them, or its effect is taken for one of what most have. The last points say nothing of which of
/// these it is: what was measured first, before all had them, does.
///
/// Source: A. E. Hoerl and R. W. Kennard, "Ridge Regression: Biased Estimation for Nonorthogonal
/// Problems", Technometrics 12 (1970), 55-67. The regression is that of the crate smartcore.
pub fn effects(measured: &[(Point, f64)]) -> Vec<(Selection, f64)> {
    let (earlier, last) = measured.split_at(measured.len().saturating_sub(MOST_POINTS));
    let (features, weights): (Vec<Selection>, Vec<f64>) = counts(last)
        .into_iter()
        .map(|(option, count)| (option, if count == last.len() { COMMON } else { 1.0 }))
        .unzip();
    let is_of_these =
        |point: &Point| point.chosen().all(|option| features.binary_search(&option).is_ok());
    let first = earlier.iter().take(MOST_POINTS).filter(|(point, _)| is_of_these(point));
    let measured: Vec<&(Point, f64)> = first.chain(last).collect();
    if features.is_empty() || features.len() > MOST_FEATURES {
        return Vec::new();
    }
    let weighted = |point: &Point| {
        row(&features, point).iter().zip(&weights).map(|(has, weight)| has * weight).collect()
    };
    let mut rows: Vec<Vec<f64>> = measured.iter().map(|(point, _)| weighted(point)).collect();
    let mut costs: Vec<f64> = measured.iter().map(|(_, cost)| cost.ln()).collect();
    // The regression takes no fewer rows than options, of which there often are more than points.
    while rows.len() <= features.len() {
        rows.push(vec![0.0; features.len()]);
        costs.push(0.0);
    }
    let parameters = RidgeRegressionParameters::default().with_alpha(DRAWN).with_normalize(false);
    let fitted = DenseMatrix::from_2d_vec(&rows)
        .and_then(|matrix| RidgeRegression::fit(&matrix, &costs, parameters));
    let Ok(fitted) = fitted else { return Vec::new() };
    let coefficients = fitted.coefficients();
    let of = |place: usize| *coefficients.get((place, 0)) * weights[place];
    features.iter().enumerate().map(|(place, option)| (*option, of(place))).collect()
}

/// Most options of a regression: its time grows with the third power.
const MOST_FEATURES: usize = 400;

fn row(features: &[Selection], point: &Point) -> Vec<f64> {
    features.iter().map(|option| f64::from(u8::from(point.has(*option)))).collect()
}

/// Options that at least `fewest` of the points have, and as many have not.
fn differing(measured: &[(Point, f64)], fewest: usize) -> Vec<Selection> {
    let differs = |count: usize| count >= fewest && measured.len() - count >= fewest;
    let counts = counts(measured).into_iter();
    counts.filter(|(_, count)| differs(*count)).map(|(option, _)| option).collect()
}

/// How many of the points have each option.
fn counts(measured: &[(Point, f64)]) -> BTreeMap<Selection, usize> {
    let mut counts = BTreeMap::new();
    for chosen in measured.iter().flat_map(|(point, _)| point.chosen()) {
        *counts.entry(chosen).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn what_it_learned_it_says() {
        let points: Vec<(Point, f64)> = (0..64_u8)
            .map(|bits| {
                let point = Point::new((0..6).map(|bit| bits >> bit & 1).collect());
                let cost = 1.0 - 0.1 * f64::from(bits & 1) + 0.05 * f64::from(bits >> 3 & 1);
                (point, cost)
            })
            .collect();
        let surrogate = Surrogate::learn(&points, 1).unwrap();
        let ask = [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]];
        let costs = surrogate.costs(&ask.map(|values| Point::new(values.to_vec()))).unwrap();
        assert!(costs[1] < costs[0] && costs[0] < costs[2], "{costs:?}");
        let again = Surrogate::learn(&points, 1).unwrap();
        assert_eq!(again.costs(&[points[7].0.clone()]), surrogate.costs(&[points[7].0.clone()]));
    }

    #[test]
    fn options_are_told_apart_that_were_mostly_tried_together() {
        let points: Vec<(Point, f64)> = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]]
            .map(|values| {
                let point = Point::new(values.to_vec());
                let cost = [0.9, 1.05, 1.0].iter().zip(values).filter(|(_, has)| *has > 0);
                (point, cost.map(|(cost, _)| cost).product())
            })
            .to_vec();
        let found: Vec<f64> = effects(&points).into_iter().map(|(_, effect)| effect).collect();
        assert!(found[0] < -0.02 && found[1] > 0.01, "{found:?}");
        assert!(found[2].abs() < 0.03, "{found:?}");
        assert!(effects(&[]).is_empty());
    }

    /// So many points at random whose options are there as often as `shares` say, and multiply what they cost.
    fn sampled(count: usize, shares: &[f64], costs: &[f64]) -> Vec<(Point, f64)> {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut point = || {
            let values = shares.iter().map(|share| u8::from(random.random_bool(*share)));
            let point = Point::new(values.collect());
            let cost = point.chosen().map(|option| costs[option.choice]).product();
            (point, cost)
        };
        (0..count).map(|_| point()).collect()
    }

    fn effect(found: &[(Selection, f64)], choice: usize) -> f64 {
        found.iter().find(|(option, _)| option.choice == choice).map_or(0.0, |found| found.1)
    }

    #[test]
    fn what_all_points_have_in_common_is_not_taken_for_the_effect_of_what_most_have() {
        let costs = [0.8, 1.03, 0.98];
        let found = effects(&sampled(100, &[1.0, 0.9, 0.5], &costs));
        for (choice, cost) in costs.iter().enumerate() {
            let found = effect(&found, choice);
            assert!((found - cost.ln()).abs() < 0.02, "{choice}: {found}");
        }
    }

    #[test]
    fn what_all_later_points_have_is_judged_by_earlier_ones_that_had_it_not() {
        let costs = [0.8, 1.03, 0.98, 1.0];
        let mut points = sampled(100, &[0.5; 4], &costs);
        points.extend(sampled(900, &[1.0, 1.0, 0.5, 0.5], &costs));
        let found = effects(&points);
        for (choice, cost) in costs.iter().enumerate() {
            let found = effect(&found, choice);
            assert!((found - cost.ln()).abs() < 0.01, "{choice}: {found}");
        }
    }

    #[test]
    fn nothing_is_learned_from_what_is_alike() {
        let point = Point::new(vec![1, 0]);
        assert!(Surrogate::learn(&vec![(point, 1.0); 20], 1).is_none());
        assert!(Surrogate::learn(&[], 1).is_none());
    }
}
