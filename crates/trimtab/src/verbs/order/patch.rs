//! The kernel patch that lets a build take an order, carried in the command so that it is at hand
//! wherever the command is.

use clap::ValueEnum;

/// Kernel versions that have a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KernelVersion {
    /// Linux 6.12
    #[value(name = "6.12")]
    V6_12,
    /// Linux 6.1
    #[value(name = "6.1")]
    V6_1,
}

impl KernelVersion {
    /// The patch, for `patch -p1` or `git apply`.
    pub fn patch(self) -> &'static str {
        match self {
            Self::V6_12 => include_str!("../../../../../linux/layout/6.12.patch"),
            Self::V6_1 => include_str!("../../../../../linux/layout/6.1.patch"),
        }
    }
}
