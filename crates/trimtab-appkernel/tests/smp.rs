//! Boots kernels with SMP that are started with a part of the machine's CPUs (`maxcpus=`), of which the module
//! has the rest.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimtab_appkernel::guest::{Guest, HOTPLUG, REBOOT, STALE, STRESS_SHORT, Setup, TESTS};
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::boot::{Boot, BootError, complaints};

fn work() -> WorkDir {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    WorkDir::open(&std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from))
        .unwrap()
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

/// A boot that ends as the kernel ends it; gives how, and its console.
fn ends(guest: &Guest<'_>, setup: &Setup<'_>) -> (BootError, String) {
    let folder = tempfile::tempdir().unwrap();
    let error = guest.boot(setup, folder.path()).unwrap_err();
    let console = folder.path().join(setup.name).join("console.log");
    (error.downcast().unwrap(), fs::read_to_string(console).unwrap())
}

/// All tests where Linux has one CPU, where it has two, and where these come and go.
fn tests_of_all(guest: &Guest<'_>) {
    passes(guest, &Setup { name: "one", ..ALL }, 25);
    passes(guest, &Setup { name: "two", cpus: 4, linux_cpus: Some(2), ..ALL }, 25);
    passes(guest, &Setup { name: "hotplug", workload: HOTPLUG, ..ALL }, 16);
}

#[test]
#[ignore = "builds a kernel, minutes: cargo test -p trimtab-appkernel --test smp -- --ignored"]
fn linux_with_smp_keeps_to_its_cpus() {
    let work = work();
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
