//! Measuring what instrumentation costs: programs, ways to instrument them, and the comparison.

mod build;
mod compare;
mod dyninst;
mod inline;
mod programs;
mod request;
mod suites;
mod summary;
mod variants;

pub use programs::{PROGRAMS, Program};
pub use request::{Request, bench};
