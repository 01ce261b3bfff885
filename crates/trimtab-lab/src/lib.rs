//! The ground of every experiment: processes, tools, work directories and the store. Knows neither
//! kernels nor capabilities.

pub mod cache;
pub mod compile;
pub mod debian;
pub mod interrupt;
pub mod process;
pub mod script;
pub mod store;
pub mod tools;
pub mod workdir;
