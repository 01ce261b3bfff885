//! The only place that runs things.

pub mod boot;
pub mod cache;
pub mod compile;
pub mod guest;
pub mod interrupt;
pub mod kernel;
pub mod plugin;
pub mod process;
pub mod profdata;
pub mod qemu;
pub mod store;
#[cfg(test)]
mod testing;
pub mod tools;
pub mod workdir;
