//! What renting would bring, from a trace of an unpatched kernel's page cache.
//!
//! Bytes in, a [`Plan`] out: [`Planner`] takes the text of a trace piece by piece and forgets each line. [`event`]
//! reads lines, [`replay`] follows the page cache, and for each pool a [`victim`] cache beside it; [`curve`] says what
//! follows.
//!
//! Where reads of pages in memory are recorded, normal memory is followed as it would be with the pool: what is read in
//! the pool makes no other page leave. Otherwise normal memory evicts what it did in the trace.

mod block;
pub mod curve;
mod doorkeeper;
mod error;
pub mod event;
mod page;
mod planner;
mod purpose;
pub mod replay;
pub mod stack;
pub mod victim;
mod warning;
mod window;

pub use curve::{Activation, Plan, Pool, Recommendation};
pub use error::PlanError;
pub use planner::{Planner, Settings};
pub use replay::{Counts, Policy, Recorded};
