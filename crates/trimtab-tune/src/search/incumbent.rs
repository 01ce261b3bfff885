//! Ours: near the best, from good seeds.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::surrogate::{Surrogate, effects};
use super::{Failures, Outcome, Search, other, random};
use crate::space::{Group, Point, Selection, Space};

/// Keeps the best points of different images. Begins with the seeds. Then most of what it names is the
/// best with a few options that were not tried, often of one group; the rest is the best with all that
/// helped elsewhere or, where that is known, whichever of many children of those that are kept a
/// [`Surrogate`] expects to cost least. A child changes single flags, or several of one group, or takes from two parents, or adds
/// options that helped elsewhere. What is known or bound to fail is not named; flags whose change gave
/// the very image of the parent are changed rarely.
///
/// Random points are nearly always worse than a level of the compiler, and near it many flags change
/// nothing: so good seeds, small steps and knowing images count more than how the search is made.
#[derive(Debug)]
pub struct Incumbent {
    space: Space,
    random: ChaCha8Rng,
    seed: u64,
    /// Seeds that are still to be named, the next one last.
    seeds: Vec<Point>,
    /// The best of different images, the best first.
    elite: Vec<Elite>,
    /// What each point that was told of costs; infinity where it failed.
    known: HashMap<Point, f64>,
    measured: Vec<(Point, f64)>,
    failing: Failures,
    /// Which point a child that was named is made from.
    parents: HashMap<Point, (Point, f64, u64)>,
    /// Points that this search is meant to try.
    budget: usize,
    /// What was better than the point that it is made from, of those that were named last.
    wins: Vec<(Point, Point)>,
    /// Of each option: what adding it changed.
    learned: BTreeMap<Selection, OptionHistory>,
    /// Places of the choices of each group.
    groups: Vec<(Group, Vec<usize>)>,
}

#[derive(Debug, Clone)]
struct Elite {
    point: Point,
    cost: f64,
    image: u64,
}

/// What is known of an option.
#[derive(Debug, Clone, Copy, Default)]
struct OptionHistory {
    /// Times that it was changed.
    changed: u32,
    /// Times that the image stayed the same.
    same: u32,
    /// Sum of the shares of the gains, as logarithms: positive where the cost fell.
    gain: f64,
}

/// Points that are kept.
const ELITE: usize = 6;
/// Children of which one is named.
const CHILDREN: usize = 60;
/// Points that must be measured before the surrogate is asked.
const ENOUGH: usize = 16;
/// Of so many that are named, one has all options that seem to help, and one is what the surrogate takes
/// for the cheapest of many.
const EXPLOITED: usize = 16;
/// Most options that are tried at once.
const MOST_AT_ONCE: usize = 8;
/// Least effect of an option that is taken to help or hurt, as a logarithm.
const HELPS: f64 = 0.0005;
/// Times that children are made anew because all were known.
const TRIES: usize = 20;

impl Incumbent {
    /// Begins. The base is a seed, too. `budget` says how many points it can try: with few, more options
    /// are tried at once.
    pub fn new(space: Space, seeds: &[Point], seed: u64, budget: usize) -> Self {
        let mut all = vec![space.base()];
        all.extend(seeds.iter().cloned());
        let mut seen = HashSet::new();
        all.retain(|point| seen.insert(point.clone()));
        all.reverse();
        let mut groups: BTreeMap<Group, Vec<usize>> = BTreeMap::new();
        for (place, choice) in space.choices.iter().enumerate() {
            groups.entry(choice.group).or_default().push(place);
        }
        Self {
            space,
            random: random(seed),
            seed,
            seeds: all,
            elite: Vec::new(),
            known: HashMap::new(),
            measured: Vec::new(),
            failing: Failures::default(),
            parents: HashMap::new(),
            budget,
            wins: Vec::new(),
            learned: BTreeMap::new(),
            groups: groups.into_iter().collect(),
        }
    }

    /// A point of the elite: the best as often as all others.
    fn parent(&mut self) -> Elite {
        let base = Elite { point: self.space.base(), cost: f64::INFINITY, image: 0 };
        if self.elite.is_empty() {
            return base;
        }
        let among = if self.random.random_range(0..2) == 0 { 1 } else { self.elite.len() };
        let place = self.random.random_range(0..among);
        self.elite.get(place).cloned().unwrap_or(base)
    }

