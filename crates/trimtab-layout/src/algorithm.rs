//! The algorithms that order pieces, and the registry of them.

mod balanced;
mod c3;
mod cdsort;
mod fault_curve;
mod first_execution;
mod in_place;
mod interface;
mod nearness;
mod packed;
mod pettis_hansen;
mod shuffled;
mod temporal;

pub use balanced::BalancedPartitioning;
pub use c3::CallChain;
pub use cdsort::CacheDirectedSort;
pub use fault_curve::FaultCurve;
pub use first_execution::FirstExecution;
pub use in_place::InPlace;
pub use interface::{Algorithm, Needs};
pub use nearness::{CriticalWorkingSet, Nearness};
pub use packed::PackedOrder;
pub use pettis_hansen::PettisHansen;
pub use shuffled::Shuffle;
pub use temporal::TemporalOrdering;

/// The algorithm for kernels whose map is known, where none is asked for.
pub const DEFAULT_OF_KERNELS: &str = PackedOrder::NAME;
/// The algorithm for all else, where none is asked for.
pub const DEFAULT_OF_PROGRAMS: &str = FaultCurve::NAME;

/// All algorithms that can be asked for by name: [`algorithms`], and the random order of `seed` to compare
/// them with.
pub fn algorithms_and_shuffled(seed: u64) -> Vec<Box<dyn Algorithm>> {
    let mut all = algorithms();
    all.push(Box::new(Shuffle { seed }));
    all
}

/// All algorithms, the default of kernels first.
pub fn algorithms() -> Vec<Box<dyn Algorithm>> {
    vec![
        Box::new(PackedOrder::default()),
        Box::new(FirstExecution),
        Box::new(FaultCurve::default()),
        Box::new(BalancedPartitioning::default()),
        Box::new(PettisHansen),
        Box::new(CallChain::default()),
        Box::new(CacheDirectedSort::default()),
        Box::new(Nearness),
        Box::new(CriticalWorkingSet::default()),
        Box::new(TemporalOrdering::default()),
    ]
}
