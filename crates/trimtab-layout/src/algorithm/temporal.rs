//! Procedure placement by temporal ordering.

use super::interface::{Algorithm, Needs};
use crate::merging::Contraction;
use crate::named::HasName;
use crate::{Order, Problem};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Functions that run in turns are kept out of each other's cache lines.
///
/// A temporal relationship graph counts for two functions how often one ran between two executions
/// of the other, as far back as a cache remembers. The two clusters with the heaviest edge are made
/// one, again and again, shifted against each other so that the fewest of those turns fall on the
/// same lines. That gives each popular function a place in the cache; they are then listed so that
/// each begins as near as can be behind the end of the one before.
///
/// Source: N. Gloy and M. D. Smith, "Procedure placement using temporal-ordering information",
/// TOPLAS 21(5), 1999, sections 3 and 4 (with whole functions in place of their chunks, and a
/// direct-mapped cache). An order has no gaps, so shifts are honoured only as far as neighbours
/// allow. Takes O(*e* · *q* + *n* · *l*) for *e* entries, of which only the first of each run are
/// looked at, *q* functions in the cache, *n* popular functions and *l* lines.
#[derive(Debug, Clone, Copy)]
pub struct TemporalOrdering {
    /// Bytes of the cache.
    pub cache_bytes: u64,
    /// Bytes of a line of it.
    pub line_bytes: u64,
    /// Most functions that are placed this way, the ones entered most; the rest follow as they ran
    /// first.
    pub popular: usize,
    /// Entries of each run that are looked at.
    pub entries: usize,
}

impl Default for TemporalOrdering {
    fn default() -> Self {
        TemporalOrdering { cache_bytes: 32 << 10, line_bytes: 64, popular: 4096, entries: 1 << 20 }
    }
}

impl HasName for TemporalOrdering {
    fn name(&self) -> &'static str {
        "temporal"
    }

    fn description(&self) -> &'static str {
        "temporal ordering: what runs in turns shares no line (TOPLAS 1999)"
    }
}

impl Algorithm for TemporalOrdering {
    fn needs(&self) -> Needs {
        Needs::Sequence
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let count = problem.pieces.len();
        let flow = problem.known_flow();
        let executed = problem.executed();
        let lines = (self.cache_bytes / self.line_bytes.max(1)).max(1);
        let mut popular = executed.clone();
        popular.sort_by_key(|piece| std::cmp::Reverse(flow.counts[piece.index()]));
        popular.truncate(self.popular);
        let mut number = vec![None; count];
        for (index, piece) in popular.iter().enumerate() {
            number[piece.index()] = Some(index as u32);
        }
        let lengths: Vec<u64> = popular
            .iter()
            .map(|piece| {
                problem.pieces[piece.index()].size.div_ceil(self.line_bytes.max(1)).clamp(1, lines)
            })
            .collect();
        let sequences = flow.sequences.iter().map(|sequence| {
            let entries = sequence.iter().take(self.entries);
            entries.filter_map(|piece| number[piece.index()]).collect::<Vec<u32>>()
        });
        let turns = turns(sequences, &lengths, 2 * lines);
        let places = places(&turns, &lengths, lines);
        let listed = list(&places, &lengths, lines);
        let listed = listed.into_iter().map(|index| popular[index as usize]);
        Order::leading(listed.chain(executed), count)
    }
}

/// The temporal relationship graph: for each two functions how often one ran between two
/// executions of the other while no more than `memory` lines of others did.
fn turns(
    sequences: impl Iterator<Item = Vec<u32>>,
    lengths: &[u64],
    memory: u64,
) -> FxHashMap<(u32, u32), u64> {
    let mut turns: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    for sequence in sequences {
        // The most recent one last, each once.
        let mut recent: VecDeque<u32> = VecDeque::new();
        let mut lines = 0;
        for function in sequence {
            match recent.iter().rposition(|other| *other == function) {
                Some(place) => {
                    for &other in recent.range(place + 1..) {
                        let pair = (function.min(other), function.max(other));
                        *turns.entry(pair).or_default() += 1;
                    }
                    recent.remove(place);
                }
                None => lines += lengths[function as usize],
            }
            recent.push_back(function);
            while lines > memory && recent.len() > 1 {
                let Some(oldest) = recent.pop_front() else { break };
                lines -= lengths[oldest as usize];
            }
        }
    }
    turns
}

/// The line of the cache at which each function should begin, for those that have any relation.
fn places(turns: &FxHashMap<(u32, u32), u64>, lengths: &[u64], lines: u64) -> Vec<Option<u64>> {
    let count = lengths.len();
    let mut related: Vec<Vec<(u32, u64)>> = vec![Vec::new(); count];
    let mut sorted: Vec<(u32, u32, u64)> =
        turns.iter().map(|((a, b), weight)| (*a, *b, *weight)).collect();
    sorted.sort_unstable();
    for &(a, b, weight) in &sorted {
        related[a as usize].push((b, weight));
        related[b as usize].push((a, weight));
    }
    let mut graph = Contraction::new(count, sorted);
    let mut clusters: Vec<Vec<u32>> = (0..count as u32).map(|function| vec![function]).collect();
    let mut cluster_of: Vec<u32> = (0..count as u32).collect();
    let mut place = vec![0u64; count];
    let mut placed = vec![false; count];
    while let Some((a, b, _)) = graph.heaviest() {
        let (into, from) = graph.merge(a, b);
        // The smaller one is shifted, which costs less.
        let (fixed, shifted) = match clusters[into as usize].len() >= clusters[from as usize].len()
        {
            true => (into, from),
            false => (from, into),
        };
        let mut conflicts = Conflicts::new(lines);
        for &function in &clusters[shifted as usize] {
            for &(other, weight) in &related[function as usize] {
                if cluster_of[other as usize] == fixed {
                    let (p, q) = (function as usize, other as usize);
                    conflicts.add((place[q], lengths[q]), (place[p], lengths[p]), weight);
                }
            }
        }
        let shift = conflicts.least();
        let moved = std::mem::take(&mut clusters[shifted as usize]);
        let mut all = std::mem::take(&mut clusters[fixed as usize]);
        for &function in &moved {
            place[function as usize] = (place[function as usize] + shift) % lines;
        }
        all.extend(moved);
        for &function in &all {
            placed[function as usize] = true;
        }
        // Only the moved ones change their number, whichever of the two numbers stays.
        for &function in &all {
            cluster_of[function as usize] = into;
        }
        clusters[into as usize] = all;
    }
    place.into_iter().zip(placed).map(|(place, placed)| placed.then_some(place)).collect()
}

