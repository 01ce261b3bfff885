//! What `trimtab fit kernel` says where it is given something that it cannot work with: one message,
//! and what to do.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ended, PROGRAM, alone, fit, run, shared};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use trimtab_lab::script;
use trimtab_lab::tools::{self, Probe};

/// The one message among the lines about progress.
fn message(ended: &Ended) -> &str {
    let mut messages = ended.error.lines().filter(|line| {
        let said = line.strip_prefix("trimtab: ").unwrap_or_default();
        let progress = said.ends_with(" ...")
            || [" done in ", " kept from an earlier run, ", " failed after "]
                .iter()
                .any(|how| said.contains(how));
        !said.is_empty() && !progress
    });
    let message = messages.next().unwrap_or_else(|| panic!("no message: {}", ended.error));
    assert_eq!(messages.next(), None, "more than one message: {}", ended.error);
    message
}

fn fails(work: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let ended = run(&mut fit(work, arguments));
    assert_eq!(ended.output, "");
    (ended.code, message(&ended).to_owned())
}

#[test]
fn a_source_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let fails = |source: &str| {
        let (code, message) = fails(&work, &["--source", source]);
        assert_eq!(code, Some(1), "{message}");
        assert!(message.contains(source), "{message}");
        message
    };
    let message = fails(&path("none"));
    assert!(message.contains("is not there; install the package `linux-source-6.12`"), "{message}");

    fs::create_dir(path("empty")).unwrap();
    let message = fails(&path("empty"));
    assert!(message.contains("is not a kernel source: it has no readable Makefile"), "{message}");
    assert!(message.contains("expected a Makefile at its top that begins with"), "{message}");

    fs::create_dir(path("other")).unwrap();
    fs::write(path("other/Makefile"), "all:\n").unwrap();
    let message = fails(&path("other"));
    assert!(message.contains("its Makefile gives no version"), "{message}");

    fs::create_dir(path("old")).unwrap();
    fs::write(path("old/Makefile"), "VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 1\n").unwrap();
    let message = fails(&path("old"));
    assert!(
        message.contains("is release 5.4.1; trimtab has patches for 6.12 and 6.1"),
        "{message}"
    );

    fs::create_dir(path("changed")).unwrap();
    fs::write(path("changed/Makefile"), "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n").unwrap();
    let (code, message) = self::fails(&work, &["--source", &path("changed")]);
    assert_eq!(code, Some(1));
    assert!(
        message.contains("applying trimtab's patch to the kernel source failed: `patch` ended"),
        "{message}"
    );

    fs::write(path("prose.tar.xz"), "not a tarball").unwrap();
    let message = fails(&path("prose.tar.xz"));
    assert!(message.contains("is not a kernel source: it is not a tar archive"), "{message}");

    fs::write(path("broken.tar.xz"), b"\xfd7zXZ\0not a tarball").unwrap();
    let (code, message) = self::fails(&work, &["--source", &path("broken.tar.xz")]);
    assert_eq!(code, Some(1));
    assert!(message.contains("unpacking the kernel source failed: `tar` ended with"), "{message}");
    assert_eq!(fs::read_dir(work.join("steps")).unwrap().count(), 0, "nothing of it is kept");
}

#[test]
fn options_that_name_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let ended = run(Command::new(PROGRAM).args(["fit", "kernel", "--config", "/none/.config"]));
    assert_eq!(ended.code, Some(1));
    let said = message(&ended);
    assert!(said.starts_with("trimtab: cannot read the kernel configuration /none/.config: "));
    assert!(said.contains("expected `tiny`, `lab`, or the path of a file"), "{said}");

    let ended = run(&mut fit(&work, &["--arch", "vax"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.error.contains("[possible values: x86_64, arm64]"), "{}", ended.error);

    for option in ["--json", "--html"] {
        let (code, said) = fails(&work, &[option, "/none/fit"]);
        assert_eq!(code, Some(1));
        assert!(said.contains("cannot write /none/fit: there is no folder /none"), "{said}");
    }
    assert!(!work.exists(), "all of it is said before anything is done");

    // kbuild's own message would come after minutes.
    let (code, said) = fails(&folder.path().join("with a space"), &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("with a space: its build does not work where a path has a"), "{said}");
}

#[test]
fn blocks_that_nothing_splits_or_sees() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let ended = run(&mut fit(&work, &["--compiler", "gcc", "--granularity", "block"]));
    assert_eq!(ended.code, Some(1), "{}", ended.error);
    let expected = "trimtab: gcc cannot split functions: the kernel's configuration does not accept \
                    CONFIG_BLOCK_ORDER, which needs clang";
    assert_eq!(message(&ended), expected);
    let hint = "\n  hint: use --compiler clang, or --granularity function\n";
    assert!(ended.error.ends_with(hint), "{}", ended.error);

    let ended = run(&mut fit(&work, &["--tracer", "ftrace", "--granularity", "block"]));
    assert_eq!(ended.code, Some(2), "{}", ended.error);
    assert!(message(&ended).contains("ftrace sees which functions run"), "{}", ended.error);
    assert!(!work.exists(), "it is said before anything is done");
}

/// The names under which commands are looked for.
fn commands() -> BTreeSet<&'static str> {
    let candidates = tools::all().iter().filter_map(|tool| match tool.probe {
        Probe::Command { candidates, .. } => Some(candidates),
        _ => None,
    });
    candidates.flatten().copied().filter(|name| !name.starts_with('/')).collect()
}

