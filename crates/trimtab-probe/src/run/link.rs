//! Stands in for the linker while a build runs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::observe::say;
use trimtab_native::probe;

use super::build::{DONE, FOLDER, PLAN};
use super::files::{InstrumentedFile, instrument_file, own_functions, target_of};
use super::{InstrumentReport, Plan};
use crate::{ARCHIVE_MAGIC, THIN_MAGIC, runtime};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_lab::interpose::arguments;

/// Runs a linker, `linker`, with the objects and archives of the build instrumented that
/// [`build`](super::build) runs.
///
/// # Errors
/// That the linker cannot be started, or no build is running.
pub fn link(linker: &[OsString]) -> anyhow::Result<()> {
    // Long: one pass over the linker's arguments, and what must be there before and after it.
    let mut command = vec![linker[0].clone()];
    let arguments = arguments::expanded(&linker[1..]);
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else {
        return Err(
            Failure::usage("this is for trimtab probe build, which starts it itself").into()
        );
    };
    let makes_no_program = |argument: &OsString| {
        let known: [&[u8]; 8] = [
            b"-shared",
            b"--shared",
            b"-Bshareable",
            b"-r",
            b"--relocatable",
            b"-Ur",
            b"-v",
            b"--version",
        ];
        known.contains(&argument.as_bytes())
    };
    if arguments.iter().any(makes_no_program) {
        return Err(become_linker(linker));
    }
    let plan =
        fs::read_to_string(folder.join(PLAN)).context("cannot read the plan of the build")?;
    let plan: Plan = serde_json::from_str(&plan).context("cannot read the plan of the build")?;
    let mut told = plan.options()?;
    let scratch = tempfile::Builder::new()
        .prefix("link-")
        .tempdir_in(&folder)
        .context("cannot make a folder for instrumented objects")?;

    let own = target_of(&folder.join(runtime::OBJECT))?;
    let mut report = InstrumentReport::new(&told);
    let mut last = None;
    let inputs = inputs(&arguments);
    for (path, data) in inputs.iter().flatten() {
        told.own.merge(&own_functions(path, data));
    }
    for (argument, input) in arguments.into_iter().zip(inputs) {
        let Some((path, data)) = input else {
            command.push(argument);
            continue;
        };
        match instrument_file(&path, &data, &told) {
            Ok(InstrumentedFile { result, .. })
                if result.isa.is_some_and(|isa| Some(isa) != own) =>
            {
                say(&format!(
                    "trimtab: {} is linked as it is: it is for another machine than what --cc \
                     compiles for",
                    path.display()
                ));
                command.push(argument);
            }
            Ok(InstrumentedFile { before, result, .. }) => {
                let name = path.file_name().unwrap_or(OsStr::new("input"));
                // Linkers name archives in messages, and order files by name.
                let place = scratch.path().join(command.len().to_string());
                fs::create_dir_all(&place).context("cannot write an instrumented object")?;
                let place = place.join(name);
                fs::write(&place, &result.bytes).context("cannot write an instrumented object")?;
                report.add(before, &result);
                command.push(place.into_os_string());
                last = Some(command.len());
            }
            Err(error) => {
                say(&format!("trimtab: {} is linked as it is: {error:#}", path.display()));
                command.push(argument);
            }
        }
    }
    if let Some(last) = last.filter(|_| report.instrumented() > 0) {
        command.insert(last, folder.join(runtime::OBJECT).into_os_string());
        if plan.hooks().is_some() {
            command.insert(last, folder.join(runtime::HOOKS_OBJECT).into_os_string());
        }
    }
    let code = probe::run(&command, &[])
        .with_context(|| format!("cannot start the linker {}", command[0].display()))?;
    if code == 0 {
        let text = serde_json::to_string(&report).context("cannot write what was instrumented")?;
        let name = format!("{}.json", std::process::id());
        fs::write(folder.join(DONE).join(name), text)
            .context("cannot write what was instrumented")?;
        return Ok(());
    }
    drop(scratch);
    // What the linker said stands above; its exit code is what make waits for.
    std::process::exit(code)
}

