//! The smallest set of options that keeps a gain, and what each of them does.

use std::collections::HashMap;

use crate::search::Outcome;
use crate::space::{Point, Selection};

/// What is left of a point, and what each option of it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimal {
    /// The point with the fewest options.
    pub point: Point,
    /// What it costs.
    pub cost: f64,
    /// What each of its options does, in the order of the point.
    pub effects: Vec<Effect>,
    /// Whether there might be fewer, and `evaluate` would not say.
    pub stopped: bool,
}

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The option.
    pub option: Selection,
    /// What the point costs without it, in times of what it costs with it: above 1 where it helps;
    /// none where it fails without.
    pub without: Option<f64>,
}

/// Removes options of `point`, which costs `cost`, as long as `kept` (0 to 1) of the gain against 1 is
/// left, the least useful ones first: each round measures what every option does by leaving it out,
/// then finds by halving how many can go together. `evaluate` gives what came of points, in order; where
/// it gives nothing, that round is left, and its point is what was found.
///
/// # Errors
/// Those of `evaluate`.
pub fn minimal<E>(
    point: &Point,
    cost: f64,
    kept: f64,
    mut evaluate: impl FnMut(&[Point]) -> Result<Option<Vec<Outcome>>, E>,
) -> Result<Minimal, E> {
    let mut known: HashMap<Point, f64> = HashMap::from([(point.clone(), cost)]);
    let mut costs = |points: &[Point]| -> Result<Option<Vec<f64>>, E> {
        let new: Vec<Point> =
            points.iter().filter(|point| !known.contains_key(*point)).cloned().collect();
        if !new.is_empty() {
            let Some(outcomes) = evaluate(&new)? else { return Ok(None) };
            known.extend(new.into_iter().zip(outcomes.iter().map(Outcome::cost)));
        }
        let cost = |point| known.get(point).copied().unwrap_or(f64::INFINITY);
        Ok(Some(points.iter().map(cost).collect()))
    };
    // What may be lost is lost once, and not again in each round.
    let limit = if cost < 1.0 { 1.0 - (1.0 - cost) * kept } else { cost };
    let (mut now, mut with) = (point.clone(), cost);
    loop {
        let options: Vec<Selection> = now.chosen().collect();
        let without: Vec<Point> =
            options.iter().map(|option| now.clone().with(option.choice, 0)).collect();
        let Some(found) = costs(&without)? else {
            return Ok(Minimal { point: now, cost: with, effects: Vec::new(), stopped: true });
        };
        let effect = |(option, cost): (&Selection, &f64)| Effect {
            option: *option,
            without: cost.is_finite().then(|| cost / with),
        };
        let effects: Vec<Effect> = options.iter().zip(&found).map(effect).collect();
        let mut order: Vec<usize> = (0..options.len()).collect();
        order.sort_by(|a, b| found[*a].total_cmp(&found[*b]));
        // As many of the first as still cost no more than the limit.
        let (mut fits, mut fails, mut least) = (0, order.len() + 1, with);
        while fails - fits > 1 {
            let middle = fits.midpoint(fails);
            let Some(cost) = costs(&[less(&now, &options, &order[..middle])])? else {
                return Ok(Minimal { point: now, cost: with, effects, stopped: true });
            };
            if cost[0] <= limit {
                (fits, least) = (middle, cost[0]);
            } else {
                fails = middle;
            }
        }
        if fits == 0 {
            return Ok(Minimal { point: now, cost: with, effects, stopped: false });
        }
        (now, with) = (less(&now, &options, &order[..fits]), least);
    }
}

/// The point without some of its options.
fn less(point: &Point, options: &[Selection], gone: &[usize]) -> Point {
    gone.iter().fold(point.clone(), |point, place| point.with(options[*place].choice, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first three options help, the fourth hurts, the others do nothing.
    fn cost(point: &Point) -> f64 {
        let gains = [0.95, 0.98, 0.9999, 1.01];
        gains.iter().enumerate().filter(|(at, _)| point.at(*at) > 0).map(|(_, gain)| gain).product()
    }

    fn run(values: &[u8], kept: f64) -> (Minimal, usize) {
        run_with(values, kept, usize::MAX)
    }

    fn run_with(values: &[u8], kept: f64, most: usize) -> (Minimal, usize) {
        let point = Point::new(values.to_vec());
        let mut evaluated = 0;
        type Found = Result<Option<Vec<Outcome>>, std::convert::Infallible>;
        let evaluate = |points: &[Point]| -> Found {
            if evaluated + points.len() > most {
                return Ok(None);
            }
            evaluated += points.len();
            let outcome = |point: &Point| Outcome::Measured { ratio: cost(point), image: 0 };
            Ok(Some(points.iter().map(outcome).collect()))
        };
        let Ok(minimal) = minimal(&point, cost(&point), kept, evaluate);
        (minimal, evaluated)
    }

    #[test]
    fn what_does_nothing_goes_and_what_helps_stays() {
        let (minimal, evaluated) = run(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 0.99);
        assert_eq!(minimal.point.values(), [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(minimal.cost <= 0.931);
        assert_eq!(minimal.effects.len(), 2);
        assert!((minimal.effects[0].without.unwrap() - 1.0 / 0.95).abs() < 1e-9);
        assert!(evaluated < 40, "{evaluated}");
    }

    #[test]
    fn where_it_is_stopped_the_last_whole_round_counts() {
        let all = [1; 12];
        let (whole, evaluated) = run(&all, 0.99);
        assert!(!whole.stopped);
        // Not even one round: all stays, and nothing is known of any.
        let (none, _) = run_with(&all, 0.99, 11);
        assert_eq!((none.point.values(), none.effects.len()), (&all[..], 0));
        assert!(none.stopped);
        // Within the first round, whose point is all: what each does is known.
        let (first, _) = run_with(&all, 0.99, 12);
        assert_eq!((first.point.values(), first.effects.len()), (&all[..], 12));
        assert!(first.stopped);
        // Within the next: what the first left.
        let (next, _) = run_with(&all, 0.99, evaluated - 1);
        assert!(next.stopped);
        assert_eq!(next.point, whole.point);
        assert!((next.cost - cost(&next.point)).abs() < 1e-12, "{next:?}");
    }

    #[test]
    fn of_no_gain_nothing_is_left() {
        assert_eq!(run(&[0, 0, 0, 1, 1, 0], 0.99).0.point.chosen().count(), 0);
        assert_eq!(run(&[0, 0, 0], 0.99).0.effects, []);
    }
}
