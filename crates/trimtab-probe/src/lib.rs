//! Instruments programs: rewrites relocatable objects so that functions call a hook when they are
//! entered and left, and reads what the programs then recorded.
//!
//! Bytes in, bytes out: nothing but [`run`] reads files or starts processes. [`instrument`] takes an object
//! as `cc -c` wrote it; the run time in `probe/` does the rest.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod abi;
mod arch;
mod archive;
mod cfi;
mod elf;
mod error;
mod function;
mod hook;
mod instrument;
mod plan;
pub mod profile;
mod prototypes;
mod reason;
pub mod recording;
mod references;
mod relocation_edits;
mod replay;
mod rewrite;
#[cfg(feature = "run")]
pub mod run;
pub mod runtime;
mod select;
mod stub;
mod target;
mod unwind;
mod user;

pub use archive::{
    MAGIC as ARCHIVE_MAGIC, Member, THIN_MAGIC, instrument_archive, instrument_members,
    thin_members,
};
pub use error::ProbeError;
pub use hook::Hook;
pub use instrument::instrument;
pub use profile::{Profile, Row};
pub use reason::Reason;
pub use recording::Recording;
pub use replay::{Call, replay};
pub use rewrite::{Options, Outcome, OwnFunctions};
pub use select::Selection;
pub use target::{TARGETS, Target};
pub use user::{Hooks, WhyCalled};