fn become_linker(command: &[OsString]) -> anyhow::Error {
    let error = probe::become_program(command);
    anyhow::Error::from(error).context(format!("cannot start the linker {}", command[0].display()))
}

/// Whether the next argument belongs to this one.
fn takes_a_value(argument: &OsStr) -> bool {
    let options: [&[u8]; 22] = [
        b"-o",
        b"-T",
        b"-m",
        b"-z",
        b"-e",
        b"-u",
        b"-h",
        b"-soname",
        b"-rpath",
        b"-rpath-link",
        b"-dynamic-linker",
        b"--dynamic-linker",
        b"-plugin",
        b"-Map",
        b"--version-script",
        b"--dynamic-list",
        b"-R",
        b"--just-symbols",
        b"-b",
        b"--format",
        b"--retain-symbols-file",
        b"-c",
    ];
    options.contains(&argument.as_bytes())
}

/// What each argument names, if it is an object or archive of the build.
fn inputs(arguments: &[OsString]) -> Vec<Option<(PathBuf, Bytes)>> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut takes_value = false;
    let one = |argument: &OsString| {
        let is_value = std::mem::replace(&mut takes_value, takes_a_value(argument));
        if is_value { None } else { input(argument, &mut folders) }
    };
    arguments.iter().map(one).collect()
}

/// An object or archive of the build that an argument names, and what is in it. Those of the system
/// are not the program's.
fn input(argument: &OsStr, folders: &mut Vec<PathBuf>) -> Option<(PathBuf, Bytes)> {
    let bytes = argument.as_bytes();
    let path = if let Some(folder) = bytes.strip_prefix(b"-L") {
        folders.push(PathBuf::from(OsStr::from_bytes(folder)));
        return None;
    } else if let Some(name) = bytes.strip_prefix(b"-l") {
        library(name, folders)?
    } else if bytes.starts_with(b"-") {
        return None;
    } else {
        PathBuf::from(argument)
    };
    let whole = fs::canonicalize(&path).ok()?;
    let system = ["/usr/lib", "/usr/local/lib", "/lib", "/lib64", "/usr/libexec"];
    let is_system = system.iter().any(|folder| whole.starts_with(folder)) || is_cross(&whole);
    if is_system || is_rusts(&whole) {
        return None;
    }
    let data = Bytes::open(&whole).ok()?;
    let is_object = data.starts_with(b"\x7fELF") && data.get(16..18) == Some(&[1, 0]);
    let is_ours = [runtime::OBJECT, runtime::HOOKS_OBJECT]
        .map(OsStr::new)
        .map(Some)
        .contains(&whole.file_name());
    let kinds = [ARCHIVE_MAGIC, THIN_MAGIC, b"BC\xc0\xde"];
    let wanted = is_object || kinds.iter().any(|kind| data.starts_with(kind));
    (wanted && !is_ours).then_some((path, data))
}

/// What the system has for programs of another machine: `/usr/aarch64-linux-gnu/lib`.
fn is_cross(path: &Path) -> bool {
    let machine = path.strip_prefix("/usr").ok().and_then(|rest| rest.iter().next());
    machine.and_then(OsStr::to_str).is_some_and(|machine| machine.contains("-linux-"))
}

/// Rust's own library.
fn is_rusts(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str() == "rustlib")
}

/// Where `-lname` leads, if to an archive.
fn library(name: &[u8], folders: &[PathBuf]) -> Option<PathBuf> {
    let name = OsStr::from_bytes(name).to_str()?;
    for folder in folders {
        if folder.join(format!("lib{name}.so")).exists() {
            return None;
        }
        let archive = folder.join(format!("lib{name}.a"));
        if archive.exists() {
            return Some(archive);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_system_for_other_machines_are_known() {
        assert!(is_cross(Path::new("/usr/aarch64-linux-gnu/lib/libc.a")));
        assert!(!is_cross(Path::new("/usr/src/app-linux-x/main.o")));
        assert!(!is_cross(Path::new("/home/aarch64-linux-gnu/main.o")));
    }
}
