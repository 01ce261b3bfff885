//! The engine: reads files of traces, and boots guests whose devices lend their memory.

mod basis;
mod disk;
mod experiment;
pub mod filesystem;
pub mod guest;
mod guests;
mod kernel;
mod load;
mod mutants;
mod oracle;
mod plan;
mod prediction;
mod programs;
mod sweep;
mod verify;

pub use basis::Basis;
pub use disk::DiskProfile;
pub use experiment::{RunRequest, run};
pub use load::Load;
pub use mutants::{MUTANTS, Mutant, Setting};
pub use oracle::Oracle;
pub use plan::{MOST_MIB, PlanRequest, plan};
pub use sweep::{SweepRequest, sweep};
pub use verify::{Checks, VerifyRequest, verify};
