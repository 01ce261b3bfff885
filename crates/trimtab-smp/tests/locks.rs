//! Coarse locks: the patch, on each change; and what kernels with it do, which takes minutes, so at night.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use trimtab_lab::observe::Lines;
use trimtab_report::Report;
use trimtab_smp::LockMode;
use trimtab_smp::feature::GIANT;
use trimtab_smp::report::locks::SmpLocks;
use trimtab_smp::run::{Copies, GuestSetup, LocksRequest, OwnWorkload, ScaleWorkload, locks};

/// The kernel's source, as Debian's package installs it.
const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// What looks for faults of style needs.
const STYLE: [&str; 3] =
    ["scripts/checkpatch.pl", "scripts/spelling.txt", "scripts/const_structs.checkpatch"];

/// Runs a command in a folder; its output where it succeeds.
fn run(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{words:?}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

#[test]
fn the_patch_applies_without_fuzz_and_is_in_the_style_of_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let patch = GIANT.patch("6.12").unwrap();
    fs::write(at.join("giant.patch"), patch).unwrap();
    let names = patch.lines().filter_map(|line| line.strip_prefix("--- a/"));
    let names: Vec<String> =
        names.chain(STYLE).map(|name| format!("linux-source-6.12/{name}")).collect();
    let mut words = vec!["tar", "--extract", "--strip-components=1", "--file", SOURCE];
    words.extend(names.iter().map(String::as_str));
    run(at, &words);
    run(at, &["patch", "-p1", "--fuzz=0", "--input", "giant.patch"]);
    let style = ["perl", STYLE[0], "--no-tree", "--no-signoff", "--quiet", "--terse"];
    run(at, &[&style[..], &["giant.patch"]].concat());
    for (path, text) in GIANT.files() {
        assert!(!at.join(&path).exists(), "{path} is new");
        fs::create_dir_all(at.join(&path).parent().unwrap()).unwrap();
        fs::write(at.join(&path), text).unwrap();
        run(at, &[&style[..], &["--file", &path]].concat());
    }
}

/// A run of a workload of ours in the work directory that tests share.
fn request(workload: ScaleWorkload, copies: Copies, cpus: &[u32]) -> LocksRequest {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let setup = GuestSetup {
        work: std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from),
        workload,
        copies,
        quantum: 1000,
        qemu_source: None,
        kernel_source: None,
        config: "tiny".to_owned(),
        memory_mib: 256,
        repetition: 0,
        command: String::new(),
    };
    LocksRequest { setup, percent: 36, cpus: cpus.to_vec(), modes: LockMode::ALL.to_vec() }
}

fn own(own: OwnWorkload, cpus: &[u32]) -> LocksRequest {
    request(ScaleWorkload::Own(own), own.copies(), cpus)
}

fn found(request: &LocksRequest) -> SmpLocks {
    let found = locks(request, &Lines).unwrap();
    println!("{}", found.terminal(120));
    found
}

fn speedup(found: &SmpLocks, mode: LockMode, cpus: u32) -> f64 {
    found.run(mode, cpus).unwrap().speedup
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn programs_that_hardly_enter_the_kernel_scale_with_any_locks() {
    let found = found(&own(OwnWorkload::Spin, &[1, 2, 4, 8]));
    for run in &found.runs {
        assert!(run.speedup >= 0.95 * f64::from(run.cpus), "{run:?}");
    }
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn in_step_a_giant_lock_gives_what_amdahl_says() {
    let asked = own(OwnWorkload::Step, &[2]);
    let found = found(&asked);
    assert!((found.in_kernel - 0.36).abs() < 0.01, "{}", found.in_kernel);
    let giant = speedup(&found, LockMode::Giant, 2);
    assert!((giant / 1.47 - 1.0).abs() <= 0.05, "{giant}");
    assert!(speedup(&found, LockMode::Fine, 2) > 1.8);
    // The same boots again give the same bytes.
    let setup = GuestSetup { repetition: 1, ..asked.setup };
    let again = locks(&LocksRequest { setup, ..asked }, &Lines).unwrap();
    assert_eq!(again.without_host(), found.without_host());
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn locks_of_subsystems_are_waited_for_less_than_one_for_all() {
    let found = found(&own(OwnWorkload::Mix, &[1, 4]));
    let four = |mode| speedup(&found, mode, 4);
    assert!(four(LockMode::Giant) < 1.3, "{found:?}");
    assert!(four(LockMode::Coarse) > four(LockMode::Giant), "{found:?}");
    assert!(four(LockMode::Fine) > four(LockMode::Coarse), "{found:?}");
    let waited = |mode| found.run(mode, 4).unwrap().waiting.sum();
    assert!(waited(LockMode::Giant) > waited(LockMode::Coarse));
    assert_eq!(waited(LockMode::Fine), 0.0);
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn calls_do_what_they_should_with_any_locks() {
    // An error of a self-check is an error of the run.
    let found = found(&own(OwnWorkload::Suite, &[1, 2, 4, 8]));
    assert_eq!(found.runs.len(), 12);
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn a_lock_that_is_kept_is_said_with_who_has_it() {
    let words = ["/bin/sh", "-c", "echo 5 > /counters/giant/stuck"].map(str::to_owned);
    let mut asked = request(ScaleWorkload::Command(words.into()), Copies::Each, &[2]);
    asked.modes = vec![LockMode::Giant];
    let error = format!("{:#}", locks(&asked, &Lines).unwrap_err());
    println!("{error}");
    for part in
        ["its tasks wait for a lock", "lock giant: thread ", "in files", "waits for lock giant"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}