    /// A child of the best that has options which were not tried: one, or several, so that few are
    /// tried by themselves and many are tried at all.
    fn explored(&mut self) -> Option<(Point, Elite)> {
        let parent = self.elite.first().cloned()?;
        // So many at once that all can be tried with what is left of the budget.
        let left = self.budget.saturating_sub(self.known.len()).max(1);
        let untried = self.space.options().saturating_sub(self.learned.len());
        let most = untried.div_ceil(left).clamp(1, MOST_AT_ONCE);
        for _ in 0..TRIES * 4 {
            let steps = if self.random.random_range(0..3) == 0 { 1 } else { most };
            let group = self.random.random_range(0..self.groups.len().max(1) * 2);
            let places = self.groups.get(group).map(|(_, places)| places.clone());
            let child = (0..steps * 4).fold((parent.point.clone(), 0), |(child, added), _| {
                let choice = match &places {
                    Some(places) => places[self.random.random_range(0..places.len())],
                    None => self.random.random_range(0..self.space.len()),
                };
                let option = self.random.random_range(0..=self.space.most(choice));
                let option = Selection { choice, option };
                let new = option.option > 0 && !self.learned.contains_key(&option);
                match new && added < steps && child.at(choice) == 0 {
                    true => (child.with(choice, option.option), added + 1),
                    false => (child, added),
                }
            });
            let (child, added) = child;
            if added > 0 && !self.known.contains_key(&child) && !self.failing.forbids(&child) {
                return Some((child, parent));
            }
        }
        None
    }

    fn child(&mut self, parent: &Elite) -> Point {
        if self.space.is_empty() {
            return parent.point.clone();
        }
        match self.random.random_range(0..10) {
            0..4 => self.change_group(&parent.point),
            4..7 => self.change_some(&parent.point),
            7 => self.crossed(&parent.point),
            _ => self.accumulated(&parent.point),
        }
    }

    /// Changes some choices of one group.
    fn change_group(&mut self, point: &Point) -> Point {
        let group = self.random.random_range(0..self.groups.len());
        let places = self.groups[group].1.clone();
        let steps = self.random.random_range(1..=4_usize).min(places.len());
        (0..steps).fold(point.clone(), |point, _| {
            let place = places[self.random.random_range(0..places.len())];
            self.change(point, place)
        })
    }

    /// Changes some choices.
    fn change_some(&mut self, point: &Point) -> Point {
        let steps = self.random.random_range(1..=3);
        (0..steps).fold(point.clone(), |point, _| {
            let place = self.random.random_range(0..self.space.len());
            self.change(point, place)
        })
    }

    /// Gives a choice another value. Where that is an option which changed nothing so far, mostly not;
    /// one that is chosen is dropped as often as it is replaced.
    fn change(&mut self, point: Point, place: usize) -> Point {
        let now = point.at(place);
        let dropped = now > 0 && self.random.random_range(0..2) == 0;
        let value = if dropped { 0 } else { other(&self.space, place, now, &mut self.random) };
        let option = Selection { choice: place, option: value.max(now) };
        let idle = self.learned.get(&option).is_some_and(|known| known.same == known.changed);
        if idle && self.random.random_range(0..8) > 0 {
            return point;
        }
        point.with(place, value)
    }

    /// Takes each choice from one of two parents.
    fn crossed(&mut self, point: &Point) -> Point {
        let mate = self.parent().point;
        let values = (0..self.space.len()).map(|place| {
            let from = if self.random.random_range(0..2) == 0 { point } else { &mate };
            from.at(place)
        });
        Point::new(values.collect())
    }

    /// Adds options that helped where they were added before.
    fn accumulated(&mut self, point: &Point) -> Point {
        let helps = |known: &OptionHistory| known.gain > 0.0;
        let good: Vec<Selection> = self
            .learned
            .iter()
            .filter(|(option, known)| helps(known) && !point.has(**option))
            .map(|(option, _)| *option)
            .collect();
        if good.is_empty() {
            return self.change_some(point);
        }
        let steps = self.random.random_range(1..=5_usize).min(good.len());
        (0..steps).fold(point.clone(), |point, _| {
            let option = good[self.random.random_range(0..good.len())];
            point.with(option.choice, option.option)
        })
    }

    /// What was better than its parent, all at once.
    fn together(&mut self) -> Option<(Point, Elite)> {
        let wins = std::mem::take(&mut self.wins);
        let parent = self.elite.first().cloned()?;
        if wins.len() < 2 {
            return None;
        }
        let child = wins.iter().fold(parent.point.clone(), |child, (from, won)| {
            let changed = (0..self.space.len()).filter(|place| from.at(*place) != won.at(*place));
            changed.fold(child, |child, place| child.with(place, won.at(place)))
        });
        let new = !self.known.contains_key(&child) && !self.failing.forbids(&child);
        new.then_some((child, parent))
    }

