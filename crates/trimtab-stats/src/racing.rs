//! Racing: many candidates measured round by round, those that are clearly worse leave early.
//!
//! Sources: O. Maron and A. W. Moore, "Hoeffding Races: Accelerating Model Selection Search for
//! Classification and Function Approximation", NIPS 6 (1993), 59-66, for the race; M. Birattari,
//! T. Stützle, L. Paquete and K. Varrentrapp, "A Racing Algorithm for Configuring Metaheuristics",
//! GECCO (2002), 11-18, for the race by ranks.

use crate::error::probability;
use crate::interval::t_test;
use crate::{StatisticsError, friedman, holm, mean, wilcoxon};

/// How candidates are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaceTest {
    /// By ranks within rounds: Friedman's test, and behind it Conover's comparison with the best; with
    /// two candidates Wilcoxon's signed rank test. Needs no distribution, and rounds may be as
    /// different as large and small inputs.
    Friedman,
    /// By the mean of the differences from the best: Student's paired t test, corrected by Holm's
    /// procedure for the number of candidates. Sees smaller differences where results are close to
    /// normally distributed.
    PairedT,
}

/// A race. Each round has a result of each candidate that is still in it, measured under the same
/// circumstances; the smaller result is the better one.
#[derive(Debug, Clone)]
pub struct Race {
    test: RaceTest,
    level: f64,
    first: usize,
    /// Candidates still in the race, ascending.
    alive: Vec<usize>,
    /// Results of the candidates in `alive`, one list a round.
    rounds: Vec<Vec<f64>>,
}

impl Race {
    /// A race of `candidates`, numbered from 0. A candidate leaves where a test at `level` (0 to 1,
    /// both excluded; usual is 0.05) says that it is worse than the best one, from round `first` on
    /// (2 or more; usual is 5).
    ///
    /// # Errors
    /// [`StatisticsError`] for a level out of range.
    pub fn new(
        candidates: usize,
        test: RaceTest,
        level: f64,
        first: usize,
    ) -> Result<Self, StatisticsError> {
        probability("level", level)?;
        let alive = (0..candidates).collect();
        Ok(Self { test, level, first: first.max(2), alive, rounds: Vec::new() })
    }

    /// Candidates still in the race, ascending: the ones to measure in the next round.
    pub fn alive(&self) -> &[usize] {
        &self.alive
    }

    /// Rounds so far.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Takes the results of a round, in the order of [`Self::alive`], and says who leaves. A candidate
    /// that failed has the result infinity: it leaves at once, for it cannot win.
    ///
    /// # Errors
    /// [`StatisticsError`] for too many or too few results, and for one that is not a number.
    pub fn round(&mut self, results: &[f64]) -> Result<Vec<usize>, StatisticsError> {
        if results.len() != self.alive.len() {
            let expected = self.alive.len();
            return Err(StatisticsError::Round { found: results.len(), expected });
        }
        if let Some(value) =
            results.iter().find(|value| value.is_nan() || **value == f64::NEG_INFINITY)
        {
            return Err(StatisticsError::NotFinite { value: *value });
        }
        self.rounds.push(results.to_vec());
        let failed: Vec<bool> = results.iter().map(|result| result.is_infinite()).collect();
        let mut gone = self.remove(&failed);
        if self.rounds.len() >= self.first && self.alive.len() >= 2 {
            let worse = match self.test {
                RaceTest::Friedman if self.alive.len() > 2 => self.by_ranks(),
                RaceTest::Friedman => self.by_signs(),
                RaceTest::PairedT => self.by_means(),
            };
            gone.extend(self.remove(&worse));
        }
        gone.sort_unstable();
        Ok(gone)
    }

    /// The best candidate so far: by the mean of its ranks or of its results, whichever the test goes
    /// by; `None` where all failed or before the first round.
    pub fn best(&self) -> Option<usize> {
        self.rounds.first()?;
        self.alive.get(least(&self.standing())?).copied()
    }

    /// What the candidates are judged by, the smaller the better.
    fn standing(&self) -> Vec<f64> {
        match self.test {
            RaceTest::Friedman => {
                let mut sums = vec![0.0; self.alive.len()];
                for round in &self.rounds {
                    for (sum, rank) in sums.iter_mut().zip(crate::ranks(round)) {
                        *sum += rank;
                    }
                }
                sums
            }
            RaceTest::PairedT => (0..self.alive.len())
                .map(|place| mean(&self.results(place)).unwrap_or(f64::INFINITY))
                .collect(),
        }
    }

    /// The results of the candidate at `place` among those still in the race.
    fn results(&self, place: usize) -> Vec<f64> {
        self.rounds.iter().map(|round| round[place]).collect()
    }

    /// Who is worse than the best, of three or more.
    fn by_ranks(&self) -> Vec<bool> {
        let same = vec![false; self.alive.len()];
        let Ok(found) = friedman(&self.rounds) else { return same };
        if found.p >= self.level {
            return same;
        }
        let difference = found.least_difference(self.level);
        let best = found.rank_sums.iter().copied().fold(f64::INFINITY, f64::min);
        found.rank_sums.iter().map(|sum| sum - best > difference).collect()
    }

