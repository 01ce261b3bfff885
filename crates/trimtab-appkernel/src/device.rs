//! The module on this machine: its device, and what it says of itself.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use trimtab_lab::process::Invocation;

/// Where the module takes threads.
const DEVICE: &str = "/dev/appkernel";
/// Where it says what happened.
const STATUS: &str = "/sys/kernel/debug/appkernel/status";

/// Lets this process run on the CPUs of the module, and becomes a program. Comes back only with what kept it
/// from that. With `local_calls`, these CPUs answer some of its system calls.
///
/// # Errors
/// A module that is not loaded, or a program that cannot be started.
pub fn run(program: &[std::ffi::OsString], local_calls: bool) -> Result<()> {
    let (name, arguments) = program.split_first().context("there is no program to run")?;
    attach(Path::new(DEVICE), local_calls)?;
    let error = Invocation::new(name).args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", name.display()))
}

fn attach(device: &Path, local_calls: bool) -> Result<()> {
    let how = if local_calls { "attach local" } else { "attach" };
    let opened = OpenOptions::new().write(true).open(device);
    opened
        .and_then(|mut file| file.write_all(how.as_bytes()))
        .map_err(|error| explain(device, &error))
}

fn explain(device: &Path, error: &io::Error) -> anyhow::Error {
    let what = device.display();
    match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "{what} is not there: the module is not loaded; insmod appkernel.ko, and see dmesg where it refuses"
        ),
        ErrorKind::PermissionDenied => anyhow!("{what} cannot be opened: only root may use it"),
        _ => anyhow!("{what} did not take this process: {error}"),
    }
}

/// What the module says of its CPUs, a line each.
///
/// # Errors
/// A module that is not loaded, or debugfs that is not mounted.
pub fn status() -> Result<String> {
    read_status(Path::new(STATUS))
}

fn read_status(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        anyhow!(
            "cannot read {}: {error}; load the module, and mount -t debugfs debugfs /sys/kernel/debug",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_module_that_is_not_loaded_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = attach(&folder.path().join("appkernel"), false).unwrap_err().to_string();
        assert!(error.contains("insmod appkernel.ko"), "{error}");
        let error = read_status(&folder.path().join("status")).unwrap_err().to_string();
        assert!(error.contains("mount -t debugfs"), "{error}");
    }

    #[test]
    fn the_process_is_given_to_the_device() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("appkernel");
        fs::write(&device, "").unwrap();
        attach(&device, false).unwrap();
        assert_eq!(fs::read_to_string(&device).unwrap(), "attach");
        attach(&device, true).unwrap();
        assert_eq!(fs::read_to_string(&device).unwrap(), "attach local");
    }

    #[test]
    fn nothing_to_run_is_an_error() {
        assert_eq!(run(&[], false).unwrap_err().to_string(), "there is no program to run");
    }
}
