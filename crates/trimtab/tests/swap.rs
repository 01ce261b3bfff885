//! `trimtab swap` with a small kernel, from the command line.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use trimtab_fixture::kernel;
use trimtab_profile::{Source, stream};

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        let (blocks, executions) = kernel::executed();
        let recorded = stream::write(Source::QemuPlugin, &blocks, &executions);
        fs::write(bench.file("vmlinux"), kernel::kernel()).unwrap();
        fs::write(bench.file("boot.stream"), recorded).unwrap();
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `trimtab swap`: exit code and both outputs.
    fn swap(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_trimtab"))
            .current_dir(self.folder.path())
            .arg("swap")
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn good(&self, arguments: &[&str]) -> String {
        let (code, output, error) = self.swap(arguments);
        assert_eq!(code, 0, "{arguments:?}: {output}{error}");
        output
    }

    /// What it says when it fails.
    fn bad(&self, arguments: &[&str], expected: i32) -> String {
        let (code, output, error) = self.swap(arguments);
        assert_eq!((code, output.as_str()), (expected, ""), "{arguments:?}: {error}");
        error
    }
}

const INPUTS: [&str; 5] = ["vmlinux", "--trace", "boot.stream", "--from", "begin_swapping"];

fn with<'a>(verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[verb][..], &INPUTS, more].concat()
}

#[test]
fn a_plan_has_lists_for_the_build() {
    let bench = Bench::new();
    let text = bench
        .good(&with("plan", &["--threshold", "0.5", "--json", "plan.json", "--lists", "lists"]));
    assert!(text.contains("4 pieces on 1 pages; 1 page faults in the traces"), "{text}");
    let plan: Value = serde_json::from_slice(&fs::read(bench.file("plan.json")).unwrap()).unwrap();
    assert_eq!(plan["schema"], "trimtab.swap.plan/1");
    let id = fs::read_to_string(bench.file("lists/plan.id")).unwrap();
    // As the patched kernel's Makefile computes what it compares with `coldswap.plan=`.
    let kernels = Command::new("sh")
        .args(["-c", "cat lists/cold-order lists/cold-rodata | sha256sum | cut -c 1-16"])
        .current_dir(bench.folder.path())
        .output()
        .unwrap();
    assert_eq!(id.as_bytes(), kernels.stdout);
    let list = |name: &str| fs::read_to_string(bench.file("lists").join(name)).unwrap();
    assert_eq!(list("base.list"), "hot_path\n");
    assert_eq!(list("cold.list").lines().count(), 4);
    assert!(list("core.list").lines().any(|line| line == "in_ops"));
    assert!(list("cold-order").contains("*(.text.seldom)\n"));
    // The same again, byte for byte.
    let before = fs::read(bench.file("plan.json")).unwrap();
    bench.good(&with("plan", &["--threshold", "0.5", "--json", "plan.json"]));
    assert_eq!(fs::read(bench.file("plan.json")).unwrap(), before);
    for placement in ["profile-based", "entry-points"] {
        bench.good(&with("plan", &["--placement", placement]));
    }
}

#[test]
fn every_function_can_be_explained() {
    let bench = Bench::new();
    let said = |name: &str| bench.good(&with("plan", &["--threshold", "0.5", "--explain", name]));
    let text = said("in_ops");
    assert!(text.starts_with("in_ops: core"), "{text}");
    assert!(text.contains("coldswap_fault calls through pointers"), "{text}");
    assert!(said("hot_path").starts_with("hot_path: base"));
    assert!(said("seldom").contains("swappable, 240 bytes; its hottest block ran 10 times"));
    assert!(said("never").contains("jump-labels"));
    let text = bench.good(&with("plan", &["--threshold", "0.5", "--explain-core"]));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.lines().any(|line| words(line) == "the path of a page fault 1,440 720"), "{text}");
    assert!(text.contains("exc_page_fault > do_user_addr_fault: it runs only once"), "{text}");
    let error = bench.bad(&with("plan", &["--explain", "unheard_of"]), 1);
    assert!(error.contains("there is no function unheard_of"), "{error}");
}

#[test]
fn a_kernel_that_was_not_linked_for_it_is_refused() {
    let bench = Bench::new();
    bench.good(&with("plan", &["--json", "plan.json"]));
    let error = bench.bad(&["check", "vmlinux", "plan.json"], 1);
    assert!(error.contains("no symbol __coldswap_start"), "{error}");
    let error = bench.bad(&["check", "vmlinux", "boot.stream"], 1);
    assert!(error.contains("cannot read the plan boot.stream: it is no text"), "{error}");
    fs::write(bench.file("other.json"), "{}").unwrap();
    let error = bench.bad(&["check", "vmlinux", "other.json"], 1);
    assert!(error.contains("this is no plan"), "{error}");
}

#[test]
fn a_sweep_has_all_figures() {
    let bench = Bench::new();
    fs::copy(bench.file("boot.stream"), bench.file("other.stream")).unwrap();
    let text = bench.good(&with(
        "sweep",
        &[
            "--held-out",
            "other.stream",
            "--thresholds",
            "0.5,1",
            "--policy-threshold",
            "0.5",
            "--json",
            "sweep.json",
            "--html",
            "sweep.html",
        ],
    ));
    assert!(text.contains("profile-based") && text.contains("round robin"), "{text}");
    let sweep: Value =
        serde_json::from_slice(&fs::read(bench.file("sweep.json")).unwrap()).unwrap();
    assert_eq!(sweep["schema"], "trimtab.swap.sweep/1");
    let half = &sweep["thresholds"][0];
    assert_eq!(half["placements"][0]["faults"], serde_json::json!([1, 1, 1]));
    assert_eq!(half["placements"][0]["held_out"], half["placements"][0]["faults"]);
    assert_eq!(sweep["policies"].as_array().unwrap().len(), 5);
    let page = fs::read_to_string(bench.file("sweep.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
}

#[test]
fn bad_input_is_named() {
    let bench = Bench::new();
    fs::write(bench.file("first.trace"), "hot_path\nseldom\n").unwrap();
    let error = bench.bad(&["plan", "vmlinux", "--trace", "first.trace"], 1);
    assert!(error.contains("says only what ran first"), "{error}");
    for (more, code, expected) in [
        (&["--placement", "best"][..], 2, "there is no placement best"),
        (&["--threshold", "0"], 1, "not above 0"),
        (&["--from", "unheard_of"], 2, "--from"),
        (&["--granularity", "block"], 1, "no map of its basic blocks"),
        (&["--never-patched", "everything"], 2, "everything"),
        (&["--frames", "1"], 2, "--frames"),
    ] {
        let error = bench.bad(&with("plan", more), code);
        assert!(error.contains(expected), "{more:?}: {error}");
    }
    fs::write(bench.file("vmlinux"), trimtab_fixture::many_functions(9, 0x1000)).unwrap();
    let error = bench.bad(&with("plan", &["--min-coverage", "0"]), 1);
    assert!(!error.is_empty());
}
