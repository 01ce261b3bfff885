//! Drives a search: asks, has points tried, and tells, until a budget is spent.

use std::collections::{HashMap, HashSet};

use super::{Outcome, Search};
use crate::space::Point;

/// A point that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// The point.
    pub point: Point,
    /// What came of it.
    pub outcome: Outcome,
}

/// What a search did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchLog {
    /// Points that it named, with those that it named again.
    pub proposed: u64,
    /// Distinct points, in the order in which it named them.
    pub tried: Vec<Attempt>,
}

impl SearchLog {
    /// The best point that was tried, the first of equal ones; none where all failed.
    pub fn best(&self) -> Option<&Attempt> {
        let good = self.tried.iter().filter(|tried| tried.outcome.cost().is_finite());
        good.min_by(|a, b| a.outcome.cost().total_cmp(&b.outcome.cost()))
    }

    /// Which of the distinct points gave an image that an earlier one had given, so that it was not run.
    pub fn known_images(&self) -> Vec<bool> {
        let mut seen = HashSet::new();
        let image = |tried: &Attempt| tried.outcome.image();
        self.tried
            .iter()
            .map(|tried| image(tried).is_some_and(|image| !seen.insert(image)))
            .collect()
    }

    /// Share of the first `most` distinct points that gave an image which was known; 0 of none.
    pub fn known(&self, most: usize) -> f64 {
        let known = self.known_images();
        let known = &known[..most.min(known.len())];
        match known.len() {
            0 => 0.0,
            all => known.iter().filter(|is_known| **is_known).count() as f64 / all as f64,
        }
    }

    /// The least cost after each distinct point; infinity as long as all failed.
    pub fn best_so_far(&self) -> Vec<f64> {
        let least = self.tried.iter().scan(f64::INFINITY, |least, tried| {
            *least = least.min(tried.outcome.cost());
            Some(*least)
        });
        least.collect()
    }
}

/// A search that names only what is known, so often in a row, has come to its end.
const AGAIN: u32 = 200;

/// Drives a search until `budget` distinct points were tried, or it has no more. `evaluate` is given
/// points that were not tried before, at most `batch` at once, and gives what came of each, in order;
/// what the search does depends on `batch`, and not on how many are tried side by side. A point that
/// the search names again costs nothing: it is told what is known.
///
/// # Errors
/// Those of `evaluate`.
pub fn drive<E>(
    search: &mut dyn Search,
    budget: usize,
    batch: usize,
    mut evaluate: impl FnMut(&[Point]) -> Result<Vec<Outcome>, E>,
) -> Result<SearchLog, E> {
    let mut driven = SearchLog::default();
    let mut known: HashMap<Point, Outcome> = HashMap::new();
    let mut in_vain = 0;
    while driven.tried.len() < budget && in_vain < AGAIN {
        let named = search.ask(batch.min(budget - driven.tried.len()).max(1));
        if named.is_empty() {
            break;
        }
        driven.proposed += named.len() as u64;
        let mut new: Vec<Point> = Vec::new();
        for point in &named {
            if !known.contains_key(point) && !new.contains(point) {
                new.push(point.clone());
            }
        }
        in_vain = if new.is_empty() { in_vain + 1 } else { 0 };
        if !new.is_empty() {
            let outcomes = evaluate(&new)?;
            for (point, outcome) in new.into_iter().zip(outcomes) {
                known.insert(point.clone(), outcome.clone());
                driven.tried.push(Attempt { point, outcome });
            }
        }
        for point in &named {
            if let Some(outcome) = known.get(point) {
                search.tell(point, outcome);
            }
        }
    }
    Ok(driven)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gave_a_known_image_is_told_from_what_failed() {
        let tried = [Some(7), None, Some(7), None, Some(8), Some(7)].map(|image| Attempt {
            point: Point::new(vec![0]),
            outcome: match image {
                Some(image) => Outcome::Measured { ratio: 1.0, image },
                None => Outcome::Failed,
            },
        });
        let log = SearchLog { proposed: 6, tried: tried.to_vec() };
        assert_eq!(log.known_images(), [false, false, true, false, false, true]);
        assert_eq!((log.known(3), log.known(100)), (1.0 / 3.0, 2.0 / 6.0));
        assert_eq!(SearchLog::default().known(5), 0.0);
    }
}
