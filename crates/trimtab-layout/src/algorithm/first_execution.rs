//! Pieces in the order in which they first ran.

use super::interface::Algorithm;
use crate::named::HasName;
use crate::{Order, Problem};

/// Pieces in the order in which they first ran: those of the first run, then those that only other
/// runs executed, what most of them executed first; the rest as they are.
///
/// Source: BOOST, "Reducing WebOS Boot Latency through Build and Boot-Time Optimization" (2025),
/// section 3; the tiers for further runs are ours.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstExecution;

impl HasName for FirstExecution {
    fn name(&self) -> &'static str {
        "first-execution"
    }

    fn description(&self) -> &'static str {
        "what ran first comes first (BOOST 2025)"
    }
}

impl Algorithm for FirstExecution {
    fn order(&self, problem: &Problem<'_>) -> Order {
        let first = problem.runs.first().into_iter().flatten().copied();
        Order::leading(first.chain(problem.further()), problem.pieces.len())
    }
}
