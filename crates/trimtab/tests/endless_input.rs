//! Input without an end, in the place of each file that a verb reads: one message, at once, in little memory.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use trimtab_fixture::many_functions;

/// Address space that each command gets, in KiB: what is resident is less.
const SPACE: u64 = 1 << 20;
/// Seconds that each command gets.
const TIME: u64 = 10;

/// Runs a line of a shell in `folder`, in which `$T` is the command, within limits.
fn run(folder: &Path, line: &str) -> Output {
    Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {SPACE}; {line}"))
        .env("T", format!("timeout {TIME} {} --quiet", env!("CARGO_BIN_EXE_trimtab")))
        .env("TMPDIR", folder)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Runs each line, and names those that did not fail by themselves with one message for people.
fn all_are_refused(folder: &Path, lines: impl IntoIterator<Item = String>) {
    let mut wrong = Vec::new();
    for line in lines {
        let output = run(folder, &line);
        let said = String::from_utf8_lossy(&output.stderr);
        let failed = matches!(output.status.code(), Some(1 | 2));
        let is_one = said.starts_with("trimtab: ") && said.matches("trimtab: ").count() == 1;
        if !failed || !is_one || said.len() > 1000 || said.contains("memory allocation") {
            let said: String = said.chars().take(1000).collect();
            wrong.push(format!("{line}\n{:?}\n{said}", output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("app"), many_functions(30, 0xffff_ffff_8100_0000)).unwrap();
    let names: String = (0..20).map(|index| format!("function_{index}\n")).collect();
    fs::write(at.join("good"), names).unwrap();
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/object/gcc-O2");
    fs::copy(object, at.join("object.o")).unwrap();
    fs::write(at.join("plan.json"), "{}").unwrap();
    File::create(at.join("holes")).unwrap().set_len(1 << 40).unwrap();
    // As long as a file may be, with nothing in it.
    File::create(at.join("zeros")).unwrap().set_len(8 << 30).unwrap();
    nix::unistd::mkfifo(&at.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(at.join("store")).unwrap();
    folder
}

#[test]
fn each_input_of_each_verb() {
    let folder = folder();
    let verbs = [
        "pages IN --trace good",
        "pages app --trace IN",
        "pages app --trace good --map IN",
        "order IN --trace good",
        "order app --trace IN",
        "order app --trace good --map IN",
        "compare IN --trace good",
        "compare app --trace IN",
        "compare app --trace good --held-out IN",
        "compare app --trace good --map IN",
        "check IN --order good",
        "check app --order IN",
        "check app --order good --before IN",
        "check app --order good --map IN",
        "swap plan IN --trace good",
        "swap plan app --trace IN",
        "swap plan app --trace good --map IN",
        "swap sweep IN --trace good",
        "swap sweep app --trace IN",
        "swap sweep app --trace good --held-out IN",
        "swap check IN plan.json",
        "swap check app IN",
        "jar IN -o out.jar",
        "probe instrument IN -o out",
        "probe instrument object.o --hook user --hooks IN -o out",
        "probe instrument object.o --profile IN -o out",
        "probe report IN",
        "trace --kernel IN -o out",
        "trace --kernel app --vmlinux IN -o out",
        "trace --kernel app --initramfs IN -o out",
        "trace --kernel app --busybox IN -o out",
        "fit kernel --work work --config IN",
        "fit kernel --work work --source IN",
        "fit kernel --work work --busybox IN",
        "swap run --work work --source IN",
        "swap run --work work --config IN",
        "swap run --work work --busybox IN",
        "fit program --work work --build IN --run IN",
        "smp predict IN",
        "rent plan IN",
        "tune program --work work --flags IN bzip2",
        "tune kernel --work work --flags IN",
        "tune kernel --work work --profile IN",
        "report --work IN",
    ];
    let inputs = ["/dev/zero", "pipe", "holes", "zeros"];
    let lines = verbs
        .iter()
        .flat_map(|verb| inputs.map(|input| format!("$T {}", verb.replace("IN", input))));
    all_are_refused(folder.path(), lines);
}

#[test]
fn a_store_in_a_work_directory() {
    let folder = folder();
    let lines = ["holes", "zeros"].map(|input| {
        let work = folder.path().join(format!("work-{input}"));
        fs::create_dir(&work).unwrap();
        fs::write(work.join(".trimtab-lock"), "").unwrap();
        fs::hard_link(folder.path().join(input), work.join("experiments.sqlite")).unwrap();
        format!("$T report --work work-{input}")
    });
    all_are_refused(folder.path(), lines);
}

#[test]
fn pipes_that_never_end() {
    let folder = folder();
    let pipes = ["yes function_1", "yes '0123456789abcdef'", "cat /dev/zero", "cat /dev/urandom"];
    let verbs = [
        "pages app --trace -",
        "order app --trace /dev/stdin",
        "compare app --trace -",
        "swap plan app --trace -",
        "probe report /dev/stdin",
        "pages app --trace good --map /dev/stdin",
        "jar -o out.jar /dev/stdin",
        "rent plan -",
    ];
    let lines =
        pipes.iter().flat_map(|pipe| verbs.map(|verb| format!("{pipe} 2>errors | $T {verb}")));
    all_are_refused(folder.path(), lines);
}
