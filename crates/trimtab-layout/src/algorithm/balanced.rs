//! Recursive balanced partitioning.

use super::interface::{Algorithm, Needs};
use crate::named::HasName;
use crate::{Order, PieceId, Problem};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashMap;

/// Halves the functions again and again so that those which run at the same time in the same runs
/// come to lie in the same half.
///
/// Each run is cut into windows, each twice as long as the one before; a function belongs to the
/// window in which it ran first and to all later ones of that run. Halving makes the halves
/// differ in their windows as much as it can: it swaps functions while that lowers the sum, over all
/// windows, of the bits that it takes to say which half each of their functions is in.
///
/// Source: E. Hoag, K. Lee, J. Mestre and S. Pupyrev, "Optimizing function layout for mobile
/// applications", LCTES 2023, section 3 (balanced partitioning) and 3.2 (start-up). Takes O(*u*
/// log *n* · *i*) for *u* memberships of *n* functions in windows and *i* rounds of swapping.
#[derive(Debug, Clone, Copy)]
pub struct BalancedPartitioning {
    /// Halvings, at most; what is left then stays in the order of first execution.
    pub depth: u32,
    /// Rounds of swapping per halving, at most.
    pub rounds: u32,
    /// Share of the swaps that are left out, to get out of local optima.
    pub skipped: f64,
    /// Seed of the choice of these.
    pub seed: u64,
}

impl Default for BalancedPartitioning {
    fn default() -> Self {
        BalancedPartitioning { depth: 18, rounds: 40, skipped: 0.1, seed: 0 }
    }
}

impl HasName for BalancedPartitioning {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn description(&self) -> &'static str {
        "recursive balanced partitioning by start-up windows (LCTES 2023)"
    }
}

impl Algorithm for BalancedPartitioning {
    fn needs(&self) -> Needs {
        Needs::FirstExecution
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let mut nodes = nodes(problem);
        self.bisect(&mut nodes, 0, 1);
        Order::leading(nodes.into_iter().map(|node| node.piece), problem.pieces.len())
    }
}

/// A function and the windows that it belongs to.
struct Node {
    piece: PieceId,
    /// Place by first execution, earliest of all runs first.
    rank: u32,
    windows: Vec<u32>,
    right: bool,
}

impl Node {
    /// Puts the function into the other half, with what its windows count.
    fn change_sides(&mut self, windows: &mut [Window]) {
        self.right = !self.right;
        for &window in &self.windows {
            let window = &mut windows[window as usize];
            let (gains, loses) = match self.right {
                true => (&mut window.right, &mut window.left),
                false => (&mut window.left, &mut window.right),
            };
            *gains += 1;
            *loses -= 1;
            window.known = false;
        }
    }
}

/// The functions that ran, earliest first, with their windows. Windows that hold a single function
/// or more than half of all tell nothing apart and are left out.
fn nodes(problem: &Problem<'_>) -> Vec<Node> {
    let mut windows: Vec<Vec<u32>> = vec![Vec::new(); problem.pieces.len()];
    let mut earliest = vec![usize::MAX; problem.pieces.len()];
    let mut last = 0u32;
    for run in problem.runs {
        let first_window = last;
        let mut cut = 1;
        let mut own: Vec<(PieceId, u32)> = Vec::with_capacity(run.len());
        for (time, &piece) in run.iter().enumerate() {
            let Some(earliest) = earliest.get_mut(piece.index()) else { continue };
            *earliest = (*earliest).min(time);
            if time >= cut {
                last += 1;
                cut = 2 * time;
            }
            own.push((piece, last));
        }
        for (piece, window) in own {
            // A piece that a run lists twice belongs to its windows once.
            let all = &mut windows[piece.index()];
            if all.last().is_none_or(|latest| *latest < first_window) {
                all.extend(window..=last);
            }
        }
        last += 1;
    }
    let mut members = vec![0usize; last as usize];
    for &window in windows.iter().flatten() {
        members[window as usize] += 1;
    }
    let mut order: Vec<PieceId> = PieceId::all(problem.pieces.len())
        .filter(|piece| earliest[piece.index()] != usize::MAX)
        .collect();
    order.sort_by_key(|piece| earliest[piece.index()]);
    let all = order.len();
    order
        .into_iter()
        .enumerate()
        .map(|(rank, piece)| {
            let mut windows = std::mem::take(&mut windows[piece.index()]);
            windows.retain(|window| {
                let members = members[*window as usize];
                members > 1 && 2 * members <= all
            });
            Node { piece, rank: rank as u32, windows, right: false }
        })
        .collect()
}

/// How many functions of a window are in either half, and what moving one gains.
#[derive(Clone, Copy, Default)]
struct Window {
    left: u32,
    right: u32,
    to_right: f32,
    to_left: f32,
    known: bool,
}

