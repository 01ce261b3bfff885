//! Boots a kernel without SMP on a machine with three CPUs, and runs threads on two that it does not know.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use trimtab_appkernel::run::{Request, run};
use trimtab_lab::observe::Lines;
use trimtab_report::Report;

#[test]
fn threads_run_on_cpus_that_linux_does_not_know() {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let work = std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from);
    let report = run(&Request { work, cpus: 3 }, &Lines).unwrap();
    assert_eq!(report.failures(), [""; 0], "{report:#?}");
    assert_eq!(report.checks.len(), 4);
    assert_eq!(report.tests.len(), 15);
    // Instructions, so they hardly differ from machine to machine; the bounds are far from what is seen.
    assert!(
        report.calls.polling.ratio() > 1.0 && report.calls.polling.ratio() < 12.0,
        "{report:#?}"
    );
    assert!(report.fault.polling.ratio() < 2.0, "{report:#?}");
}
