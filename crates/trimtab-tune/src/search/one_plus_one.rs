//! One point and a change of it, whichever is better: the (1+1) evolution strategy on discrete values.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::{Outcome, Search, other, random};
use crate::space::{Point, Space};

/// Keeps one point. Each step changes each choice with probability 1/n, at least one, and keeps the
/// new point where it costs no more. Begins with the seeds, and goes on from the best of them.
///
/// Source: I. Rechenberg, "Evolutionsstrategie" (1973); the rate on discrete values as in
/// S. Droste, T. Jansen and I. Wegener, "On the analysis of the (1+1) evolutionary algorithm",
/// Theoretical Computer Science 276 (2002), 51-81.
#[derive(Debug)]
pub struct OnePlusOne {
    space: Space,
    random: ChaCha8Rng,
    /// Seeds that are still to be named, the next one last.
    seeds: Vec<Point>,
    best: Option<(Point, f64)>,
}

impl OnePlusOne {
    /// Begins.
    pub fn new(space: Space, seeds: &[Point], seed: u64) -> Self {
        let mut seeds: Vec<Point> = seeds.iter().rev().cloned().collect();
        if seeds.is_empty() {
            seeds.push(space.base());
        }
        Self { space, random: random(seed), seeds, best: None }
    }

    fn changed(&mut self, point: &Point) -> Point {
        let choices = self.space.len();
        if choices == 0 {
            return point.clone();
        }
        let certain = self.random.random_range(0..choices);
        let mut child = point.clone();
        for choice in 0..choices {
            if choice == certain || self.random.random_range(0..choices) == 0 {
                let value = other(&self.space, choice, child.at(choice), &mut self.random);
                child = child.with(choice, value);
            }
        }
        child
    }
}

impl Search for OnePlusOne {
    fn ask(&mut self, _most: usize) -> Vec<Point> {
        // One at a time: the next depends on what comes of it.
        if let Some(seed) = self.seeds.pop() {
            return vec![seed];
        }
        let from = self.best.as_ref().map_or_else(|| self.space.base(), |(point, _)| point.clone());
        vec![self.changed(&from)]
    }

    fn tell(&mut self, point: &Point, outcome: &Outcome) {
        let cost = outcome.cost();
        if self.best.as_ref().is_none_or(|(_, best)| cost <= *best) {
            self.best = Some((point.clone(), cost));
        }
    }
}