    /// The best with all options that help for all that is known, and without those that hurt.
    fn combined(&self) -> Option<(Point, Elite)> {
        let parent = self.elite.first().cloned()?;
        let mut options = effects(&self.measured);
        options.sort_by(|a, b| a.1.total_cmp(&b.1));
        let child = options.iter().fold(parent.point.clone(), |child, (option, effect)| {
            if *effect < -HELPS && child.at(option.choice) == 0 {
                child.with(option.choice, option.option)
            } else if *effect > HELPS && child.has(*option) {
                child.with(option.choice, 0)
            } else {
                child
            }
        });
        let new = !self.known.contains_key(&child) && !self.failing.forbids(&child);
        new.then_some((child, parent))
    }

    /// Children that are not known and not bound to fail, with their parents.
    fn children(&mut self, wanted: usize) -> Vec<(Point, Elite)> {
        let mut children = Vec::new();
        let mut seen = HashSet::new();
        for _ in 0..wanted * TRIES {
            if children.len() >= wanted {
                break;
            }
            let parent = self.parent();
            let child = self.child(&parent);
            let new = !self.known.contains_key(&child) && !self.failing.forbids(&child);
            if new && seen.insert(child.clone()) {
                children.push((child, parent));
            }
        }
        children
    }

    /// Which of the children costs least, for all that is known.
    fn cheapest(&mut self) -> Option<(Point, Elite)> {
        let mut children = self.children(CHILDREN);
        let points: Vec<Point> = children.iter().map(|(child, _)| child.clone()).collect();
        let expected = (self.measured.len() >= ENOUGH && !points.is_empty())
            .then(|| Surrogate::learn(&self.measured, self.seed))
            .flatten()
            .and_then(|surrogate| surrogate.costs(&points));
        let least = expected
            .and_then(|costs| (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b])));
        (!children.is_empty()).then(|| children.swap_remove(least.unwrap_or(0)))
    }

    /// What the change from its parent says of the options that differ.
    fn learn(&mut self, point: &Point, outcome: &Outcome) {
        let Some((parent, cost, image)) = self.parents.remove(point) else { return };
        if !cost.is_finite() || !outcome.cost().is_finite() {
            return;
        }
        let added: Vec<Selection> = point.chosen().filter(|option| !parent.has(*option)).collect();
        let dropped: Vec<Selection> =
            parent.chosen().filter(|option| !point.has(*option)).collect();
        if outcome.cost() < cost {
            self.wins.push((parent.clone(), point.clone()));
        }
        let gain = (cost / outcome.cost()).ln() / (added.len() + dropped.len()).max(1) as f64;
        let same = u32::from(outcome.image() == Some(image));
        let signed = added.iter().map(|option| (option, gain));
        for (option, gain) in signed.chain(dropped.iter().map(|option| (option, -gain))) {
            let known = self.learned.entry(*option).or_default();
            known.changed += 1;
            known.same += same;
            known.gain += gain;
        }
    }

    fn keep(&mut self, point: &Point, cost: f64, image: u64) {
        if let Some(same) = self.elite.iter_mut().find(|kept| kept.image == image) {
            // What does nothing by itself may do something with what comes later, and goes in the end.
            same.point = point.clone();
            return;
        }
        self.elite.push(Elite { point: point.clone(), cost, image });
        self.elite.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        self.elite.truncate(ELITE);
    }
}

impl Search for Incumbent {
    fn ask(&mut self, most: usize) -> Vec<Point> {
        let mut chosen: Vec<Point> = Vec::new();
        while chosen.len() < most {
            let Some(seed) = self.seeds.pop() else { break };
            // What one seed failed by, such as instructions that are not there, the others need not show.
            if !self.failing.forbids(&seed) {
                chosen.push(seed);
            }
        }
        if !chosen.is_empty() {
            return chosen;
        }
        let mut together = self.together();
        for _ in 0..most {
            let turn = self.known.len() + chosen.len();
            let is_new = |found: &(Point, Elite)| !chosen.contains(&found.0);
            let first = together.take().or_else(|| match turn % EXPLOITED {
                0 => self.combined(),
                8 => self.cheapest(),
                _ => None,
            });
            let second = first.filter(is_new).or_else(|| self.explored());
            let next = second.filter(is_new).or_else(|| self.cheapest());
            let Some((child, parent)) = next.filter(|found| !chosen.contains(&found.0)) else {
                continue;
            };
            self.parents.insert(child.clone(), (parent.point, parent.cost, parent.image));
            chosen.push(child);
        }
        chosen
    }

    fn tell(&mut self, point: &Point, outcome: &Outcome) {
        self.learn(point, outcome);
        let cost = outcome.cost();
        if self.known.insert(point.clone(), cost).is_some() {
            return;
        }
        match outcome {
            Outcome::Measured { ratio, image } => {
                self.failing.runs(point);
                self.measured.push((point.clone(), *ratio));
                self.keep(point, *ratio, *image);
            }
            Outcome::Failed => self.failing.fails(point),
        }
    }
}
