//! What a guest sends through its outlet: much of it, on each machine, and its kernel does not complain.
//!
//! On arm64 the outlet was once a virtio console, whose interrupt the kernel shut off after 1.6 MB: "nobody cared".
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use trimtab_lab::observe::Silent;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_link::LAYOUT;
use trimtab_machine::boot::{boot, complaints};
use trimtab_machine::guest::Workload;
use trimtab_machine::kernel::{BuildInputs, GeneratedFiles, Toolchain};
use trimtab_machine::testbed::Testbed;
use trimtab_machine::{Isa, Platform};

/// The work directory that tests share; `make test` says where that is.
fn work() -> WorkDir {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let path = std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from);
    WorkDir::open(&path).unwrap()
}

/// Numbers up to here, one a line: 3 MB.
const LINES: u32 = 450_000;

fn sends_all(isa: Isa) {
    let work = work();
    let toolchain = Toolchain::Clang(tools::llvm().unwrap());
    let inputs = BuildInputs::find(None, &[&LAYOUT], ("tiny", isa), 2, toolchain).unwrap();
    let kernel = inputs.prepare(&work, &Silent).unwrap().1;
    let kernel = kernel.link(&GeneratedFiles::new(), |_| ()).unwrap();
    let port = isa.outlet();
    let script = format!(
        "case {port} in tty*) /bin/busybox stty -F /dev/{port} raw ;; esac\n\
         /bin/busybox seq 1 {LINES} >/dev/{port}\n"
    );
    let send = Workload { name: "send".to_owned(), script };
    let testbed = Testbed::prepare_files(&work, isa, None, vec![send], &BTreeMap::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut request = testbed.request(&kernel, folder.path());
    request.workload = Some("send".to_owned());
    request.outlet = true;
    let boot = boot(&request).unwrap();
    let said = fs::read_to_string(&boot.console).unwrap();
    assert_eq!(complaints(&said), [""; 0], "{said}");
    let sent = fs::read_to_string(request.outlet_file()).unwrap();
    assert!(sent.lines().eq((1..=LINES).map(|number| number.to_string())), "{}", sent.len());
}

#[test]
#[ignore = "builds a kernel: 2 minutes; cargo test -p trimtab-machine --test outlet -- --ignored"]
fn a_pc_sends_all_through_its_second_serial_port() {
    sends_all(Isa::X86_64);
}

#[test]
#[ignore = "builds an arm64 kernel: 2 minutes; cargo test -p trimtab-machine --test outlet -- --ignored"]
fn an_arm_machine_sends_all_through_a_virtio_port() {
    sends_all(Isa::Aarch64);
}
