//! The engine: builds programs and kernels with flags, checks and counts them, and keeps what came of it.
//!
//! [`tune`] and [`tune_kernel`] do the whole job, [`compare`] holds searches against each other; [`Compiler`]
//! says what can be tuned.

mod all_objects;
mod arms;
mod board;
mod choices;
mod comparison;
mod compiler;
mod configurations;
mod core_model;
mod counter;
mod decided;
mod elsewhere;
mod entries;
mod evaluator;
mod held_out;
mod hot;
mod job;
mod kernel;
mod kernel_boots;
mod kernel_job;
mod optuna;
mod outside;
mod probing;
mod profile;
mod profiles;
mod program;
mod program_job;
mod request;
mod results;
mod room;
mod source;
mod starter;
mod states;
mod stopwatch;
mod subject;
mod table;
mod timing;
mod trials;
mod tuning;

pub use board::{serve, work_on_board};
pub use comparison::{Comparison, compare};
pub use compiler::{Compiler, Family};
pub use elsewhere::work;
pub use job::BATCH;
pub use kernel_job::{Calls, Choices, JUDGES, KernelRequest, PAPER, tune_kernel};
pub use profile::profile;
pub use program_job::tune;
pub use request::{Hot, Limits, Plan, Programs, Request, Setup};
pub use starter::{Board, Starter};
pub use trials::{Imported, export_trials, import_trials, leave_out};
