//! The only place that runs things.

pub mod boot;
pub mod compile;
pub mod guest;
pub mod interrupt;
pub mod plugin;
pub mod process;
pub mod qemu;
#[cfg(test)]
mod testing;
