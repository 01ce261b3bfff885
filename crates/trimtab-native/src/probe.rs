//! The run time of instrumented programs: its sources, how it is compiled on the machine that uses
//! it, and what stands in front of a build's linkers.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use trimtab_lab::compile::{CompileError, compile};
use trimtab_lab::interpose::{Interposer, Interposition, Tool};
use trimtab_lab::process::{Invocation, Job};
use trimtab_lab::shell::quoted;

const SOURCES: [(&str, &str); 15] = [
    ("runtime.c", include_str!("../../../probe/runtime.c")),
    ("recording.h", include_str!("../../../probe/recording.h")),
    ("overhead.h", include_str!("../../../probe/overhead.h")),
    ("events.h", include_str!("../../../probe/events.h")),
    ("threads.h", include_str!("../../../probe/threads.h")),
    ("calls.h", include_str!("../../../probe/calls.h")),
    ("hooks.h", include_str!("../../../probe/hooks.h")),
    ("entry.S", include_str!("../../../probe/entry.S")),
    ("entry_x86_64.S", include_str!("../../../probe/entry_x86_64.S")),
    ("entry_aarch64.S", include_str!("../../../probe/entry_aarch64.S")),
    ("internal.h", include_str!("../../../probe/internal.h")),
    ("machine.h", include_str!("../../../probe/machine.h")),
    ("x86_64.h", include_str!("../../../probe/x86_64.h")),
    ("aarch64.h", include_str!("../../../probe/aarch64.h")),
    ("trimtab_probe.h", HEADER),
];

/// The object with hooks of the user's that instrumented programs are linked with, too.
pub const HOOKS: &str = "trimtab-hooks.o";

/// Hooks of the user's as an object: `file` is one, or a source that `cc` compiles so that hooks
/// can be put into probes: quick, and without vector registers where these are not asked for.
/// Sources find `trimtab_probe.h` as if it were a header of the system.
///
/// # Errors
/// That it cannot be read, or the compiler's error.
pub fn hooks(cc: &Path, file: &Path) -> Result<Vec<u8>, CompileError> {
    let read = |path: &Path| {
        fs::read(path).map_err(|source| CompileError::Read { path: path.to_owned(), source })
    };
    let data = read(file)?;
    if data.starts_with(b"\x7fELF") {
        return Ok(data);
    }
    let cannot = |path: &Path, source| CompileError::Write { path: path.to_owned(), source };
    let folder = tempfile::tempdir().map_err(|source| cannot(Path::new("a folder"), source))?;
    let (header, object) = (folder.path().join("trimtab_probe.h"), folder.path().join(HOOKS));
    fs::write(&header, HEADER).map_err(|source| cannot(&header, source))?;
    Job::new("compiling the hooks", cc)
        .package("gcc libc6-dev")
        .args(["-O2", "-g", "-fno-tree-vectorize", "-fno-stack-protector", "-fno-lto"])
        .arg("-I")
        .arg(folder.path())
        .arg("-c")
        .arg(file)
        .arg("-o")
        .arg(&object)
        .limit(Duration::from_secs(120))
        .run()?;
    read(&object)
}

/// The header for hooks of the user's.
pub const HEADER: &str = include_str!("../../../probe/trimtab_probe.h");

/// The object that instrumented programs are linked with.
pub const OBJECT: &str = "trimtab-probe.o";

/// Compiles the run time with the compiler `cc` (a path or name) as [`OBJECT`] in `folder`, and
/// returns its path. It is for the machine that `cc` compiles for.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    let object = folder.join(OBJECT);
    let machine = Job::new("asking the compiler for its machine", cc)
        .package("gcc libc6-dev")
        .arg("-dumpmachine")
        .limit(Duration::from_secs(30))
        .run_captured()?;
    let mut flags = vec![
        "-std=gnu11",
        "-O2",
        "-fPIC",
        // Code that runs at each probe must leave the vector registers alone.
        "-mgeneral-regs-only",
        "-fno-stack-protector",
        "-fno-lto",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-r",
        "-nostdlib",
        "entry.S",
    ];
    // The marks of control-flow enforcement are in all objects of a program, or it does without.
    if machine.starts_with("aarch64") || machine.starts_with("arm64") {
        // Not what libgcc has in place of atomic instructions: it is not linked here.
        flags.extend(["-mbranch-protection=standard", "-mno-outline-atomics"]);
    } else {
        flags.push("-fcf-protection");
    }
    compile("building the probes' run time", cc, &SOURCES, &flags, &object)?;
    Ok(object)
}

/// Its sources (file name, text): what a cached build of it depends on.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    &SOURCES
}

/// Links in the place of the linkers that a build starts.
struct Links<'a> {
    trimtab: &'a Path,
}

impl Interposition for Links<'_> {
    fn linker(&self, real: &str) -> String {
        format!("{} probe link -- {real}", quoted(self.trimtab))
    }

    fn compiler(&self, compiler: &Tool) -> String {
        quoted(&compiler.path)
    }
}

/// Fills `folder` with programs that stand in for the compilers and linkers found in `path`, a list
/// as `PATH` is: linkers are `trimtab probe link -- REAL ARGUMENTS...`.
///
/// # Errors
/// That the folder cannot be written.
pub fn stand_in(folder: &Path, trimtab: &Path, path: &OsStr) -> io::Result<Interposer> {
    Interposer::make(folder, path, &Links { trimtab })
}

/// Runs a command of the user's: on the same terminal, with the same input, and no time limit.
/// Gives its exit code, 128 and the signal where one killed it.
///
/// # Errors
/// That it cannot be started.
pub fn run(command: &[OsString], environment: &[(&str, OsString)]) -> io::Result<i32> {
    let invocation = Invocation::of_words(command).ok_or(io::ErrorKind::InvalidInput)?;
    let variables = environment.iter().map(|(name, value)| (name, value));
    let status = invocation.envs(variables).run_in_foreground()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Becomes another program. Only returns where it cannot be started.
pub fn become_program(command: &[OsString]) -> io::Error {
    match Invocation::of_words(command) {
        Some(invocation) => invocation.exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_run_time_builds_without_warnings_and_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = fs::read(build(Path::new("cc"), folder.path()).unwrap()).unwrap();
        let second = build(Path::new("cc"), &folder.path().join("deeper")).unwrap();
        assert_eq!(first, fs::read(second).unwrap());
    }

    #[test]
    fn linkers_of_a_build_are_linked_in_the_place_of() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["gcc", "ld", "aarch64-linux-gnu-ld"] {
            fs::write(real.path().join(name), "").unwrap();
        }
        let tools = folder.path().join("tools");
        let trimtab = Path::new("/opt/it's/trimtab");
        stand_in(&tools, trimtab, real.path().as_os_str()).unwrap();
        let ld = real.path().join("ld");
        let text = fs::read_to_string(tools.join("ld")).unwrap();
        let expected = format!("exec \"/opt/it's/trimtab\" probe link -- {} ", ld.display());
        assert!(text.contains(&expected), "{text}");
        let text = fs::read_to_string(tools.join("gcc")).unwrap();
        let gcc = real.path().join("gcc");
        assert!(text.contains(&format!("exec {} ${{rust", gcc.display())), "{text}");
    }
}
