//! Cutting a function into parts that the just-in-time compiler takes.
//!
//! Blocks are joined along the edges that run most often first, as long as a part stays small enough:
//! so the innermost loops become whole before what surrounds them. How often an edge runs is guessed
//! from how deep it lies in loops.
//!
//! The joining is that of Pettis and Hansen, *Profile Guided Code Positioning* (PLDI 1990), with a
//! limit.

use crate::function::Function;
use crate::loops::natural_loops;

/// How much more often a loop's body is held to run than what is around it.
const TURNS: u64 = 8;
/// Loops deeper than this count as this deep.
const DEEPEST: u32 = 12;

/// Parts of at most `limit` bytes each, as far as single blocks allow; `sizes` are those of the
/// blocks. Parts and the blocks in them are in ascending order.
pub(super) fn parts(function: &Function, sizes: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let depths = natural_loops(function).depths;
    let mut edges: Vec<(u64, usize, usize)> = Vec::new();
    for (from, block) in function.blocks.iter().enumerate() {
        // What one of many cases goes on with runs less often than what all do.
        let share = block.next.len().max(1) as u64;
        for to in &block.next {
            let depth = depths[from].min(depths[*to]).min(DEEPEST);
            let weight = TURNS.pow(depth).saturating_mul(64) / share;
            edges.push((weight, from, *to));
        }
    }
    edges.sort_unstable_by_key(|(weight, from, to)| (std::cmp::Reverse(*weight), *from, *to));
    let mut union = Union { parent: (0..sizes.len()).collect(), sizes: sizes.to_vec() };
    for (_, from, to) in edges {
        union.join(from, to, limit);
    }
    // What is left over fills up what has room: the largest first.
    let mut roots: Vec<usize> = (0..sizes.len()).filter(|at| union.parent[*at] == *at).collect();
    roots.sort_unstable_by_key(|root| (std::cmp::Reverse(union.sizes[*root]), *root));
    for (at, root) in roots.iter().enumerate() {
        let room = |union: &Union, other: usize| {
            union.parent[other] == other && union.sizes[other] + union.sizes[*root] <= limit
        };
        if let Some(other) = roots[..at].iter().find(|other| room(&union, **other)) {
            union.join(*other, *root, limit);
        }
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    for index in 0..sizes.len() {
        let root = union.root(index);
        parts[root].push(index);
    }
    parts.retain(|part| !part.is_empty());
    parts.sort_unstable();
    parts
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
