//! Measuring what instrumentation costs: programs, ways to instrument them, and the comparison.

mod build;
mod compare;
mod dyninst;
mod inline;
pub mod report;
mod request;
mod suites;
mod summary;
mod variants;

pub use request::{Request, bench};
pub use trimtab_lab::workload::programs::{Program, programs};
