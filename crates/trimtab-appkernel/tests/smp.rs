//! Boots kernels with SMP that are started with a part of the machine's CPUs (`maxcpus=`), of which the module
//! has the rest; and kernels that check themselves, with SMP and without.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trimtab_appkernel::guest::{
    FAILURES, Guest, HOTPLUG, PANIC, REBOOT, RELOAD, STALE, STRESS_SHORT, Setup, TESTS,
};
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::boot::{Boot, BootError, complaints};

/// Where the tests work, in turn.
static WORK: Mutex<()> = Mutex::new(());

fn work() -> (MutexGuard<'static, ()>, WorkDir) {
    let turn = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let path = std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from);
    (turn, WorkDir::open(&path).unwrap())
}

const ALL: Setup<'static> = Setup {
    name: "",
    cpus: 3,
    linux_cpus: Some(1),
    counted: false,
    parameters: &[],
    workload: TESTS,
    limit: Duration::from_secs(1200),
};

fn said(boot: &Boot, name: &str) -> u64 {
    boot.said["appkernel"][name].parse().unwrap()
}

/// A boot in which all tests pass, so many of them, and of which the kernel does not complain.
fn passes(guest: &Guest<'_>, setup: &Setup<'_>, tests: usize) -> Boot {
    let folder = tempfile::tempdir().unwrap();
    let boot = guest.boot(setup, folder.path());
    let console = fs::read_to_string(folder.path().join(setup.name).join("console.log")).unwrap();
    println!("{console}");
    let boot = boot.unwrap();
    assert!(boot.tests.passed(), "{}: {:?}", setup.name, boot.tests);
    assert_eq!(boot.tests.all().len(), tests, "{}", setup.name);
    assert_eq!(complaints(&console), [""; 0], "{}", setup.name);
    assert!(!console.contains(" is lost: vector"), "{}", setup.name);
    boot
}

/// A boot that ends as the kernel ends it, not because its time is over; gives how, and its console.
fn ends(guest: &Guest<'_>, setup: &Setup<'_>) -> (BootError, String) {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let error = guest.boot(setup, folder.path()).unwrap_err();
    assert!(began.elapsed() < setup.limit, "{error}");
    let console = folder.path().join(setup.name).join("console.log");
    (error.downcast().unwrap(), fs::read_to_string(console).unwrap())
}

/// All tests where Linux has one CPU, where it has two, and where these come and go.
fn tests_of_all(guest: &Guest<'_>) {
    passes(guest, &Setup { name: "one", ..ALL }, 41);
    passes(guest, &Setup { name: "two", cpus: 4, linux_cpus: Some(2), ..ALL }, 41);
    passes(guest, &Setup { name: "hotplug", workload: HOTPLUG, ..ALL }, 16);
}

#[test]
#[ignore = "builds a kernel, minutes: cargo test -p trimtab-appkernel --test smp -- --ignored"]
fn linux_with_smp_keeps_to_its_cpus() {
    let (_turn, work) = work();
    let guest = Guest::build(&work, &["smp"], &[]).unwrap();
    tests_of_all(&guest);
    for (name, cpus, linux_cpus) in [("one", 3, 1), ("two", 4, 2)] {
        let own = Setup { cpus, linux_cpus: Some(linux_cpus), ..ALL };
        let name = |what: &str| format!("{what}-{name}");
        let (told, ignored, stress) = (name("told"), name("ignored"), name("stress"));
        let stale = Setup { name: &told, workload: STALE, ..own };
        assert_eq!(said(&passes(&guest, &stale, 0), "stale-pages"), 0);
        let stale = Setup { name: &ignored, parameters: &["ignore_stale=1"], ..stale };
        assert!(said(&passes(&guest, &stale, 0), "stale-pages") > 0, "the test shows nothing");
        let stress =
            Setup { name: &stress, workload: STRESS_SHORT, parameters: &["burst=0"], ..own };
        let boot = passes(&guest, &stress, 0);
        assert_eq!(said(&boot, "stress-errors"), 0);
        assert!(said(&boot, "stress-forwarded") > 10_000);
        let (error, console) = ends(&guest, &Setup { name: "reboot", workload: REBOOT, ..own });
        assert!(matches!(error, BootError::Rebooted { was_ready: true, .. }), "{error}");
        assert_eq!(complaints(&console), [""; 0]);
    }
}

