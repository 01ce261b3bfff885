//! User programs: the user's own build with what a layout needs, and runs of what it built.
//!
//! - [`wrap`]: the folder of tools that stand in front of compilers and linkers while it builds;
//! - [`build`]: the build itself, and what it linked;
//! - [`place`]: a linked file at its place, in the versions that are run in turn;
//! - [`cold`]: files without a page in memory, and the pages that a run brought in;
//! - [`disk`]: a disk of our own, which reads ahead as Linux does by default;
//! - [`measure`]: one run, with its faults and times;
//! - [`trace`]: one run, with what it executed.

pub mod build;
pub mod cold;
mod command;
pub mod disk;
mod error;
pub mod measure;
pub mod place;
pub mod trace;
pub mod wrap;

pub use command::{Command, Limits};
pub use error::ProgramError;
