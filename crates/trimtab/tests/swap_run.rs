//! `trimtab swap run`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Ended, PROGRAM, alone, run, shared};
use trimtab_report::Report;
use trimtab_swap::report::SwapRun;

fn swap_run(arguments: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let ended =
        run(Command::new(PROGRAM).args(["swap", "run", "--work"]).arg(&work).args(arguments));
    assert!(!work.exists(), "nothing is begun");
    ended
}

#[test]
fn what_cannot_be_is_said_before_anything_is_built() {
    for (arguments, message) in [
        (
            ["--workload", "none"].as_slice(),
            "the guest has no workload none, expected boot, files,",
        ),
        (&["--cpus", "2", "--frames", "7"], "7 frames are too few for 2 CPUs, expected at least 8"),
        (&["--frames", "3"], "3 is not in 4..=1024"),
        (&["--policy", "lru"], "[possible values: rr, random, nru]"),
        (&["--store", "disk"], "[possible values: flash, lz4]"),
        (&["--threshold", "99.9"], "expected a number from 0 to 1"),
        (&["--room", "15"], "expected a number from 0 to 1"),
        (&["--seconds", "-1"], "unexpected argument"),
        (&["--seconds", "9999"], "expected a number from 0 to 1000"),
        (&["--threshold", "0"], "a threshold of 0 keeps nothing"),
        (&["--soak", "9", "--selftest", "0"], "--soak repeats the self-test, which --selftest 0"),
    ] {
        let ended = swap_run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.error);
        assert!(ended.error.contains(message), "{arguments:?}: {}", ended.error);
    }
}

#[test]
fn a_program_of_the_workloads_that_is_missing_is_missed_before_anything_is_done() {
    const MISSING: &str = "/usr/bin/cjpeg";
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let arguments = ["swap", "run", "--config", "tiny", "--work", work.to_str().unwrap()];
    let ended = if Path::new(MISSING).exists() {
        let hidden = |then: &str| {
            let script = format!("mount --bind /dev/null {MISSING} && {then}");
            let mut command = Command::new("unshare");
            command.args(["--mount", "--map-root-user", "sh", "-c", &script, PROGRAM]);
            run(command.args(arguments))
        };
        if hidden("true").code != Some(0) {
            eprintln!("this machine lets nobody hide a file: not tested");
            return;
        }
        hidden("exec \"$0\" \"$@\"")
    } else {
        run(Command::new(PROGRAM).args(arguments))
    };
    assert_eq!(ended.code, Some(1), "{}", ended.error);
    // Others may be missing as well.
    assert!(ended.error.contains(" is missing: looked for /usr/bin/"), "{}", ended.error);
    assert!(ended.error.contains("\n  hint: as root, run: apt-get install"), "{}", ended.error);
    assert!(!work.exists(), "nothing is begun");
}

/// Builds a kernel of its own: one that can swap differs in too many options from the one that the
/// other tests share for any object to be the same.
#[test]
#[ignore = "builds a kernel, for which continuous integration has no time; run: cargo test --test \
            swap_run -- --ignored"]
fn a_kernel_runs_with_its_cold_code_swapped_out() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("swap.json");
    let html = folder.path().join("swap.html");
    let mut command = Command::new(PROGRAM);
    command.args(["swap", "run", "--config", "tiny", "--workload", "files"]);
    command.args(["--seconds", "1", "--work"]);
    command.arg(shared()).arg("--json").arg(&json).arg("--html").arg(&html);
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    let found = SwapRun::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(found.failures(), [""; 0]);
    assert!(found.code_kib.net_resident < found.code_kib.original, "{:?}", found.code_kib);
    assert_eq!(found.workloads.len(), 1);
    assert!(found.workloads[0].faults > 0 && found.workloads[0].overflow == 0);
    assert!(found.workloads[0].system_time_ratio.unwrap() > 0.5);
    assert!(found.workloads[0].rounds > 1 && found.workloads[0].system_seconds > 0.5);
    let selftest = found.selftest.unwrap();
    assert!(selftest.faults > 0 && selftest.errors == 0, "{selftest:?}");
    // It reads the table of symbols, which is swapped.
    assert!(found.data_swappable_kib > 0.0 && selftest.data_faults > 0, "{selftest:?}");
    assert!(fs::metadata(&html).unwrap().len() > 0);
}
