//! The only place that runs things.

pub mod cache;
pub mod store;
pub mod tools;
pub mod workdir;
