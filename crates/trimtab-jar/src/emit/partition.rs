//! Cutting a function into parts that the just-in-time compiler takes.
//!
//! Blocks are joined along the edges that run most often first, as long as a part stays small enough:
//! so the innermost loops become whole before what surrounds them. How often an edge runs is guessed
//! from how deep it lies in loops.
//!
//! The joining is that of Pettis and Hansen, *Profile Guided Code Positioning* (PLDI 1990), with a
//! limit.

use super::dispatch::CHAIN;
use crate::function::Function;
use crate::loops::natural_loops;
use rustc_hash::FxHashMap;

/// How much more often a loop's body is held to run than what is around it.
const TURNS: u64 = 8;
/// Loops deeper than this count as this deep.
const DEEPEST: u32 = 12;

/// Of all that ran by a profile, the blocks that are held to be hot have all but this share.
const COLD_SHARE: u64 = 10_000;

/// How large parts may become, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartLimits {
    /// Of what is hot by a profile.
    pub(super) hot: usize,
    /// Of all else.
    pub(super) other: usize,
}

/// With a limit below this, a part that is too large becomes no smaller.
const SMALLEST: usize = 600;

impl PartLimits {
    /// Lower ones, for where a part became too large: code of several blocks is longer than theirs. Hot parts are the larger ones.
    /// None where that would be of no use.
    pub(super) fn smaller(self) -> Option<PartLimits> {
        let hot = self.hot * 4 / 5;
        (self.hot > SMALLEST).then(|| PartLimits { hot, other: self.other.min(hot) })
    }
}

/// Parts of at most `limits` each, as far as single blocks allow; `sizes` are those of the blocks, and `counts`
/// how often they ran, where that is known. What is hot by that is in no part with what is not. What is `copied` to where
/// it is needed is in none. Parts and the blocks in them are in ascending order.
pub(super) fn parts(
    function: &Function,
    sizes: &[usize],
    limits: PartLimits,
    counts: Option<&[u64]>,
    copied: &[bool],
) -> Vec<Vec<usize>> {
    let hot = counts.map_or_else(|| vec![false; sizes.len()], hot_blocks);
    let limit = |block: usize| if hot[block] { limits.hot } else { limits.other };
    let depths = natural_loops(function).depths;
    let mut edges: Vec<(u64, usize, usize)> = Vec::new();
    for (from, block) in function.blocks.iter().enumerate() {
        // What one of many cases goes on with runs less often than what all do.
        let share = block.next.len().max(1) as u64;
        let joins =
            |to: usize| hot[to] == hot[from] && (counts.is_some() || !copied[to] && !copied[from]);
        for to in block.next.iter().filter(|to| joins(**to)) {
            let depth = depths[from].min(depths[*to]).min(DEEPEST);
            let guess = TURNS.pow(depth).saturating_mul(64) / share;
            let known = counts.filter(|_| hot[from]).map(|all| all[from].min(all[*to]));
            edges.push((known.unwrap_or(guess), from, *to));
        }
    }
    edges.sort_unstable_by_key(|(weight, from, to)| (std::cmp::Reverse(*weight), *from, *to));
    let mut union = Union { parent: (0..sizes.len()).collect(), sizes: sizes.to_vec() };
    for (_, from, to) in edges {
        union.join(from, to, limit(from));
    }
    // What is left over fills up what has room: the largest first.
    let mut roots: Vec<usize> = (0..sizes.len()).filter(|at| union.parent[*at] == *at).collect();
    roots.sort_unstable_by_key(|root| (std::cmp::Reverse(union.sizes[*root]), *root));
    for (at, root) in roots.iter().enumerate() {
        let room = |union: &Union, other: usize| {
            union.parent[other] == other
                && hot[other] == hot[*root]
                && union.sizes[other] + union.sizes[*root] <= limit(other)
        };
        if let Some(other) = roots[..at].iter().find(|other| room(&union, **other)) {
            union.join(*other, *root, limit(*other));
        }
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    for index in (0..sizes.len()).filter(|index| !copied[*index]) {
        let root = union.root(index);
        parts[root].push(index);
    }
    parts.retain(|part| !part.is_empty());
    parts.sort_unstable();
    parts
}

/// The part of each block; none is the largest number.
pub(super) fn part_of(function: &Function, parts: &[Vec<usize>]) -> Vec<usize> {
    let mut part_of = vec![usize::MAX; function.blocks.len()];
    for (number, part) in parts.iter().enumerate() {
        for block in part {
            part_of[*block] = number;
        }
    }
    part_of
}

/// How often a run goes from one part to another, by how often blocks ran.
pub(super) fn crossings(
    function: &Function,
    parts: &[Vec<usize>],
    counts: &[u64],
    copied: &[bool],
) -> u64 {
    let part_of = part_of(function, parts);
    let flow = Flow { function, counts, copied, part_of: &part_of };
    let mut behind: FxHashMap<usize, FxHashMap<usize, f64>> = FxHashMap::default();
    for index in (0..copied.len()).filter(|index| copied[*index]) {
        let mut parts = flow.parts_behind(index, 0);
        let all: f64 = parts.values().sum();
        parts.values_mut().for_each(|share| *share /= all.max(f64::MIN_POSITIVE));
        behind.insert(index, parts);
    }
    let mut all = 0.0;
    for from in (0..copied.len()).filter(|from| !copied[*from]) {
        for (to, share) in flow.shares(from) {
            let stays = match behind.get(&to) {
                Some(parts) => parts.get(&part_of[from]).copied().unwrap_or_default(),
                None => f64::from(u8::from(part_of[to] == part_of[from])),
            };
            all += counts[from] as f64 * share * (1.0 - stays);
        }
    }
    all as u64
}

/// A run through a function, by how often its blocks ran: which edge is taken how often is not counted.
struct Flow<'a> {
    function: &'a Function,
    counts: &'a [u64],
    copied: &'a [bool],
    part_of: &'a [usize],
}

