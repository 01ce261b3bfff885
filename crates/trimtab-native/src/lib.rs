//! Programs on this machine: built, traced, placed and measured.

pub mod measure;
pub mod native;
pub mod probe;
pub mod profdata;
pub mod program;
