//! Fitting: build, trace, lay out, relink, check, run again, compare. [`kernel`] does it for a kernel
//! and its boot, [`program`] for a user program and its start; [`compare()`](compare::compare) only
//! computes what orders would cost.

pub mod compare;
pub mod kernel;
pub mod program;
mod shuffled;

pub use compare::CompareRequest;
pub use kernel::KernelRequest;
pub use program::ProgramRequest;
