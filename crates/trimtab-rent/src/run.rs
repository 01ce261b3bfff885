//! The engine: reads files of traces, and boots guests whose devices lend their memory.

mod disk;
mod experiment;
pub mod guest;
mod plan;

pub use disk::DiskProfile;
pub use experiment::{Load, RunRequest, run};
pub use plan::{MOST_MIB, PlanRequest, plan};
