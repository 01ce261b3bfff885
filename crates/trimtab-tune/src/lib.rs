//! Tuning compiler flags: which flags make a program fast, and which of them matter.
//!
//! [`space`] says what can be chosen, [`search`] decides what to try, [`ablation`] finds the smallest
//! set that keeps the gain, [`front`] what no other beats in speed and size: values in, values out.
//! [`run`] is the engine: it reads what a compiler offers, builds, checks and counts.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod ablation;
pub mod fitness;
pub mod front;
pub mod report;
pub mod run;
pub mod search;
pub mod space;

pub use report::{TuneBench, TuneProgram};
