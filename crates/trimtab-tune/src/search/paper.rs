//! The genetic algorithm of the paper, as the paper has it: the baseline.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::{Outcome, Search, random};
use crate::space::bits::Bits;
use crate::space::{Point, Space};

/// A population of bit strings. Truncation keeps the best 75 % of it; crossover fills it again: the
/// higher bits of one parent OR-ed with the lower bits of another. With a chance of 10 %, a random
/// byte is OR-ed into a byte of the child.
///
/// What the paper leaves open: parents are drawn from those that are kept, each as likely; the place
/// where bits are cut, too; the population begins with each bit set by a fair coin; of options that
/// exclude each other the lowest bit counts. As mutation clears no bit, the population soon becomes
/// alike: the search ends where it names nothing new.
///
/// Source: J. Kukunas, R. D. Cupper and G. M. Kapfhammer, "A Genetic Algorithm to Improve Linux Kernel
/// Performance on Resource-Constrained Devices", GECCO (2010).
#[derive(Debug)]
pub struct Paper {
    space: Space,
    random: ChaCha8Rng,
    /// The population as far as its costs are known, in the order in which it was named.
    known: Vec<(Bits, f64)>,
    /// What is to be named of this generation, the next one last.
    waiting: Vec<Bits>,
    /// What was named and not told of, the first one first.
    named: std::collections::VecDeque<Bits>,
}

/// The paper's population.
const POPULATION: usize = 10;
/// Those of it that are kept.
const KEPT: usize = POPULATION * 3 / 4;
/// One child of so many is mutated.
const MUTATED: u32 = 10;

impl Paper {
    /// Begins.
    pub fn new(space: Space, seed: u64) -> Self {
        let mut random = random(seed);
        let mut waiting = Vec::new();
        for _ in 0..POPULATION {
            let mut bits = Bits::none(space.options());
            for bit in 0..space.options() {
                if random.random_range(0..2) == 1 {
                    bits.set(bit);
                }
            }
            waiting.push(bits);
        }
        Self { space, random, known: Vec::new(), waiting, named: Default::default() }
    }

    fn next_generation(&mut self) {
        self.known.sort_by(|a, b| a.1.total_cmp(&b.1));
        self.known.truncate(KEPT);
        while self.known.len() + self.waiting.len() < POPULATION {
            let child = self.child();
            self.waiting.push(child);
        }
    }

    fn child(&mut self) -> Bits {
        let parents = self.known.len();
        let (high, low) =
            (self.random.random_range(0..parents), self.random.random_range(0..parents));
        let (high, low) = (&self.known[high].0, &self.known[low].0);
        let options = self.space.options();
        let cut = self.random.random_range(0..=options);
        let mut child = Bits::none(options);
        for bit in 0..options {
            let parent = if bit >= cut { high } else { low };
            if parent.get(bit) {
                child.set(bit);
            }
        }
        if self.random.random_range(0..MUTATED) == 0 && !child.0.is_empty() {
            let place = self.random.random_range(0..child.0.len());
            child.0[place] |= self.random.random_range(0..=u8::MAX);
        }
        child
    }
}

impl Search for Paper {
    fn ask(&mut self, most: usize) -> Vec<Point> {
        if self.waiting.is_empty() && self.named.is_empty() {
            self.next_generation();
        }
        let mut points = Vec::new();
        while points.len() < most {
            let Some(bits) = self.waiting.pop() else { break };
            points.push(bits.point(&self.space));
            self.named.push_back(bits);
        }
        points
    }

    fn tell(&mut self, _point: &Point, outcome: &Outcome) {
        if let Some(bits) = self.named.pop_front() {
            self.known.push((bits, outcome.cost()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::generation;
    use super::*;
    use crate::space::tests::space;

    fn with_parents(bits: &Bits) -> Paper {
        let mut search = Paper::new(space(60), 5);
        search.known = vec![(bits.clone(), 1.0); KEPT];
        search
    }

    #[test]
    fn children_have_the_bits_of_their_parents_and_mutation_only_adds() {
        let options = space(60).options();
        let mut all = Bits::none(options);
        (0..options).for_each(|bit| all.set(bit));
        let mut search = with_parents(&all);
        assert!((0..100).all(|_| (0..options).all(|bit| search.child().get(bit))));
        let none = Bits::none(options);
        let mut search = with_parents(&none);
        let children: Vec<Bits> = (0..1000).map(|_| search.child()).collect();
        let bytes = |child: &Bits| child.0.iter().filter(|byte| **byte > 0).count();
        assert!(children.iter().all(|child| bytes(child) <= 1));
        let mutated = children.iter().filter(|child| bytes(child) == 1).count();
        assert!((60..140).contains(&mutated), "{mutated} of 1000");
    }

    #[test]
    fn three_quarters_of_the_population_are_kept() {
        let mut search = Paper::new(space(40), 5);
        assert_eq!(generation(&mut search), 10);
        for _ in 0..5 {
            assert_eq!(generation(&mut search), 3);
        }
    }
}
