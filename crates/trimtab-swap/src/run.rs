//! The engine of cold code swapping: reads kernels and what they ran, makes placements of them, and
//! has a kernel built and run with its cold code swapped out. All else of this crate reads and runs
//! nothing.

mod divided;
mod experiment;
mod inputs;
mod kernel;
mod request;
pub mod sweep;

pub use divided::{Divided, Lists, packing};
pub use experiment::run;
pub use inputs::{Files, Inputs, block_map, counted, runs};
pub use kernel::{Kernel, Room};
pub use request::{Backing, Policy, Request};
