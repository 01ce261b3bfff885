//! Linux machines: kernels that are built, guests that run in them, and boots under QEMU. Knows no
//! capability by name.

mod arch;
pub mod boot;
pub mod guest;
pub mod kernel;
pub mod plugin;
pub mod qemu;
pub mod testbed;
#[cfg(test)]
mod testing;

pub use arch::{Platform, isa_of_image};
pub use trimtab_program::Isa;
