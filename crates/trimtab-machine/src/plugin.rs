//! Our tracing plugin for QEMU: its source, and how it is built on the machine that uses it.

use std::path::{Path, PathBuf};

use trimtab_lab::cache::Key;
use trimtab_lab::compile::{CompileError, compile};
use trimtab_lab::tools::FoundTool;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};

const SOURCES: [(&str, &str); 4] = [
    ("trimtab_trace.c", include_str!("../../../qemu/trimtab_trace.c")),
    ("blocks.h", include_str!("../../../qemu/blocks.h")),
    ("mappings.h", include_str!("../../../qemu/mappings.h")),
    ("qemu_plugin_api.h", include_str!("../../../qemu/qemu_plugin_api.h")),
];

/// What it is called where it was built.
const FILE: &str = "trimtab_trace.so";

/// Builds the plugin with the compiler `cc` (a path or name) as `trimtab_trace.so` in `folder`, and
/// returns its path.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    let library = folder.join(FILE);
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

/// The plugin that a work directory keeps.
#[derive(Debug)]
pub struct KeptPlugin {
    /// The library.
    pub path: PathBuf,
    /// All that it depends on.
    pub key: Key,
    /// Whether an earlier run had built it.
    pub cached: bool,
}

/// The plugin that `work` keeps; built with `gcc` where it does not have it yet.
///
/// # Errors
/// As [`build`], and those of the work directory.
pub fn kept(work: &WorkDir, gcc: &FoundTool) -> anyhow::Result<KeptPlugin> {
    let found = work.get(&Plugin { gcc })?;
    Ok(KeptPlugin { path: found.folder.join(FILE), key: found.key, cached: found.cached })
}

/// The plugin, as this compiler makes it.
struct Plugin<'a> {
    gcc: &'a FoundTool,
}

impl KeptStep for Plugin<'_> {
    const KIND: &'static str = "plugin";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let key = key.field("gcc", self.gcc.version_text());
        Ok(SOURCES.iter().fold(key, |key, (name, text)| key.bytes(name, text.as_bytes())))
    }

    fn make(&self, at: &Path) -> anyhow::Result<()> {
        build(&self.gcc.path, at)?;
        Ok(())
    }
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
