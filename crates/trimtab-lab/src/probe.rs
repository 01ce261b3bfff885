//! The run time of instrumented programs: its sources, how it is compiled on the machine that uses
//! it, and how a build is run with another linker in front.

use crate::compile::{CompileError, compile};
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

const SOURCES: [(&str, &str); 4] = [
    ("runtime.c", include_str!("../../../probe/runtime.c")),
    ("entry.S", include_str!("../../../probe/entry.S")),
    ("internal.h", include_str!("../../../probe/internal.h")),
    ("trimtab_probe.h", HEADER),
];

/// The header for hooks of the user's.
pub const HEADER: &str = include_str!("../../../probe/trimtab_probe.h");

/// The object that instrumented programs are linked with.
pub const OBJECT: &str = "trimtab-probe.o";

/// Compiles the run time with the compiler `cc` (a path or name) as [`OBJECT`] in `folder`, and
/// returns its path.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    let object = folder.join(OBJECT);
    let flags = [
        "-std=gnu11",
        "-O2",
        "-fPIC",
        // Code that runs at each probe must leave the vector registers alone.
        "-mgeneral-regs-only",
        // The marks of control-flow enforcement are in all objects of a program, or it does without.
        "-fcf-protection",
        "-fno-stack-protector",
        "-fno-lto",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-r",
        "-nostdlib",
        "entry.S",
    ];
    compile("building the probes' run time", cc, &SOURCES, &flags, &object)?;
    Ok(object)
}

/// Its sources (file name, text): what a cached build of it depends on.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    &SOURCES
}

/// Names by which compilers are started.
const COMPILERS: [&str; 6] = ["cc", "gcc", "clang", "c++", "g++", "clang++"];
/// Names by which compilers start linkers.
const LINKERS: [&str; 6] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "collect-ld"];

/// Fills `folder` with programs that stand in for the compilers and linkers found in `path`, a list
/// as `PATH` is: compilers are told to look for the linker here, and linkers are
/// `trimtab probe link -- REAL ARGUMENTS...`.
///
/// # Errors
/// That the folder cannot be written.
pub fn stand_in(folder: &Path, trimtab: &Path, path: &OsString) -> io::Result<()> {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let here = quoted(folder);
    let is_compiler = |name: &str| {
        let version = name
            .rsplit_once('-')
            .filter(|(_, last)| !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()));
        COMPILERS
            .contains(&version.map_or(name, |(name, _)| name).rsplit('-').next().unwrap_or(name))
    };
    for directory in std::env::split_paths(path) {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let to = folder.join(name);
            // The first one in the path counts.
            if to.exists() {
                continue;
            }
            let real = quoted(&entry.path());
            let text = if LINKERS.contains(&name) {
                format!("#!/bin/sh\nexec {} probe link -- {real} \"$@\"\n", quoted(trimtab))
            } else if is_compiler(name) {
                format!("#!/bin/sh\nexec {real} -B{here} \"$@\"\n")
            } else {
                continue;
            };
            write_script(&to, &text)?;
        }
    }
    Ok(())
}

fn write_script(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Runs a command of the user's: on the same terminal, with the same input, and no time limit.
/// Gives its exit code, 128 and the signal where one killed it.
///
/// # Errors
/// That it cannot be started.
pub fn run(command: &[OsString], environment: &[(&str, OsString)]) -> io::Result<i32> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .status()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Becomes another program. Only returns where it cannot be started.
pub fn become_program(command: &[OsString]) -> io::Error {
    match command.split_first() {
        Some((program, arguments)) => Command::new(program).args(arguments).exec(),
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
    fn compilers_and_linkers_get_a_stand_in_and_others_do_not() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["gcc", "x86_64-linux-gnu-g++-12", "ld", "ld.lld", "as", "gcc-ar", "objdump"] {
            fs::write(real.path().join(name), "").unwrap();
        }
        let path = real.path().as_os_str().to_owned();
        stand_in(folder.path(), Path::new("/opt/it's/trimtab"), &path).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["gcc", "ld", "ld.lld", "x86_64-linux-gnu-g++-12"]);
        let text = fs::read_to_string(folder.path().join("ld")).unwrap();
        assert!(text.contains("exec '/opt/it'\\''s/trimtab' probe link -- '"), "{text}");
    }
}