impl Window {
    /// What the window costs with so many functions in the halves.
    fn cost(left: u32, right: u32) -> f32 {
        let bits = |count: u32| f64::from(count) * f64::from(count + 1).log2();
        -(bits(left) + bits(right)) as f32
    }

    fn learn(&mut self) {
        if self.known {
            return;
        }
        let now = Self::cost(self.left, self.right);
        self.to_right =
            if self.left > 0 { now - Self::cost(self.left - 1, self.right + 1) } else { 0.0 };
        self.to_left =
            if self.right > 0 { now - Self::cost(self.left + 1, self.right - 1) } else { 0.0 };
        self.known = true;
    }
}

/// Numbers the windows of these functions anew, so that they index the table that is given back, and
/// leaves out those that tell none of them apart.
fn number_windows(nodes: &mut [Node]) -> Vec<Window> {
    let mut members: FxHashMap<u32, u32> = FxHashMap::default();
    for &window in nodes.iter().flat_map(|node| &node.windows) {
        *members.entry(window).or_default() += 1;
    }
    let all = nodes.len() as u32;
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut windows: Vec<Window> = Vec::new();
    for node in nodes.iter_mut() {
        node.windows.retain(|window| {
            let members = members[window];
            members > 1 && members < all
        });
        for window in &mut node.windows {
            let next = numbers.len() as u32;
            *window = *numbers.entry(*window).or_insert(next);
            if *window == next {
                windows.push(Window::default());
            }
            match node.right {
                true => windows[*window as usize].right += 1,
                false => windows[*window as usize].left += 1,
            }
        }
    }
    windows
}

impl BalancedPartitioning {
    fn bisect(&self, nodes: &mut [Node], depth: u32, bucket: u64) {
        nodes.sort_unstable_by_key(|node| node.rank);
        if nodes.len() <= 1 || depth >= self.depth {
            return;
        }
        let half = nodes.len().div_ceil(2);
        for (place, node) in nodes.iter_mut().enumerate() {
            node.right = place >= half;
        }
        self.swap(nodes, bucket);
        nodes.sort_unstable_by_key(|node| (node.right, node.rank));
        let middle = nodes.partition_point(|node| !node.right);
        let (left, right) = nodes.split_at_mut(middle);
        self.bisect(left, depth + 1, 2 * bucket);
        self.bisect(right, depth + 1, 2 * bucket + 1);
    }

    /// Swaps functions between the halves for as long as that gains anything.
    fn swap(&self, nodes: &mut [Node], bucket: u64) {
        let mut windows = number_windows(nodes);
        let mut chance = ChaCha8Rng::seed_from_u64(self.seed ^ bucket);
        let mut left: Vec<(f32, u32)> = Vec::new();
        let mut right: Vec<(f32, u32)> = Vec::new();
        for _ in 0..self.rounds {
            windows.iter_mut().for_each(Window::learn);
            left.clear();
            right.clear();
            for (place, node) in nodes.iter().enumerate() {
                let known = node.windows.iter().map(|window| &windows[*window as usize]);
                let (side, gain): (_, f32) = match node.right {
                    true => (&mut right, known.map(|window| window.to_left).sum()),
                    false => (&mut left, known.map(|window| window.to_right).sum()),
                };
                side.push((gain, place as u32));
            }
            for side in [&mut left, &mut right] {
                side.sort_by(|a, b| b.0.total_cmp(&a.0));
            }
            let mut moved = 0;
            for ((gain_left, a), (gain_right, b)) in left.iter().zip(&right) {
                if gain_left + gain_right <= 0.0 {
                    break;
                }
                for place in [*a, *b] {
                    if chance.random::<f64>() < self.skipped {
                        continue;
                    }
                    nodes[place as usize].change_sides(&mut windows);
                    moved += 1;
                }
            }
            if moved == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Piece;

    #[test]
    fn what_runs_in_the_same_runs_comes_together() {
        let pieces = vec![Piece { size: 16, alignment: 16, ..Piece::default() }; 32];
        // Even and odd functions, each in runs of their own.
        let even: Vec<PieceId> = (0..16).map(|piece| PieceId(piece * 2)).collect();
        let odd: Vec<PieceId> = (0..16).map(|piece| PieceId(piece * 2 + 1)).collect();
        let runs = [even.clone(), odd.clone(), even, odd];
        let problem = Problem { pieces: &pieces, runs: &runs, ..Problem::default() };
        let order = BalancedPartitioning::default().order(&problem);
        let alike = |pair: &&[PieceId]| pair[0].0 % 2 == pair[1].0 % 2;
        let together = order.listed().windows(2).filter(alike).count();
        assert!(together >= 24, "{order:?}");
    }
}