    /// Who is worse, of two.
    fn by_signs(&self) -> Vec<bool> {
        let differ = wilcoxon(&self.results(0), &self.results(1));
        match differ {
            Ok(found) if found.p < self.level => {
                // The one with the larger ranks of differences, not with the more wins.
                let count = self.rounds.iter().filter(|round| round[0] != round[1]).count() as f64;
                let first = found.statistic > count * (count + 1.0) / 4.0;
                vec![first, !first]
            }
            _ => vec![false; 2],
        }
    }

    /// Who is worse than the best, by means.
    fn by_means(&self) -> Vec<bool> {
        let means = self.standing();
        let Some(best) = least(&means) else { return vec![false; means.len()] };
        let results = self.results(best);
        let p: Vec<f64> = (0..means.len())
            .map(|place| match place == best {
                true => 1.0,
                false => paired_t(&self.results(place), &results),
            })
            .collect();
        // The best is not compared with itself.
        let compared: Vec<f64> =
            p.iter().enumerate().filter(|(at, _)| *at != best).map(|(_, p)| *p).collect();
        let mut corrected = holm(&compared);
        corrected.insert(best, 1.0);
        corrected.into_iter().map(|p| p < self.level).collect()
    }

    /// Takes the candidates that `gone` says out of the race, and says which these are.
    fn remove(&mut self, gone: &[bool]) -> Vec<usize> {
        let keep = |place: usize| !gone.get(place).copied().unwrap_or(false);
        let left = self
            .alive
            .iter()
            .enumerate()
            .filter(|(at, _)| !keep(*at))
            .map(|(_, one)| *one)
            .collect();
        for list in &mut self.rounds {
            *list = kept(list, keep);
        }
        self.alive = kept(&self.alive, keep);
        left
    }
}

/// The entries of a list at the places to keep.
fn kept<T: Copy>(list: &[T], keep: impl Fn(usize) -> bool) -> Vec<T> {
    list.iter().enumerate().filter(|(place, _)| keep(*place)).map(|(_, one)| *one).collect()
}

/// Place of the smallest value, the first of equal ones.
fn least(values: &[f64]) -> Option<usize> {
    (0..values.len()).min_by(|one, other| values[*one].total_cmp(&values[*other]))
}

/// Two-sided probability of Student's paired t test; 1 where there are too few pairs to tell.
fn paired_t(one: &[f64], other: &[f64]) -> f64 {
    let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
    t_test(&differences).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    const TESTS: [RaceTest; 2] = [RaceTest::Friedman, RaceTest::PairedT];

    /// Runs a race in which candidate i takes `cost(i)` on average, on rounds of very different size.
    fn run(test: RaceTest, candidates: usize, rounds: usize, cost: impl Fn(usize) -> f64) -> Race {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut race = Race::new(candidates, test, 0.05, 5).unwrap();
        for _ in 0..rounds {
            let size = random.random_range(-5.0..5.0);
            let results: Vec<f64> = race
                .alive()
                .iter()
                .map(|one| size + cost(*one) + random.random_range(-0.5..0.5))
                .collect();
            race.round(&results).unwrap();
        }
        race
    }

    #[test]
    fn the_worse_ones_leave_and_the_best_stays() {
        for test in TESTS {
            let race = run(test, 8, 30, |one| one as f64 * 0.4);
            assert_eq!(race.best(), Some(0), "{test:?}");
            assert_eq!(race.alive(), [0], "{test:?}");
            assert_eq!(race.rounds(), 30);
        }
    }

    #[test]
    fn nobody_leaves_before_the_first_test() {
        for test in TESTS {
            assert_eq!(run(test, 6, 4, |one| one as f64 * 10.0).alive().len(), 6, "{test:?}");
        }
    }

    #[test]
    fn who_fails_leaves_at_once() {
        for test in TESTS {
            let mut race = Race::new(3, test, 0.05, 5).unwrap();
            assert_eq!(race.best(), None);
            assert_eq!(race.round(&[2.0, f64::INFINITY, 1.0]), Ok(vec![1]));
            assert_eq!((race.alive(), race.best()), (&[0, 2][..], Some(2)));
            assert!(race.round(&[1.0]).is_err() && race.round(&[1.0, f64::NAN]).is_err());
            assert_eq!(race.round(&[f64::INFINITY, f64::INFINITY]), Ok(vec![0, 2]));
            assert_eq!(race.best(), None);
            assert_eq!(race.round(&[]), Ok(vec![]));
        }
    }

    #[test]
    fn two_that_differ_by_little_are_told_apart_in_time() {
        // One twentieth of the noise: five rounds say nothing, a thousand do.
        for test in TESTS {
            let race = run(test, 2, 1000, |one| one as f64 * 0.05);
            assert_eq!(race.alive(), [0], "{test:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn among_equals_few_leave(seed: u64) {
            // Level 0.05 over 12 rounds with a test each: by chance some leave, never most.
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut race = Race::new(6, RaceTest::PairedT, 0.001, 5).unwrap();
            for _ in 0..12 {
                let results: Vec<f64> = race.alive().iter().map(|_| random.random()).collect();
                race.round(&results).unwrap();
            }
            prop_assert!(race.alive().len() >= 4, "{:?}", race.alive());
        }
    }
}
