//! Kernels: a source package is unpacked, our patch applied to the copy, and the copy configured,
//! built and linked, out of tree.
//!
//! - [`Source`] finds the package and its version, and unpacks it.
//! - [`Configuration`] is what to build of it, [`Toolchain`] what builds it.
//! - [`Build`] is a configured build directory. [`Build::link`] gives a [`Linked`] kernel for an
//!   order of functions: the first one compiles everything, each further one only links.
//!   [`Build::split`] is the same build with functions split by blocks, as [`BlockList`]s say.

mod blocks;
mod build;
mod configuration;
mod error;
mod patch;
mod source;
mod toolchain;

pub use blocks::{BlockList, Splits, write_block_lists};
pub use build::{Build, Cold, Linked};
pub use configuration::Configuration;
pub use error::KernelError;
pub use patch::{PATCHES, Patch, SWAP, SwapPatch};
pub use source::{Release, Source, Unpacked};
pub use toolchain::Toolchain;
