//! Measuring what instrumentation costs: programs, ways to instrument them, and the comparison.

mod build;
mod compare;
mod dyninst;
mod inline;
mod programs;
mod suites;
mod summary;
mod variants;

pub use compare::{Plan, measure};
pub use dyninst::{Dyninst, Rewriter};
pub use programs::{PROGRAMS, Program};
pub use suites::{SUITES, Suite};
pub use variants::Compilers;
