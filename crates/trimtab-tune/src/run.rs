//! The engine: builds programs with flags, checks and counts them, and keeps what came of it.
//!
//! [`tune`] does the whole job, [`compare`] holds searches against each other; [`Compiler`] says what can
//! be tuned.

mod arms;
mod comparison;
mod compiler;
mod counter;
mod decided;
mod evaluator;
mod optuna;
mod probing;
mod profile;
mod profiles;
mod program;
mod request;
mod results;
mod room;
mod subject;
mod table;
mod timing;
mod tuning;

pub use comparison::{Comparison, compare};
pub use compiler::{Compiler, Family};
pub use profile::profile;
pub use program::tune;
pub use request::{Limits, Programs, Request, Setup};
