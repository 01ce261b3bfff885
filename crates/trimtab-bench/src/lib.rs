//! Measuring what instrumentation costs: programs, ways to instrument them, and the comparison.

mod build;
mod compare;
mod dyninst;
mod inline;
mod inputs;
mod programs;
mod request;
mod suites;
mod summary;
mod variants;

pub use programs::{Program, programs};
pub use request::{Request, bench};
