//! Linux machines: kernels that are built, guests that run in them, and boots under QEMU. Knows no
//! capability by name.

mod arch;
pub mod boot;
pub mod calls;
pub mod guest;
pub mod kernel;
pub mod plugin;
pub mod qemu;
pub mod testbed;
#[cfg(test)]
mod testing;

pub use arch::{Platform, isa_of_image};
pub use trimtab_program::{Isa, PAGE_SIZE};

/// What errors of this crate know that the user can do: see [`Hint`](trimtab_lab::failure::Hint).
pub fn hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    trimtab_lab::failure::hint_of::<kernel::KernelError>(error)
        .or_else(|| trimtab_lab::failure::hint_of::<qemu::parallel::ParallelQemuError>(error))
}
