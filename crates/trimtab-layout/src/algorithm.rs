use crate::{FirstExecution, Order, Packed, Problem};

/// A way to order pieces. Deterministic: the same problem gives the same order.
pub trait Algorithm {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does and where it comes from, in one line.
    fn description(&self) -> &'static str;

    /// Orders the pieces.
    fn order(&self, problem: &Problem<'_>) -> Order;
}

/// All algorithms, the default first.
pub fn algorithms() -> Vec<Box<dyn Algorithm>> {
    vec![Box::new(Packed::default()), Box::new(FirstExecution)]
}

/// The algorithm of this name.
pub fn algorithm_named(name: &str) -> Option<Box<dyn Algorithm>> {
    algorithms().into_iter().find(|algorithm| algorithm.name() == name)
}
