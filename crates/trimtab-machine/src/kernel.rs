//! Kernels: a source is unpacked, features are put into the copy, and the copy is configured, built and
//! linked, out of tree.
//!
//! - [`Source`] is a kernel's source as it was given; unpacked with some [`Feature`]s it is a [`Tree`].
//! - [`Configuration`] is what to build of it, [`Toolchain`] what builds it; [`BuildInputs`] are all three.
//! - [`Build`] is a configured build directory. [`Build::link`] gives a [`KernelImage`] for some
//!   [`GeneratedFiles`] files: the first one compiles everything, each further one only what they change.
//!   [`Build::compile`] gives a [`FlaggedKernel`], for which the compiler is given other flags.
//!   [`Build::modules`] builds modules for it that are not part of its source.

mod apart;
mod build;
mod configuration;
mod devices;
mod error;
mod flags;
mod inputs;
mod link;
mod modules;
mod packages;
mod source;
mod toolchain;
mod tree;

pub use build::Build;
pub use configuration::Configuration;
pub use devices::{DISK, NULL_BLOCK};
pub use error::KernelError;
pub use flags::FlaggedKernel;
pub use inputs::BuildInputs;
pub use link::KernelImage;
pub use packages::source_packages;
pub use source::Source;
pub use toolchain::Toolchain;
pub use tree::{Release, Tree};
pub use trimtab_link::feature::{Feature, GeneratedFiles};
