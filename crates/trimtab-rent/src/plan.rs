//! What renting would bring, from a trace of an unpatched kernel's page cache.
//!
//! Bytes in, a [`Plan`] out: [`Planner`] takes the text of a trace piece by piece and forgets each line. [`event`]
//! reads lines, [`replay`] follows the page cache and has a [`stack`] of copies for each policy, which stands for pools
//! of all sizes; [`curve`] says what follows.
//!
//! Renting changes what a miss costs, and not what normal memory evicts: so the trace of a kernel without rental memory
//! says what one with it would have stored and found.

mod block;
pub mod curve;
mod doorkeeper;
mod error;
pub mod event;
mod page;
mod planner;
pub mod replay;
pub mod stack;
mod warning;

pub use curve::{Activation, Plan, Pool, Recommendation};
pub use error::PlanError;
pub use planner::{Planner, Settings};
pub use replay::{Counts, Policy, Recorded};
