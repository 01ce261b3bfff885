//! How long processor cores wait for the code of a kernel, and what of a stream they execute.

mod kernel_time;
mod waits;

pub use kernel_time::{KernelTime, kernel_time};
pub use waits::Waits;
