//! Tree-structured Parzen estimators.

use rand::rngs::ChaCha8Rng;
use tpe::density_estimation::DefaultEstimatorBuilder;
use tpe::{TpeOptimizer, categorical_range};

use super::{Outcome, Search, anywhere, random};
use crate::space::{Point, Space};

/// Estimates for each choice by itself how often good and other points have each of its options, and
/// takes what is likelier among the good. Begins with the seeds and points at random.
///
/// Source: J. Bergstra, R. Bardenet, Y. Bengio and B. Kégl, "Algorithms for Hyper-Parameter
/// Optimization", NIPS 24 (2011), 2546-2554; the estimators are those of the crate tpe.
pub struct Parzen {
    space: Space,
    random: ChaCha8Rng,
    /// Points that are still to be named before estimates are asked, the next one last.
    first: Vec<Point>,
    /// An estimator for each choice.
    estimators: Vec<TpeOptimizer<DefaultEstimatorBuilder>>,
}

/// Points at random before estimates are asked.
const AT_RANDOM: usize = 10;

/// What a point that failed is told to cost: worse than anything that runs.
const FAILED: f64 = 1e6;

impl Parzen {
    /// Begins.
    pub fn new(space: Space, seeds: &[Point], seed: u64) -> Self {
        let mut random = random(seed);
        let mut first: Vec<Point> = (0..AT_RANDOM).map(|_| anywhere(&space, &mut random)).collect();
        first.extend(seeds.iter().rev().cloned());
        let estimators = (0..space.len())
            .filter_map(|choice| categorical_range(usize::from(space.most(choice)) + 1).ok())
            .map(|range| TpeOptimizer::new(tpe::histogram_estimator(), range))
            .collect();
        Self { space, random, first, estimators }
    }
}

impl Search for Parzen {
    fn ask(&mut self, most: usize) -> Vec<Point> {
        (0..most)
            .map(|_| {
                if let Some(point) = self.first.pop() {
                    return point;
                }
                let Self { space, random, estimators, .. } = self;
                let values = estimators.iter_mut().enumerate().map(|(choice, estimator)| {
                    // Of a range of categories an estimate is a number from 0 below their count.
                    let drawn = estimator.ask(random).unwrap_or(0.0);
                    (drawn as u8).min(space.most(choice))
                });
                Point::new(values.collect())
            })
            .collect()
    }

    fn tell(&mut self, point: &Point, outcome: &Outcome) {
        for (estimator, value) in self.estimators.iter_mut().zip(point.values()) {
            // It refuses what is no number, which no cost is.
            let _ = estimator.tell(f64::from(*value), outcome.cost().min(FAILED));
        }
    }
}
