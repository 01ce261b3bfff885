//! Searches: what to try next, from what was tried.
//!
//! A [`Search`] is asked for points and told what came of each, in the order in which it named them. It
//! takes its random choices from a seed: so it is gone on with by asking and telling it again what it
//! was told before. [`drive`] does that, and counts.

mod driver;
mod failing;
mod incumbent;
mod one_plus_one;
mod paper;
mod parzen;
mod random;
mod surrogate;

use std::fmt;
use std::str::FromStr;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::space::{Point, Space};

pub use driver::{Attempt, SearchLog, drive};
pub use failing::Failures;
pub use incumbent::Incumbent;
pub use one_plus_one::OnePlusOne;
pub use paper::Paper;
pub use parzen::Parzen;
pub use random::Random;
pub use surrogate::Surrogate;

/// What came of a point.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was built, and runs well.
    Measured {
        /// What it costs, in times of what the base costs: the less the better; above 0, finite.
        ratio: f64,
        /// Which image it is: points with the same number gave the same image.
        image: u64,
    },
    /// It cannot be built, or runs wrongly.
    Failed,
}

impl Outcome {
    /// What it costs; infinity where it failed.
    pub fn cost(&self) -> f64 {
        match self {
            Outcome::Measured { ratio, .. } => *ratio,
            Outcome::Failed => f64::INFINITY,
        }
    }

    /// Its image, where there is one that runs well.
    pub fn image(&self) -> Option<u64> {
        match self {
            Outcome::Measured { image, .. } => Some(*image),
            Outcome::Failed => None,
        }
    }
}

/// Decides what to try.
pub trait Search {
    /// Points to try next, at most `most`, 1 or more: none where it has no more. It may name points
    /// again that it was told of.
    fn ask(&mut self, most: usize) -> Vec<Point>;

    /// What came of a point that it named; called for each, in the order in which it named them.
    fn tell(&mut self, point: &Point, outcome: &Outcome);
}

/// The searches that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Ours: near the best, from good seeds. See [`Incumbent`].
    Incumbent,
    /// The genetic algorithm of the paper. See [`Paper`].
    Paper,
    /// Points at random. See [`Random`].
    Random,
    /// One point and a change of it. See [`OnePlusOne`].
    OnePlusOne,
    /// Estimates of density. See [`Parzen`].
    Tpe,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 5] =
        [Method::Incumbent, Method::Paper, Method::Random, Method::OnePlusOne, Method::Tpe];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Incumbent => "incumbent",
            Method::Paper => "paper-ga",
            Method::Random => "random",
            Method::OnePlusOne => "one-plus-one",
            Method::Tpe => "tpe",
        }
    }

    /// Begins it. `seeds` are points that are worth trying first; the paper's search and the random
    /// one take none. `budget` is how many points can be tried; a search may take no notice.
    pub fn begin(
        self,
        space: &Space,
        seeds: &[Point],
        seed: u64,
        budget: usize,
    ) -> Box<dyn Search> {
        match self {
            Method::Incumbent => Box::new(Incumbent::new(space.clone(), seeds, seed, budget)),
            Method::Paper => Box::new(Paper::new(space.clone(), seed)),
            Method::Random => Box::new(Random::new(space.clone(), seed)),
            Method::OnePlusOne => Box::new(OnePlusOne::new(space.clone(), seeds, seed)),
            Method::Tpe => Box::new(Parzen::new(space.clone(), seeds, seed)),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Method::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            let names = Method::ALL.map(Method::name);
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// The random choices of a search: the same on every machine.
fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A point at random: for each choice nothing or one of its options, each as likely as the others.
fn anywhere(space: &Space, random: &mut ChaCha8Rng) -> Point {
    Point::new((0..space.len()).map(|at| random.random_range(0..=space.most(at))).collect())
}

/// Another value for a choice than it has, each as likely; the same where there is no other.
fn other(space: &Space, choice: usize, now: u8, random: &mut ChaCha8Rng) -> u8 {
    let most = space.most(choice);
    if most == 0 {
        return now;
    }
    let drawn = random.random_range(0..most);
    if drawn >= now { drawn + 1 } else { drawn }
}

#[cfg(test)]
mod tests;
