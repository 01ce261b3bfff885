//! Our tracing plugin for QEMU: its source, and how it is built on the machine that uses it.

use std::path::{Path, PathBuf};
use trimtab_lab::compile::{CompileError, compile};

const SOURCES: [(&str, &str); 4] = [
    ("trimtab_trace.c", include_str!("../../../qemu/trimtab_trace.c")),
    ("blocks.h", include_str!("../../../qemu/blocks.h")),
    ("mappings.h", include_str!("../../../qemu/mappings.h")),
    ("qemu_plugin_api.h", include_str!("../../../qemu/qemu_plugin_api.h")),
];

/// Builds the plugin with the compiler `cc` (a path or name) as `trimtab_trace.so` in `folder`, and
/// returns its path.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    let library = folder.join("trimtab_trace.so");
    let flags = [
        "-std=c11",
        "-D_POSIX_C_SOURCE=200809L",
        "-shared",
        "-fPIC",
        "-O2",
        "-pthread",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wl,--build-id=none",
    ];
    compile("building the tracing plugin", cc, &SOURCES, &flags, &library)?;
    Ok(library)
}

/// Its sources (file name, text): what a cached build of it depends on.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    &SOURCES
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_builds_without_warnings_and_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = std::fs::read(build(Path::new("cc"), folder.path()).unwrap()).unwrap();
        let second = build(Path::new("cc"), &folder.path().join("deeper")).unwrap();
        assert_eq!(first, std::fs::read(second).unwrap());
    }

    #[test]
    fn a_missing_compiler_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = build(Path::new("cc-of-nowhere"), folder.path()).unwrap_err().to_string();
        assert!(error.contains("`cc-of-nowhere`, which was not found"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
