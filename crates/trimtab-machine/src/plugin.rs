//! Our plugins for QEMU: their sources, and how they are built on the machine that uses them.

use std::path::{Path, PathBuf};

use trimtab_lab::cache::Key;
use trimtab_lab::compile::{CompileError, compile};
use trimtab_lab::tools::FoundTool;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};

/// One of our plugins.
#[derive(Debug, Clone, Copy)]
struct PluginSource {
    /// What it is, in messages.
    what: &'static str,
    /// What it is called where it was built.
    file: &'static str,
    /// Names of its files and their text.
    files: &'static [(&'static str, &'static str)],
}

const API: (&str, &str) = ("qemu_plugin_api.h", include_str!("../../../qemu/qemu_plugin_api.h"));
const ARGUMENTS: (&str, &str) = ("arguments.h", include_str!("../../../qemu/arguments.h"));

/// Writes down which blocks of code run.
const TRACE: PluginSource = PluginSource {
    what: "tracing plugin",
    file: "trimtab_trace.so",
    files: &[
        ("trimtab_trace.c", include_str!("../../../qemu/trimtab_trace.c")),
        ("blocks.h", include_str!("../../../qemu/blocks.h")),
        ("mappings.h", include_str!("../../../qemu/mappings.h")),
        API,
        ARGUMENTS,
    ],
};

/// Writes down which locks a kernel takes.
const LOCKS: PluginSource = PluginSource {
    what: "plugin that watches locks",
    file: "trimtab_locks.so",
    files: &[("trimtab_locks.c", include_str!("../../../qemu/trimtab_locks.c")), API, ARGUMENTS],
};

/// Puts what is executed through a model of a core.
const CORE: PluginSource = PluginSource {
    what: "plugin with a model of a core",
    file: "trimtab_core.so",
    files: &[("trimtab_core.c", include_str!("../../../qemu/trimtab_core.c")), API, ARGUMENTS],
};

impl PluginSource {
    fn build(&self, cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
        let library = folder.join(self.file);
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
        compile(&format!("building the {}", self.what), cc, self.files, &flags, &library)?;
        Ok(library)
    }
}

/// Builds the plugin that traces with the compiler `cc` (a path or name) as `trimtab_trace.so` in `folder`, and
/// returns its path.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    TRACE.build(cc, folder)
}

/// A plugin that a work directory keeps.
#[derive(Debug)]
pub struct KeptPlugin {
    /// The library.
    pub path: PathBuf,
    /// All that it depends on.
    pub key: Key,
    /// Whether an earlier run had built it.
    pub cached: bool,
}

/// The plugin that traces, which `work` keeps; built with `gcc` where it does not have it yet.
///
/// # Errors
/// As [`build`], and those of the work directory.
pub fn kept(work: &WorkDir, gcc: &FoundTool) -> anyhow::Result<KeptPlugin> {
    kept_of(work, gcc, TRACE)
}

/// The plugin that watches locks, which `work` keeps.
///
/// # Errors
/// As [`kept`].
pub fn kept_locks(work: &WorkDir, gcc: &FoundTool) -> anyhow::Result<KeptPlugin> {
    kept_of(work, gcc, LOCKS)
}

/// The plugin that has a model of a core, which `work` keeps.
///
/// # Errors
/// As [`kept`].
pub fn kept_core(work: &WorkDir, gcc: &FoundTool) -> anyhow::Result<KeptPlugin> {
    kept_of(work, gcc, CORE)
}

fn kept_of(work: &WorkDir, gcc: &FoundTool, source: PluginSource) -> anyhow::Result<KeptPlugin> {
    let found = work.get(&Plugin { gcc, source })?;
    Ok(KeptPlugin { path: found.folder.join(source.file), key: found.key, cached: found.cached })
}

/// A plugin, as this compiler makes it.
struct Plugin<'a> {
    gcc: &'a FoundTool,
    source: PluginSource,
}

impl KeptStep for Plugin<'_> {
    const KIND: &'static str = "plugin";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let key = key.field("gcc", self.gcc.version_text());
        let files = self.source.files.iter();
        Ok(files.fold(key, |key, (name, text)| key.bytes(name, text.as_bytes())))
    }

    fn make(&self, at: &Path) -> anyhow::Result<()> {
        self.source.build(&self.gcc.path, at)?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn they_build_without_warnings_and_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        for source in [TRACE, LOCKS, CORE] {
            let build = |at: &Path| source.build(Path::new("cc"), at).unwrap();
            let first = std::fs::read(build(folder.path())).unwrap();
            let second = build(&folder.path().join("deeper"));
            assert_eq!(first, std::fs::read(second).unwrap());
        }
    }

    #[test]
    fn a_missing_compiler_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = build(Path::new("cc-of-nowhere"), folder.path()).unwrap_err().to_string();
        assert!(error.contains("`cc-of-nowhere`, which was not found"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
