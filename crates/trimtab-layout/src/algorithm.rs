//! The algorithms that order pieces, and the registry of them.

mod balanced;
mod c3;
mod cdsort;
mod fault_curve;
mod first_execution;
mod in_place;
mod nearness;
mod packed;
mod pettis_hansen;
mod shuffled;
mod temporal;

pub use balanced::BalancedPartitioning;
pub use c3::CallChain;
pub use cdsort::CacheDirected;
pub use fault_curve::FaultCurve;
pub use first_execution::FirstExecution;
pub use in_place::InPlace;
pub use nearness::{CriticalWorkingSet, Nearness};
pub use packed::Packed;
pub use pettis_hansen::PettisHansen;
pub use shuffled::Shuffled;
pub use temporal::TemporalOrdering;

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
pub trait Algorithm {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does and where it comes from, in one line.
    fn description(&self) -> &'static str;

    /// What it has to know.
    fn needs(&self) -> Needs {
        Needs::FirstExecution
    }

    /// Orders the pieces.
    fn order(&self, problem: &Problem<'_>) -> Order;
}

/// All algorithms, the default first.
pub fn algorithms() -> Vec<Box<dyn Algorithm>> {
    vec![
        Box::new(Packed::default()),
        Box::new(FirstExecution),
        Box::new(FaultCurve::default()),
        Box::new(BalancedPartitioning::default()),
        Box::new(PettisHansen),
        Box::new(CallChain::default()),
        Box::new(CacheDirected::default()),
        Box::new(Nearness),
        Box::new(CriticalWorkingSet::default()),
        Box::new(TemporalOrdering::default()),
    ]
}

/// The algorithm of this name.
pub fn algorithm_named(name: &str) -> Option<Box<dyn Algorithm>> {
    algorithms().into_iter().find(|algorithm| algorithm.name() == name)
}
