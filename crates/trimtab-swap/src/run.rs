//! The engine of cold code swapping: reads kernels and what they ran, makes placements of them, and
//! has a kernel built and run with its cold code swapped out. All else of this crate reads and runs
//! nothing.

mod experiment;
mod inputs;
mod kernel;
mod packing;
mod request;
pub mod sweep;

pub use experiment::run;
pub use inputs::{Files, Inputs, block_map, runs, swapping_runs};
pub use kernel::read_kernel;
pub use packing::packing;
pub use request::{Backing, Policy, Request};
