//! The ground of every experiment: processes, tools, work directories, the store, what observes
//! jobs, what executes them and how they fail. Knows neither kernels nor capabilities.

pub mod bytes;
pub mod cache;
pub mod compile;
pub mod debian;
pub mod failure;
pub mod interpose;
pub mod interrupt;
pub mod observe;
pub mod place;
pub mod process;
pub mod script;
pub mod shell;
pub mod store;
pub mod threads;
pub mod tools;
pub mod workdir;
pub mod workers;
pub mod workload;
