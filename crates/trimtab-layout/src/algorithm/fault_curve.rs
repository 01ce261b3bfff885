//! Filling pages so that the area under the page-fault curve is small for every run.

use super::interface::{Algorithm, Needs};
use crate::cost::FUNCTIONS_PER_PAGE;
use crate::named::HasName;
use crate::{Order, PieceId, Problem};

/// Fills one page after the other so that the area under the page-fault curve, summed over all
/// runs, is small.
///
/// A page counts from the first event that touches it to the end of the run. So what a page costs a
/// run is the *weight* of the one of its functions that runs first: how many functions of that run
/// come after it, itself included; none where the run executes none of them. The order of pages
/// does not matter. A page begins with the first function that is left in the order of first
/// execution, and is filled with those that add least to its costs, less a share of their own
/// weight, for a heavy function has to go somewhere. For a single run that is the order of first
/// execution; for several, functions of the same runs and the same time come together.
///
/// Source: ours; the cost is the area that `llvm-profdata order` prints. Takes O(*n* · *w* · *r*) for
/// *n* functions, a window of *w* and *r* runs.
#[derive(Debug, Clone, Copy)]
pub struct FaultCurve {
    /// Functions that a page is taken to hold.
    pub page: usize,
    /// Candidates that are looked at for a place, the first that are left.
    pub window: usize,
    /// Share of its own weight that speaks for a candidate, 0 to 1.
    pub own_share: f32,
}

impl FaultCurve {
    pub(super) const NAME: &str = "fault-curve";
}

impl Default for FaultCurve {
    fn default() -> Self {
        FaultCurve { page: FUNCTIONS_PER_PAGE, window: 256, own_share: 0.8 }
    }
}

impl HasName for FaultCurve {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "pages filled so that every run touches few of them, and late"
    }
}

impl Algorithm for FaultCurve {
    fn needs(&self) -> Needs {
        Needs::FirstExecution
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let count = problem.pieces.len();
        let executed = problem.executed();
        if problem.runs.len() < 2 {
            return Order::leading(executed, count);
        }
        let weights = Weights::new(problem, &executed);
        let mut listed = Vec::with_capacity(executed.len());
        let mut left = 0..executed.len() as u32;
        let mut window: Vec<u32> = Vec::with_capacity(self.window);
        let mut cost = vec![0.0f32; problem.runs.len()];
        loop {
            let room = self.window.max(1) - window.len();
            window.extend(left.by_ref().take(room));
            if window.is_empty() {
                break;
            }
            // The first one begins a page.
            let place = match listed.len() % self.page.max(1) {
                0 => {
                    cost.fill(0.0);
                    0
                }
                _ => self.cheapest(&weights, &window, &cost),
            };
            let function = window.remove(place);
            for (cost, weight) in cost.iter_mut().zip(weights.of(function)) {
                *cost = cost.max(*weight);
            }
            listed.push(function);
        }
        for page in listed.chunks_mut(self.page.max(1)) {
            // Pages may be smaller than they are taken to be.
            page.sort_unstable();
        }
        Order::leading(listed.into_iter().map(|function| executed[function as usize]), count)
    }
}

impl FaultCurve {
    /// The candidate that adds least to a page that costs the runs `cost`; of equals the first.
    fn cheapest(&self, weights: &Weights, window: &[u32], cost: &[f32]) -> usize {
        let mut best = (f32::INFINITY, 0);
        for (place, &function) in window.iter().enumerate() {
            let mut added = 0.0;
            for (weight, cost) in weights.of(function).iter().zip(cost) {
                added += (weight - cost).max(0.0) - self.own_share * weight;
            }
            if added < best.0 {
                best = (added, place);
            }
        }
        best.1
    }
}

/// What each function weighs in each run.
struct Weights {
    runs: usize,
    /// Run after run for the first function, then for the next.
    all: Vec<f32>,
}

impl Weights {
    fn new(problem: &Problem<'_>, executed: &[PieceId]) -> Self {
        let runs = problem.runs.len();
        let mut number = vec![None; problem.pieces.len()];
        for (place, piece) in executed.iter().enumerate() {
            number[piece.index()] = Some(place);
        }
        let mut all = vec![0.0f32; executed.len() * runs];
        for (run, pieces) in problem.runs.iter().enumerate() {
            for (time, piece) in pieces.iter().enumerate() {
                if let Some(function) = number.get(piece.index()).copied().flatten() {
                    let weight = &mut all[function * runs + run];
                    // Where a run lists it twice, the first time counts.
                    *weight = weight.max((pieces.len() - time) as f32);
                }
            }
        }
        Weights { runs, all }
    }

    fn of(&self, function: u32) -> &[f32] {
        &self.all[function as usize * self.runs..][..self.runs]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::function_area;
    use crate::{FirstExecution, Piece};

    fn area(order: &Order, runs: &[Vec<PieceId>]) -> u64 {
        runs.iter().map(|run| function_area(order.listed(), run)).sum()
    }

    #[test]
    fn one_run_is_followed() {
        let pieces = vec![Piece::default(); 100];
        let runs = [PieceId::all(80).rev().collect::<Vec<_>>()];
        let problem = Problem { pieces: &pieces, runs: &runs, ..Problem::default() };
        let (ours, first) = (FaultCurve::default().order(&problem), FirstExecution.order(&problem));
        assert_eq!(ours, first);
    }

    #[test]
    fn what_only_some_runs_need_does_not_share_pages_with_the_rest() {
        let pieces = vec![Piece::default(); 1000];
        // Both runs go through the same 320 functions; the first takes a turn of its own after each.
        let common = PieceId;
        let own = |step: u32| PieceId(500 + step);
        let runs = [
            (0..320).flat_map(|step| [common(step), own(step)]).collect::<Vec<_>>(),
            (0..320).map(common).collect(),
        ];
        let problem = Problem { pieces: &pieces, runs: &runs, ..Problem::default() };
        let ours = area(&FaultCurve::default().order(&problem), &runs[1..]);
        let first = area(&FirstExecution.order(&problem), &runs[1..]);
        assert!(ours * 10 <= first * 9, "{ours} of {first}");
    }
}
