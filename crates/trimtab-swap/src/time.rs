//! How long processor cores wait for the code of a kernel: models, and what of a stream they execute.

mod cores;
mod kernel_time;

pub use cores::{CORES, Core, Waits};
pub use kernel_time::{KernelTime, kernel_time};
