//! Which options make points fail.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::space::{Point, Selection};

/// What is known of failures: for each, the options that may be its cause. An option that any point
/// has which runs well is no cause by itself; where all options of a failure are so, pairs of them are
/// looked at. Each point that runs well makes the sets smaller.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    /// Options of points that run well.
    good: HashSet<Selection>,
    /// Those points.
    points: Vec<Point>,
    /// For each point that failed, what may be its cause.
    failures: Vec<Suspects>,
}

#[derive(Debug, Clone)]
struct Suspects {
    point: Point,
    /// Options of which each may be the cause alone.
    single: BTreeSet<Selection>,
    /// Where there are none: pairs of which each may be; empty where there are too many to look at.
    pairs: Vec<[Selection; 2]>,
}

/// Most options of a failure whose pairs are looked at.
const MOST_FOR_PAIRS: usize = 64;

impl Failures {
    /// A point runs well.
    pub fn runs(&mut self, point: &Point) {
        self.points.push(point.clone());
        self.good.extend(point.chosen());
        for failure in &mut self.failures {
            let had = !failure.single.is_empty();
            failure.single.retain(|option| !point.has(*option));
            if had && failure.single.is_empty() {
                failure.pairs = pairs(&failure.point, &self.points);
            } else {
                failure.pairs.retain(|[a, b]| !(point.has(*a) && point.has(*b)));
            }
        }
    }

    /// A point failed.
    pub fn fails(&mut self, point: &Point) {
        let single: BTreeSet<Selection> =
            point.chosen().filter(|option| !self.good.contains(option)).collect();
        let pairs = if single.is_empty() { pairs(point, &self.points) } else { Vec::new() };
        self.failures.push(Suspects { point: point.clone(), single, pairs });
    }

    /// Whether a point has all that may have made another one fail, so that it fails as well.
    pub fn forbids(&self, point: &Point) -> bool {
        self.failures.iter().any(|failure| {
            let all =
                |options: &BTreeSet<Selection>| options.iter().all(|option| point.has(*option));
            match (failure.single.is_empty(), failure.pairs.is_empty()) {
                (false, _) => all(&failure.single),
                (true, false) => failure.pairs.iter().flatten().all(|option| point.has(*option)),
                (true, true) => *point == failure.point,
            }
        })
    }

    /// Sets of options, of one or two each, that make points fail for all that is known, with the first
    /// point that did.
    pub fn sets(&self) -> BTreeMap<Vec<Selection>, Point> {
        let certain = |failure: &Suspects| -> Option<Vec<Selection>> {
            match (failure.single.len(), failure.pairs.as_slice()) {
                (1, _) => Some(failure.single.iter().copied().collect()),
                (0, [pair]) => Some(pair.to_vec()),
                _ => None,
            }
        };
        let mut sets = BTreeMap::new();
        for failure in &self.failures {
            if let Some(set) = certain(failure) {
                sets.entry(set).or_insert_with(|| failure.point.clone());
            }
        }
        sets
    }
}

/// Pairs of options of a point that failed which no point has that runs well.
fn pairs(point: &Point, good: &[Point]) -> Vec<[Selection; 2]> {
    let options: Vec<Selection> = point.chosen().collect();
    if options.len() > MOST_FOR_PAIRS {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    for (place, a) in options.iter().enumerate() {
        for b in &options[place + 1..] {
            if !good.iter().any(|point| point.has(*a) && point.has(*b)) {
                pairs.push([*a, *b]);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(values: &[u8]) -> Point {
        Point::new(values.to_vec())
    }

    #[test]
    fn the_option_that_fails_is_found_and_not_proposed_again() {
        let mut failing = Failures::default();
        failing.fails(&point(&[1, 1, 1, 0]));
        assert!(failing.sets().is_empty());
        assert!(failing.forbids(&point(&[1, 1, 1, 1])), "it has all of them");
        assert!(!failing.forbids(&point(&[1, 1, 0, 0])), "it may be the third");
        failing.runs(&point(&[1, 0, 1, 0]));
        let single = vec![Selection { choice: 1, option: 1 }];
        assert_eq!(failing.sets(), [(single, point(&[1, 1, 1, 0]))].into());
        assert!(failing.forbids(&point(&[0, 1, 0, 1])));
        assert!(!failing.forbids(&point(&[0, 2, 0, 1])), "another option of the same choice");
    }

    #[test]
    fn options_that_fail_together_are_found() {
        let mut failing = Failures::default();
        failing.runs(&point(&[1, 0, 1, 0]));
        failing.runs(&point(&[0, 1, 1, 0]));
        failing.fails(&point(&[1, 1, 1, 0]));
        let pair = vec![Selection { choice: 0, option: 1 }, Selection { choice: 1, option: 1 }];
        assert_eq!(failing.sets(), [(pair, point(&[1, 1, 1, 0]))].into());
        assert!(failing.forbids(&point(&[1, 1, 0, 1])));
        assert!(!failing.forbids(&point(&[1, 0, 0, 1])));
        // A point that ran after all takes it back.
        failing.runs(&point(&[1, 1, 0, 0]));
        assert!(failing.sets().is_empty());
        assert!(failing.forbids(&point(&[1, 1, 1, 0])), "it failed itself");
    }
}