/// Makes a folder to be the only one in `PATH`: all tools but those of these names.
fn path_without(folder: &Path, missing: &[&str]) -> PathBuf {
    let path = folder.join(format!("without-{}", missing.join("-")));
    fs::create_dir(&path).unwrap();
    // First the system's: what stands before them may be a script that needs more than itself.
    let mut everywhere = vec![PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
    everywhere.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    for name in commands().difference(&missing.iter().copied().collect()) {
        let there = everywhere.iter().map(|folder| folder.join(name));
        if let Some(tool) = there.into_iter().find(|tool| tool.is_file()) {
            symlink(tool, path.join(name)).unwrap();
        }
    }
    path
}

#[test]
fn a_tool_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    for tool in tools::all().iter().filter(|tool| tool.needed_by.contains(&"fit kernel")) {
        let Probe::Command { candidates, .. } = tool.probe else { continue };
        if candidates.iter().any(|name| name.starts_with('/')) {
            continue; // It is also looked for elsewhere.
        }
        let path = path_without(folder.path(), candidates);
        let ended = run(fit(&work, &[]).env("PATH", path));
        assert_eq!(ended.code, Some(1), "{}", ended.error);
        let expected =
            format!("trimtab: {} is missing: looked for {}", tool.name, candidates.join(", "));
        assert_eq!(message(&ended), expected);
        let install = tool.packages.join(" ");
        assert!(
            ended.error.ends_with(&format!(
                "\n  hint: as root, run: apt-get install --no-install-recommends {install}\n"
            )),
            "{}",
            ended.error
        );
    }
    assert!(!work.exists(), "all of it is said before anything is done");
}

#[test]
fn a_tool_of_another_architecture_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    // Neither is the emulator of PCs needed then, nor a busybox for them.
    let path = path_without(
        folder.path(),
        &["qemu-system-aarch64", "qemu-system-x86_64", "busybox", "aarch64-linux-gnu-gcc"],
    );
    let ended = run(fit(&work, &["--arch", "arm64"]).env("PATH", path));
    assert_eq!(ended.code, Some(1), "{}", ended.error);
    let expected = "trimtab: qemu-arm64 is missing: looked for qemu-system-aarch64";
    assert_eq!(message(&ended), expected);
    assert!(ended.error.ends_with(" --no-install-recommends qemu-system-arm\n"), "{}", ended.error);
    assert!(!work.exists(), "it is said before anything is done");
}

#[test]
fn a_tool_that_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_without(folder.path(), &["qemu-system-x86_64"]);
    let qemu = path.join("qemu-system-x86_64");
    script::write(&qemu, "#!/bin/sh\necho QEMU emulator version 5.2.0\n").unwrap();
    let ended = run(fit(&folder.path().join("work"), &[]).env("PATH", path));
    assert_eq!(ended.code, Some(1), "{}", ended.error);
    let qemu = qemu.display();
    assert_eq!(
        message(&ended),
        format!("trimtab: qemu is too old: {qemu} is version 5.2.0, expected 7.2 or newer")
    );
    assert!(ended.error.contains("\n  hint: as root, run: apt-get install"), "{}", ended.error);
}

#[test]
fn a_disk_that_is_too_small() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().to_str().unwrap();
    let mounted = |script: &str| {
        let script = format!("mount -t tmpfs -o size=1m tmpfs \"$0\" && {script}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &script, disk, PROGRAM]);
        run(&mut command)
    };
    if mounted("true").code != Some(0) {
        eprintln!("this machine lets nobody mount a disk: the test below this one has to do");
        return;
    }
    let ended = mounted("exec \"$1\" fit kernel --config tiny --work \"$0/work\"");
    assert_eq!(ended.code, Some(1), "{}", ended.error);
    let said = message(&ended);
    assert!(said.starts_with("trimtab: not enough space to unpack and build a kernel: "), "{said}");
    assert!(said.ends_with(" has 0.0 GiB free, expected at least 4.0 GiB"), "{said}");
    assert!(ended.error.contains("\n  hint: free some space, or give a directory elsewhere with"));
}

#[test]
fn a_disk_that_fills_up_on_the_way() {
    let _alone = alone();
    let work = shared();
    let ready = run(&mut fit(&work, &["--boots", "1", "--wall-boots", "0"]));
    assert_eq!(ready.code, Some(0), "{}", ready.error);
    let steps = || -> BTreeSet<PathBuf> {
        fs::read_dir(work.join("steps")).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let before = steps();
    // Random orders that no other test links.
    let mut command = fit(&work, &["--boots", "1", "--wall-boots", "0", "--seed", "4711"]);
    // The nearest to a full disk that needs no privileges: no file may grow beyond this.
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(|| {
            signal(Signal::SIGXFSZ, SigHandler::SigIgn)?;
            setrlimit(Resource::RLIMIT_FSIZE, 1 << 17, 1 << 17)?;
            Ok(())
        });
    }
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(1), "{}", ended.error);
    let said = message(&ended);
    assert!(
        said.starts_with("trimtab: cannot write ") && said.contains("File too large"),
        "{said}"
    );
    let hint = "\n  hint: free some space, then run the same command again: what is done is kept\n";
    assert!(ended.error.ends_with(hint), "{}", ended.error);
    assert_eq!(before, steps(), "no half step is kept");
    let again = run(&mut fit(&work, &["--boots", "1", "--wall-boots", "0"]));
    assert_eq!(again.code, Some(0), "{}", again.error);
}