impl Flow<'_> {
    /// The share of a block's runs that goes on at each of those that follow.
    fn shares(&self, from: usize) -> Vec<(usize, f64)> {
        let next = &self.function.blocks[from].next;
        let all: f64 = next.iter().map(|to| self.counts[*to] as f64).sum();
        next.iter().map(|to| (*to, self.counts[*to] as f64 / all.max(1.0))).collect()
    }

    /// The share of the runs of a block that is copied which goes on in each part. Not
    /// what goes round in copies.
    fn parts_behind(&self, block: usize, depth: usize) -> FxHashMap<usize, f64> {
        let mut parts = FxHashMap::default();
        for (to, share) in self.shares(block) {
            if !self.copied[to] {
                *parts.entry(self.part_of[to]).or_default() += share;
            } else if depth < CHAIN {
                for (part, of_these) in self.parts_behind(to, depth + 1) {
                    *parts.entry(part).or_default() += share * of_these;
                }
            }
        }
        parts
    }
}

/// The fewest blocks that have nearly all of the runs.
fn hot_blocks(counts: &[u64]) -> Vec<bool> {
    let mut most: Vec<u64> = counts.to_vec();
    most.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    let all = most.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let mut left = all - all / COLD_SHARE;
    let mut least = 1;
    for count in most.into_iter().take_while(|count| *count > 0) {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(count);
        least = count;
    }
    counts.iter().map(|count| *count >= least).collect()
}

/// Sets of blocks with their sizes.
struct Union {
    parent: Vec<usize>,
    sizes: Vec<usize>,
}

impl Union {
    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize, limit: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b && self.sizes[a] + self.sizes[b] <= limit {
            let (first, second) = (a.min(b), a.max(b));
            self.parent[second] = first;
            self.sizes[first] += self.sizes[second];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_parts_become_smaller_until_they_are_as_others() {
        let first = PartLimits { hot: 7000, other: 700 };
        let all: Vec<(usize, usize)> =
            std::iter::successors(Some(first), |limits| limits.smaller())
                .map(|limits| (limits.hot, limits.other))
                .collect();
        assert!(all.contains(&(3584, 700)) && all.last() == Some(&(600, 600)), "{all:?}");
    }
}
