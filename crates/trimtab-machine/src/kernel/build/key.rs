//! How a kernel's build is identified: what it depends on, so that it is made anew when that changes.
//!
//! Each step takes the key of the step before it into its own:
//!
//! | step | its part of the key |
//! | --- | --- |
//! | the source, unpacked | the archive, the folder or the commit, and the features put into it: `Unpack` in `source.rs` |
//! | the build directory, configured | [`of_build`], here: architecture, configuration, and the versions of the tools that `Toolchain::versions` in `toolchain.rs` names |
//! | a kernel, linked | the files that it is given: `LinkRecipe` in `link.rs` |
//! | a copy of the build directory, of which each kernel is given other files | nothing more: `Copy` in `apart.rs` |
//! | modules | the files of their folders: `Modules` in `modules.rs` |
//!
//! What is kept is found again only as long as names, order and values of a key's fields stay as they are. Where a step
//! is made in another way, its `VERSION` says so.

use trimtab_lab::cache::Key;

use super::super::{Configuration, Toolchain};
use crate::arch::Platform;

/// What a configured build directory depends on, added to `key`.
pub(super) fn of_build(
    key: Key,
    source: &Key,
    configuration: &Configuration,
    toolchain: &Toolchain,
) -> Key {
    let key = key
        .after(source)
        .field("arch", configuration.isa().kbuild())
        .field("whole configuration", configuration.is_whole())
        .bytes("configuration", configuration.text().as_bytes());
    let versions = toolchain.versions();
    versions.into_iter().fold(key, |key, (name, version)| key.field(&name, version))
}
