//! `trimtab smp scale` with what it cannot do. What it does is tested where its engine is, at night.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

/// Runs it in a folder of its own: exit code and standard error.
fn scale(arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trimtab"));
    command.current_dir(folder.path()).args(["smp", "scale"]).args(arguments);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn numbers_out_of_range_are_bad_usage() {
    for (arguments, expected) in [
        (&["--cpus", "0"][..], "0 is not in 1..=16"),
        (&["--cpus", "17"], "17 is not in 1..=16"),
        (&["--quantum", "1"], "1 is not in 2..=1000000000"),
        (&["--quantum", "x"], "invalid digit"),
        (&["--copies", "0"], "expected `each`, or a number from 1 to 64"),
        (&["--workload", "dance"], "possible values: spin, fft, lu, radix"),
        (&["--workload", "fft", "--", "ls"], "cannot be used with"),
    ] {
        let (code, error) = scale(arguments);
        assert!(code == 2 && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_not_there_is_said_before_anything_is_built() {
    let (code, error) = scale(&["--", "./no/program"]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no program ./no/program on this machine"), "{error}");
    let (code, error) = scale(&["--qemu-source", "no.dsc"]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no no.dsc; expected the .dsc file of Debian's"), "{error}");
    assert!(!error.contains("kernel"), "{error}");
}
