//! Compiles the run time, and hooks of the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimtab_lab::bytes::Bytes;
use trimtab_lab::compile::{CompileError, compile};
use trimtab_lab::process::Job;

use crate::runtime::{self, HEADER, HEADER_NAME, HOOK_FLAGS, HOOKS_OBJECT, OBJECT};
use crate::target::{TARGETS, Target};

/// Compiles the run time with the compiler `cc` (a path or name) as [`OBJECT`] in `folder`, and
/// returns its path. It is for the machine that `cc` compiles for.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build_runtime(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    let object = folder.join(OBJECT);
    let triple = Job::new("asking the compiler for its machine", cc)
        .tool("gcc")
        .arg("-dumpmachine")
        .limit(Duration::from_secs(30))
        .run_captured()?;
    // For another machine the sources say what they are for.
    let target = Target::of_triple(&triple).unwrap_or(&TARGETS[0]);
    let flags = runtime::flags(target);
    compile("building the probes' run time", cc, &runtime::sources(), &flags, &object)?;
    Ok(object)
}

/// Hooks of the user's as an object: `file` is one, or a source that `cc` compiles so that hooks
/// can be put into probes. Sources find `trimtab_probe.h` as if it were a header of the system.
///
/// # Errors
/// That it cannot be read, or the compiler's error.
pub fn compile_hooks(cc: &Path, file: &Path) -> Result<Vec<u8>, CompileError> {
    let read = |path: &Path| {
        Bytes::open(path).map_err(|source| CompileError::Read { path: path.to_owned(), source })
    };
    let data = read(file)?;
    if data.starts_with(b"\x7fELF") {
        return Ok(data.to_vec());
    }
    let cannot = |path: &Path, source| CompileError::Write { path: path.to_owned(), source };
    let folder = tempfile::tempdir().map_err(|source| cannot(Path::new("a folder"), source))?;
    let header = folder.path().join(HEADER_NAME);
    let object = folder.path().join(HOOKS_OBJECT);
    fs::write(&header, HEADER).map_err(|source| cannot(&header, source))?;
    Job::new("compiling the hooks", cc)
        .tool("gcc")
        .args(HOOK_FLAGS)
        .arg("-I")
        .arg(folder.path())
        .arg("-c")
        .arg(file)
        .arg("-o")
        .arg(&object)
        .limit(Duration::from_secs(120))
        .run()?;
    Ok(read(&object)?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_time_builds_without_warnings_and_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = fs::read(build_runtime(Path::new("cc"), folder.path()).unwrap()).unwrap();
        let second = build_runtime(Path::new("cc"), &folder.path().join("deeper")).unwrap();
        assert_eq!(first, fs::read(second).unwrap());
    }
}
