//! What all algorithms that order pieces have in common.

use crate::named::HasName;
use crate::{Order, Problem};

/// What an algorithm has to know of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// The order in which pieces ran first.
    FirstExecution,
    /// How often control passed between pieces. Where it was not recorded it is approximated: see
    /// [`crate::Flow::approximated`].
    Transitions,
    /// The order in which control entered pieces, each time. Approximated as transitions are.
    Sequence,
}

/// A way to order pieces. Deterministic: the same problem gives the same order.
pub trait Algorithm: HasName {
    /// What it has to know.
    fn needs(&self) -> Needs {
        Needs::FirstExecution
    }

    /// Orders the pieces.
    fn order(&self, problem: &Problem<'_>) -> Order;
}
