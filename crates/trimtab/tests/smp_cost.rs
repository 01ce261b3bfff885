//! `trimtab smp cost`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::process::Command;

use common::{PROGRAM, alone, run, shared};
use trimtab_report::Report;
use trimtab_smp::SmpCost;
use trimtab_smp::report::cost::CallCost;

#[test]
fn what_cannot_be_is_said_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    for (arguments, code, message) in [
        (["--compiler", "tcc"], 2, "kernels are built by gcc or clang here, and not by tcc"),
        (
            ["--config", "/no/such.config"],
            1,
            "cannot read the kernel configuration /no/such.config",
        ),
        (["--source", "/no/source"], 1, "the kernel source /no/source is not there"),
        (["--busybox", "/no/busybox"], 1, "/no/busybox"),
        (["--most-cpus", "1"], 2, "1 is not in 2..=8192"),
    ] {
        let ended =
            run(Command::new(PROGRAM).args(["smp", "cost", "--work"]).arg(&work).args(arguments));
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.error);
        assert!(ended.error.contains(message), "{arguments:?}: {}", ended.error);
        assert!(!work.join("steps").exists(), "nothing is begun");
    }
}

/// Compiles two kernels twice, as they take no modules at first, and boots them 15 times.
#[test]
#[ignore = "compiles kernels, for which continuous integration has no time; run: cargo test --test \
            smp_cost -- --ignored"]
fn a_kernel_is_built_without_smp_and_with_it_and_compared() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("cost.json");
    let mut command = Command::new(PROGRAM);
    command.args(["smp", "cost", "--work"]).arg(shared()).arg("--json").arg(&json);
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    let report = SmpCost::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report.failures(), [""; 0]);
    assert!(
        report.text.up > 500_000 && report.text.smp > report.text.up + 50_000,
        "{:?}",
        report.text
    );
    assert_eq!(report.per_cpu.up, 0);
    assert!(report.per_cpu.smp > 1000 && report.memory.smp_one < report.memory.up);
    assert!(report.boot.smp > report.boot.smp_one, "a second CPU is started: {:?}", report.boot);
    assert!(report.calls.len() >= 70, "{:?}", report.missing);
    // Far from what is seen, and far from what such a kernel can cost.
    let call = |name: &str| -> &CallCost {
        let mut all = report.calls.iter().chain(&report.primitives);
        all.find(|call| call.name == name).unwrap()
    };
    for call in [call("spin-lock"), call("context-switch"), call("pipe-round-trip")] {
        assert!(call.cost.smp_one > call.cost.up, "SMP costs something: {call:?}");
        assert!(call.cost.smp_one < 2 * call.cost.up, "but not as much: {call:?}");
    }
    let locks: Vec<&str> = report.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert_eq!(locks, ["mutex", "rwsem_read", "spin"]);
    for lock in &report.locks {
        // Where instructions are counted, a prefix that locks the bus is none: only spin locks are more with SMP.
        assert!(
            lock.cost.smp_one >= lock.cost.up && (1..200).contains(&lock.cost.smp_one),
            "{lock:?}"
        );
        assert_eq!(lock.name == "spin", lock.cost.up == 0, "{lock:?}");
    }
    assert!(call("fork").cost.up > 10 * call("getpid").cost.up);
    let options = &report.options;
    assert!(options.smp.iter().any(|line| line == "CONFIG_SMP=y"), "{options:?}");
    assert!(options.up.iter().any(|line| line == "CONFIG_TINY_RCU=y"), "{options:?}");
    let new =
        |name: &str| report.functions.changed.iter().any(|f| f.name == name && f.bytes.up == 0);
    assert!(new("native_cpu_up") || new("sched_balance_rq"), "{:?}", report.functions.new);
    // Stored, and drawn again.
    let list = run(Command::new(PROGRAM).args(["report", "--list", "--work"]).arg(shared()));
    assert!(list.output.contains("smp cost"), "{}", list.output);
}
