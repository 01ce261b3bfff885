//! Boots a kernel without SMP on a machine with three CPUs, and runs threads on two that it does not know.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use trimtab_appkernel::report::Cost;
use trimtab_appkernel::run::{Request, TablesRequest, run};
use trimtab_lab::observe::Lines;
use trimtab_machine::kernel::{DISK, NULL_BLOCK};
use trimtab_report::Report;

fn request(tables: Option<TablesRequest>) -> Request {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    Request {
        work: std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from),
        cpus: 3,
        stress: false,
        size: None,
        // The kernel that has disks, too, is that of trimtab-machine's tests of boots: one build less.
        others: vec![&DISK, &NULL_BLOCK],
        tables,
    }
}

#[test]
#[ignore = "builds QEMU, minutes: cargo test -p trimtab-appkernel --test guests -- --ignored"]
fn programs_get_faster_and_a_computing_thread_has_its_cpu_for_itself() {
    let tables = TablesRequest {
        cpus: vec![2, 4],
        quantum: 1000,
        noise_milliseconds: 1000,
        qemu_source: None,
    };
    let report = run(&request(Some(tables)), &Lines).unwrap();
    println!("{}", report.terminal(100));
    assert_eq!(report.failures(), [""; 0], "{report:#?}");
    assert_eq!(report.checks.len(), 6);
    let of = |kind: &'static str| report.programs.iter().filter(move |one| one.kind == kind);
    assert_eq!(["single", "parallel", "multiprogramming"].map(|kind| of(kind).count()), [3, 6, 2]);
    for one in of("parallel") {
        assert!(one.speedup.smp > 1.0 && one.speedup.ours > 1.0, "{one:?}");
    }
    // What lives in the kernel goes home by itself; compilers and the like compute as fast as anywhere.
    for one in of("single") {
        assert!(one.speedup.ours >= 0.97, "{one:?}");
    }
    for one in of("multiprogramming") {
        assert!(one.speedup.ours >= 0.9 * one.speedup.smp, "{one:?}");
    }
    // With SMP, the clock of Linux interrupts the thread, or the test would show nothing.
    assert!(report.noise[0].instructions > 0, "{report:#?}");
    assert_eq!(report.noise[2].kicks, Some(0));
}

#[test]
fn threads_run_on_cpus_that_linux_does_not_know() {
    let report = run(&request(None), &Lines).unwrap();
    println!("{}", report.terminal(100));
    assert_eq!(report.failures(), [""; 0], "{report:#?}");
    assert_eq!(report.checks.len(), 5);
    assert_eq!(report.tests.len(), 41);
    // Instructions, so they hardly differ from machine to machine.
    let at_most = |cost: &Cost, times: f64| {
        assert!(cost.native > 0 && cost.ratio() <= times, "{cost:?}: {report:#?}");
    };
    at_most(&report.calls.polling, 4.5);
    at_most(&report.calls.sleeping, 10.0);
    at_most(&report.fault.polling, 1.1);
    at_most(&report.fault.sleeping, 1.6);
    assert!(report.calls.switching.ratio() > report.calls.sleeping.ratio(), "{report:#?}");
    assert!(report.calls.proxy.ratio() > report.calls.sleeping.ratio(), "{report:#?}");
}
