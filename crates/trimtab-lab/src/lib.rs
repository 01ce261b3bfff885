//! The only place that runs things.

mod arch;
pub mod boot;
pub mod cache;
pub mod compile;
pub mod debian;
pub mod guest;
pub mod interrupt;
pub mod kernel;
pub mod measure;
pub mod native;
pub mod plugin;
pub mod probe;
pub mod process;
pub mod profdata;
pub mod program;
pub mod qemu;
pub mod script;
pub mod store;
#[cfg(test)]
mod testing;
pub mod tools;
pub mod workdir;

pub use arch::Arch;
