//! `trimtab smp locks` with what it cannot do. What it does is tested where its engine is, at night.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

/// Runs it in a folder of its own: exit code and standard error.
fn locks(arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trimtab"));
    command.current_dir(folder.path()).args(["smp", "locks"]).args(arguments);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn what_cannot_be_is_bad_usage() {
    for (arguments, expected) in [
        (&["--cpus", "0"][..], "0 is not in 1..=16"),
        (&["--cpus", "2,17"], "17 is not in 1..=16"),
        (&["--cpus", ""], "cannot parse integer from empty string"),
        (&["--modes", "giant,none"], "possible values: giant-irq, giant, coarse, fine"),
        (&["--share", "100"], "100 is not in 1..=99"),
        (&["--workload", "dance"], "possible values: spin, fft"),
        (&["--workload", "dial", "--", "ls"], "cannot be used with"),
    ] {
        let (code, error) = locks(arguments);
        assert!(code == 2 && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_not_there_is_said_before_anything_is_built() {
    let (code, error) = locks(&["--", "./no/program"]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no program ./no/program on this machine"), "{error}");
    let (code, error) = locks(&["--source", "/no/source"]);
    assert_eq!(code, 1);
    assert!(error.contains("the kernel source /no/source is not there"), "{error}");
}
