//! The engine: reads files of traces, and boots guests whose devices lend their memory.

mod disk;
mod experiment;
pub mod guest;
mod load;
mod plan;
mod prediction;
mod programs;
mod sweep;

pub use disk::DiskProfile;
pub use experiment::{RunRequest, run};
pub use load::{LOADS, Load};
pub use plan::{MOST_MIB, PlanRequest, plan};
pub use sweep::{SweepRequest, sweep};
