//! Fitting: build, trace, lay out, relink, check, run again, compare. [`kernel`] does it for a kernel
//! and its boot, [`program`] for a user program and its start.

pub mod kernel;
pub mod program;
mod shuffled;

pub use kernel::KernelRequest;
pub use program::ProgramRequest;