/// What the code for CPUs that Linux does not know takes from elsewhere: calls that an option adds are among it.
fn taken_from_elsewhere(guest: &Guest<'_>) -> Vec<String> {
    let object = guest.object("cpu.o").unwrap();
    let output =
        Command::new("nm").args(["--undefined-only", "--just-symbols"]).arg(object).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A kernel that checks itself: with SMP or without, and by what; `on` is what it says once it does.
fn checked<'work>(work: &'work WorkDir, smp: bool, how: &str, on: &str) -> Guest<'work> {
    let guest = Guest::build(work, &[if smp { "smp" } else { "up" }, how], &[]).unwrap();
    assert_eq!(guest.refused, [""; 0]);
    // Data, and the module's own ways into user mode.
    let known = [
        "ak_enter_user",
        "ak_parked",
        "ak_peek",
        "ak_probes",
        "ak_syscall_entry",
        "ak_wait",
        "boot_cpu_data",
    ];
    assert_eq!(taken_from_elsewhere(&guest), known);
    let three = Setup { linux_cpus: smp.then_some(1), ..ALL };
    let four = Setup { cpus: 4, linux_cpus: smp.then_some(2), ..ALL };
    if smp {
        tests_of_all(&guest);
    } else {
        passes(&guest, &Setup { name: "up", ..three }, 41);
    }
    passes(&guest, &Setup { name: "reload", workload: RELOAD, ..three }, 12);
    let stress = Setup { name: "stress", workload: STRESS_SHORT, parameters: &["burst=0"], ..four };
    assert_eq!(said(&passes(&guest, &stress, 0), "stress-errors"), 0);
    let (error, console) = ends(&guest, &Setup { name: "reboot", workload: REBOOT, ..four });
    assert!(matches!(error, BootError::Rebooted { was_ready: true, .. }), "{error}");
    assert_eq!(complaints(&console), [""; 0]);
    // Or all of this would show nothing.
    assert!(console.contains(on), "{console}");
    let (error, console) = ends(&guest, &Setup { name: "panic", workload: PANIC, ..four });
    assert!(matches!(error, BootError::Panicked { .. }), "{error}");
    assert!(console.contains("sysrq triggered crash"), "{console}");
    assert_eq!(complaints(&console), [""; 0]);
    guest
}

/// With lockdep, and what else looks at how the kernel is used.
fn checked_locks(smp: bool) {
    let (_turn, work) = work();
    checked(&work, smp, "debug", "Lock dependency validator: ");
}

/// With KASAN, also where each allocation in turn fails.
fn checked_memory(smp: bool) {
    let (_turn, work) = work();
    let guest = checked(&work, smp, "kasan", "KernelAddressSanitizer initialized");
    let failures = Setup {
        name: "failures",
        cpus: 4,
        linux_cpus: smp.then_some(2),
        workload: FAILURES,
        ..ALL
    };
    let boot = passes(&guest, &failures, 2);
    assert!(said(&boot, "failures-run") > 10 && said(&boot, "failures-load") > 10);
}

#[test]
#[ignore = "builds a kernel, minutes: cargo test -p trimtab-appkernel --test smp -- --ignored"]
fn linux_with_smp_that_checks_its_locks_has_no_complaint() {
    checked_locks(true);
}

#[test]
#[ignore = "builds a kernel, minutes: cargo test -p trimtab-appkernel --test smp -- --ignored"]
fn linux_without_smp_that_checks_its_locks_has_no_complaint() {
    checked_locks(false);
}

#[test]
#[ignore = "builds a kernel, minutes: cargo test -p trimtab-appkernel --test smp -- --ignored"]
fn linux_with_smp_that_checks_its_memory_has_no_complaint() {
    checked_memory(true);
}

#[test]
#[ignore = "builds a kernel, minutes: cargo test -p trimtab-appkernel --test smp -- --ignored"]
fn linux_without_smp_that_checks_its_memory_has_no_complaint() {
    checked_memory(false);
}
