use crate::{Algorithm, Order, Problem};

/// Pieces in the order in which they first ran: those of the first run, then those that only the
/// second executed, and so on; the rest as they are.
///
/// Source: BOOST, "Reducing WebOS Boot Latency through Build and Boot-Time Optimization" (2025),
/// section 3; the tiers for further runs are ours.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstExecution;

impl Algorithm for FirstExecution {
    fn name(&self) -> &'static str {
        "first-execution"
    }

    fn description(&self) -> &'static str {
        "what ran first comes first (BOOST 2025)"
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        Order::leading(problem.runs.iter().flatten().copied(), problem.pieces.len())
    }
}