/// How many conflicts each shift of one cluster against another brings.
struct Conflicts {
    /// Second differences of the conflicts by shift.
    bends: Vec<i128>,
    lines: u64,
}

impl Conflicts {
    fn new(lines: u64) -> Self {
        Conflicts { bends: vec![0; 3 * lines as usize + 4], lines }
    }

    /// Two functions (first line and number of lines) conflict on each line that they share. By shift
    /// that rises line by line to the shorter length, stays, and falls.
    fn add(&mut self, fixed: (u64, u64), shifted: (u64, u64), weight: u64) {
        let lines = self.lines;
        // The last shift at which they do not yet meet; by twice the lines so that it is not negative.
        let begin = (fixed.0 + 2 * lines - shifted.0 - shifted.1) % lines;
        let (short, long) = (fixed.1.min(shifted.1), fixed.1.max(shifted.1));
        let weight = i128::from(weight);
        for (bend, sign) in [(0, 1), (short, -1), (long, -1), (short + long, 1)] {
            self.bends[(begin + bend) as usize] += sign * weight;
        }
    }

    /// The shift with the fewest conflicts, of equals the smallest.
    fn least(&self) -> u64 {
        let lines = self.lines as usize;
        let mut by_shift = vec![0i128; lines];
        let (mut slope, mut height) = (0i128, 0i128);
        for (shift, bend) in self.bends.iter().enumerate() {
            by_shift[shift % lines] += height;
            slope += bend;
            height += slope;
        }
        let least = by_shift.iter().enumerate().min_by_key(|(shift, height)| (**height, *shift));
        least.map_or(0, |(shift, _)| shift as u64)
    }
}

/// Lists functions so that each begins as near as can be behind the end of the one before; those
/// without a place are left out.
fn list(places: &[Option<u64>], lengths: &[u64], lines: u64) -> Vec<u32> {
    let mut waiting: BTreeSet<(u64, u32)> = places
        .iter()
        .enumerate()
        .filter_map(|(function, place)| place.map(|place| (place, function as u32)))
        .collect();
    let mut listed = Vec::with_capacity(waiting.len());
    let mut line = 0;
    while let Some(&next) = waiting.range((line, 0)..).next().or(waiting.first()) {
        waiting.remove(&next);
        let (place, function) = next;
        line = (place + lengths[function as usize]) % lines;
        listed.push(function);
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn turns_are_counted_within_memory() {
        let lengths = [1, 1, 1, 10];
        let found = turns([vec![0, 1, 0, 2, 1, 0]].into_iter(), &lengths, 8);
        assert_eq!(found[&(0, 1)], 3);
        assert_eq!(found[&(0, 2)], 1);
        assert_eq!(found[&(1, 2)], 1);
        assert!(turns([vec![0, 3, 0]].into_iter(), &lengths, 8).is_empty(), "3 drove 0 out");
    }

    #[test]
    fn functions_that_take_turns_get_lines_of_their_own() {
        let turns: FxHashMap<(u32, u32), u64> =
            [((0, 1), 9), ((0, 2), 8), ((1, 2), 7)].into_iter().collect();
        let places: Vec<u64> = places(&turns, &[4, 4, 4], 16).into_iter().flatten().collect();
        let lines: BTreeSet<u64> =
            places.iter().flat_map(|place| (*place..place + 4).map(|line| line % 16)).collect();
        assert_eq!(lines.len(), 12, "{places:?}");
    }

    proptest! {
        #[test]
        fn conflicts_agree_with_counting_lines(
            pairs in prop::collection::vec(((0u64..16, 1u64..=16), (0u64..16, 1u64..=16), 1u64..9), 1..6)
        ) {
            let lines = 16;
            let mut conflicts = Conflicts::new(lines);
            for &(fixed, shifted, weight) in &pairs {
                conflicts.add(fixed, shifted, weight);
            }
            let count = |shift: u64| -> u64 {
                let shared = |&(fixed, shifted, weight): &((u64, u64), (u64, u64), u64)| {
                    let of = |(start, length): (u64, u64), shift| {
                        (start..start + length).map(move |line| (line + shift) % lines)
                    };
                    let theirs: Vec<u64> = of(shifted, shift).collect();
                    weight * of(fixed, 0).filter(|line| theirs.contains(line)).count() as u64
                };
                pairs.iter().map(shared).sum()
            };
            let least = (0..lines).min_by_key(|shift| (count(*shift), *shift)).unwrap();
            prop_assert_eq!(conflicts.least(), least);
        }
    }
}
