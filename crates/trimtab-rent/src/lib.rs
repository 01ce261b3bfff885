//! Rental memory: memory that is reserved for an idle device holds copies of evicted page cache meanwhile.
//!
//! [`plan`] is a pure core: it replays a trace of a kernel's page cache and says what renting would bring. `run`
//! is the engine, which reads files and boots guests. The kernel's side is in `linux/rental`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod arm;
#[cfg(feature = "engine")]
pub mod feature;
pub mod plan;
pub mod report;
pub mod returning;
#[cfg(feature = "engine")]
pub mod run;

pub use report::plan::RentPlan;
pub use report::run::RentRun;
pub use report::sweep::RentSweep;
