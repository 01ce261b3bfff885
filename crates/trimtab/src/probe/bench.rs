//! Measuring what instrumentation costs: programs, ways to instrument them, and the comparison.

mod compare;
mod programs;
mod variants;

pub use compare::{Plan, measure};
pub use programs::{PROGRAMS, Program};
pub use variants::Compilers;
