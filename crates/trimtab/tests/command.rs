//! The command from its outside: exit codes, messages, help, results.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, SystemTime};

use assert_cmd::Command;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use trimtab_fit::report::FitKernel;
use trimtab_lab::script;
use trimtab_lab::store::{Experiment, Store};
use trimtab_report::Report;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trimtab");

/// Exit code, standard output, standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(PROGRAM).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn bad_usage_exits_2() {
    for arguments in [
        &[][..],
        &["dance"],
        &["fit"],
        &["fit", "kernel", "--boots", "0"],
        &["fit", "kernel", "--arch", "vax"],
        &["pages", "vmlinux"],
        &["pages", "vmlinux", "--trace", "t", "--min-coverage", "90"],
        &["order", "vmlinux", "--trace", "t", "--linker", "mold", "-o", "x"],
        &["compare", "app"],
        &["compare", "app", "--trace", "t", "--frames", "0"],
        &["report", "--list", "--html", "x"],
        &["trace"],
        &["trace", "--kernel", "x"],
        &["trace", "program", "-o", "x"],
        &["trace", "program", "--", "true"],
        &["trace", "program", "-o", "x", "--all", "--", "true"],
        &["trace", "program", "-o", "x", "--folder", "y", "--", "true"],
        &["report", "last"],
    ] {
        let (code, output, error) = run(arguments);
        assert_eq!((code, output.as_str()), (2, ""), "{arguments:?}");
        assert!(error.contains("Usage: ") || error.contains("--help"), "{arguments:?}: {error}");
    }
}

#[test]
fn the_version_names_the_commit() {
    let (code, output, _) = run(&["--version"]);
    assert_eq!(code, 0);
    let head = Process::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().unwrap();
    let head = String::from_utf8(head.stdout).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(output, format!("trimtab {version} ({})\n", head.trim()));
}

#[test]
fn shells_complete_every_verb_that_is_shown() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, output, error) = run(&["completions", shell]);
        assert_eq!((code, error.as_str()), (0, ""));
        for verb in ["doctor", "fit", "kernel", "held-out-boots"] {
            assert!(output.contains(verb), "{shell}: {verb}");
        }
    }
    // What bash reads, it understands.
    let (_, script, _) = run(&["completions", "bash"]);
    let asked = format!(
        "{script}\nCOMP_WORDS=(trimtab do); COMP_CWORD=1; _trimtab trimtab do trimtab; echo \"${{COMPREPLY[*]}}\""
    );
    // As a file: it is longer than an argument may be.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asked");
    fs::write(&path, asked).unwrap();
    let output = Process::new("bash").arg(&path).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "doctor\n");
}

#[test]
fn each_verb_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(run(&["man-pages", path]).0, 0);
    for verb in ["", "-doctor", "-fit-kernel", "-fit-program", "-swap-run", "-probe-build"] {
        let page = fs::read_to_string(folder.path().join(format!("trimtab{verb}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{verb}: {page}");
    }
    assert!(!folder.path().join("trimtab-wrapped-link.1").exists(), "it is hidden");
    let (code, _, error) = run(&["man-pages", "/nowhere/at/all"]);
    assert_eq!(code, 1);
    assert!(error.contains("cannot write manual pages to /nowhere/at/all"), "{error}");
}

#[test]
fn quiet_shows_no_progress_and_verbose_shows_commands() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.c"), "int main(void) { return 0; }").unwrap();
    let object = folder.path().join("a.o");
    let compiled =
        Process::new("gcc").args(["-c", "a.c"]).current_dir(folder.path()).status().unwrap();
    assert!(compiled.success());
    let out = folder.path().join("out");
    let said = |option: &[&str]| {
        let paths = [object.to_str().unwrap(), "-o", out.to_str().unwrap()];
        let mut arguments = vec!["probe", "instrument"];
        arguments.extend(paths);
        arguments.extend(option);
        let (code, _, error) = run(&arguments);
        assert_eq!(code, 0, "{error}");
        error
    };
    assert!(said(&[]).contains("trimtab: instrument the objects"));
    assert_eq!(said(&["--quiet"]), "");
    assert_eq!(said(&["-q"]), "");
    assert!(said(&["-v"]).contains("trimtab: + "), "{}", said(&["-v"]));
    assert_eq!(run(&["doctor", "-q", "-v"]).0, 2);
    // A job whose program may write to the terminal shows lines.
    let trace = out.with_extension("trace");
    let traced = |option: &str| {
        run(&["trace", "program", option, "-o", trace.to_str().unwrap(), "--", "no_such_program"]).2
    };
    assert_eq!(traced("-v").matches("trimtab: ").count(), 3);
    assert_eq!(traced("-q").matches("trimtab: ").count(), 1);
}

#[test]
fn terminals_get_colours_unless_no_color_is_set() {
    // `script` gives the command a terminal.
    let coloured = |setting: &str| {
        let command = format!("{setting} {PROGRAM} --help");
        let output = Process::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env_remove("NO_COLOR")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("Usage:"));
        output.stdout.contains(&0x1b)
    };
    assert!(coloured(""));
    assert!(!coloured("NO_COLOR=1"));
}

#[test]
fn every_verb_helps_with_an_example() {
    for verb in [
        &["doctor"][..],
        &["fit", "kernel"],
        &["trace"],
        &["trace", "program"],
        &["pages"],
        &["order"],
        &["compare"],
        &["check"],
        &["report"],
    ] {
        let (code, output, _) = run(&[verb, &["--help"]].concat());
        assert_eq!(code, 0);
        assert!(output.contains(&format!("    trimtab {}", verb.join(" "))), "{output}");
        assert!(output.contains("Example: "), "{output}");
        assert!(output.contains("--json"), "{output}");
    }
}

#[test]
fn fit_kernel_has_its_options_and_defaults() {
    let (_, output, _) = run(&["fit", "kernel", "--help"]);
    for text in [
        "--source <TARBALL|DSC|DIR>",
        "[default: lab]",
        "[default: x86_64]",
        "--boots <N>",
        "[default: 30]",
        "[default: plugin]",
        "[default: clang]",
        "[default: 0.9]",
        "--html <FILE>",
        "--seed <N>",
    ] {
        assert!(output.contains(text), "{text} is not in {output}");
    }
}

#[test]
fn doctor_prints_its_schema() {
    let (code, output, error) = run(&["doctor", "--json"]);
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(result["schema"], "trimtab.doctor/1");
    assert_eq!(code == 0, result["ok"] == true, "{error}");
    let tools = result["tools"].as_array().unwrap();
    for name in ["llvm", "qemu", "linux-source-6.12", "busybox"] {
        assert!(tools.iter().any(|tool| tool["name"] == name), "{name}");
    }
    for tool in tools {
        for key in ["name", "needed_by", "found", "version", "wanted", "ok", "install"] {
            assert!(tool.get(key).is_some(), "{key}: {tool}");
        }
        assert_eq!(tool["ok"] == true, tool["install"].is_null(), "{tool}");
    }
    assert!(result["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(result["machine"]["disk_free_bytes"].as_u64().is_some());
}

#[test]
fn doctor_says_what_is_missing_and_how_to_get_it() {
    let root = tempfile::tempdir().unwrap();
    let qemu = root.path().join("qemu-system-x86_64");
    script::write(&qemu, "#!/bin/sh\necho QEMU emulator version 4.2.0\n").unwrap();
    let file = root.path().join("doctor.json");
    let output = Command::new(PROGRAM)
        .args(["doctor", "--json"])
        .arg(&file)
        .env("PATH", root.path())
        .assert()
        .code(1)
        .get_output()
        .clone();
    // Sentences are broken into lines.
    let table = String::from_utf8(output.stdout).unwrap();
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains("is version 4.2.0, expected 7.2 or newer"), "{table}");
    assert!(table.contains("flex is missing: looked for flex"), "{table}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("missing for trimtab fit kernel\n  hint: as root, run: "), "{error}");
    assert!(error.contains(" qemu-system-x86"), "{error}");
    let result: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let row = result["tools"].as_array().unwrap().iter().find(|row| row["name"] == "qemu").unwrap();
    assert_eq!((&row["version"], &row["ok"]), (&json!("4.2.0"), &json!(false)));
    assert_eq!(row["install"], "apt-get install --no-install-recommends qemu-system-x86");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = Process::new(PROGRAM)
        .arg("doctor")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8(output.stderr).unwrap().contains("panicked"));
}

#[test]
fn ctrl_c_exits_130_with_one_line() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let root = tempfile::tempdir().unwrap();
        let slow = root.path().join("make");
        let started = root.path().join("started");
        let text = format!("#!/bin/sh\n: > {}\nexec /bin/sleep 9\n", started.display());
        script::write(&slow, &text).unwrap();
        let child = Process::new(PROGRAM)
            .arg("doctor")
            .env("PATH", root.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while !started.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "trimtab: stopped\n");
    }
}

#[test]
fn report_without_experiments_says_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let (code, output, error) = run(&["report", "--work", root.path().to_str().unwrap()]);
    assert_eq!((code, output.as_str()), (1, ""));
    assert!(error.starts_with("trimtab: there are no experiments yet: "), "{error}");
    assert!(error.contains("\n  hint: run trimtab fit kernel first"), "{error}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_result_is_stored_in_a_folder_that_is_new() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("app"), trimtab_fixture::many_functions(30, 0x40_1000)).unwrap();
    fs::write(path("ran"), "function_1\n").unwrap();
    let (app, ran, work) = (path("app"), path("ran"), path("new/work"));
    let (code, _, error) = run(&["pages", &app, "--trace", &ran, "--work", &work]);
    assert_eq!(code, 0, "{error}");
    let (_, listed, _) = run(&["report", "--list", "--work", &work]);
    assert!(listed.contains("pages"), "{listed}");
}

#[test]
fn report_draws_a_file_as_the_verb_did_and_says_what_is_none() {
    let root = tempfile::tempdir().unwrap();
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/tune-kernel.json");
    let page = root.path().join("page.html");
    let (code, output, error) = run(&["report", recorded, "--html", page.to_str().unwrap()]);
    assert_eq!(code, 0, "{error}");
    assert!(output.contains("fork ") && output.contains("paper-ga"), "{output}");
    assert!(fs::read_to_string(page).unwrap().ends_with("</html>"));
    let (_, output, _) = run(&["report", recorded, "--json", "-"]);
    assert!(output == fs::read_to_string(recorded).unwrap(), "not as it was");
    for (text, why) in [
        ("", "is no JSON"),
        ("{\"schema\": \"other/1\"}", "is no report"),
        ("{\"schema\": \"trimtab.tune/1\", \"budget\": []}", "does not keep to it"),
    ] {
        let file = root.path().join("file.json");
        fs::write(&file, text).unwrap();
        let (code, _, error) = run(&["report", file.to_str().unwrap()]);
        assert!(code == 1 && error.contains(why), "{code} {error}");
    }
}

#[test]
fn report_lists_and_shows_experiments() {
    let root = tempfile::tempdir().unwrap();
    let work = root.path().to_str().unwrap();
    let mut store = Store::open(&root.path().join("experiments.sqlite")).unwrap();
    for (verb, result) in [
        ("fit kernel", serde_json::from_str(&FitKernel::default().to_json()).unwrap()),
        ("pages", json!({"of": "pages"})),
    ] {
        let experiment = Experiment {
            finished: SystemTime::UNIX_EPOCH + Duration::from_secs(1_738_324_800),
            verb: verb.to_owned(),
            command: vec!["trimtab".to_owned(), "a b".to_owned()],
            tools: [("clang".to_owned(), "22.1.8".to_owned())].into(),
            seed: Some(7),
            hashes: [("source".to_owned(), "00ff".to_owned())].into(),
            result,
        };
        store.insert(&experiment).unwrap();
    }
    let (code, output, _) = run(&["report", "--list", "--work", work]);
    assert_eq!(code, 0);
    assert!(output.contains("2025-01-31T12:00:00Z"), "{output}");
    assert!(output.contains("fit kernel") && output.contains("pages"), "{output}");

    let page = root.path().join("fit.html");
    let page = page.to_str().unwrap();
    let (code, output, _) = run(&["report", "1", "--work", work, "--html", page]);
    assert_eq!(code, 0);
    assert!(output.contains("0 → 0 pages of code touched"), "{output}");
    assert!(
        output.ends_with(
            "\nexperiment 1: fit kernel\n  repeat with: trimtab 'a b'\n  seed: 7\n  clang: \
             22.1.8\n  sha256 of source: 00ff\n"
        ),
        "{output}"
    );
    assert!(fs::read_to_string(page).unwrap().starts_with("<!DOCTYPE html>"));
    let (code, _, error) = run(&["report", "2", "--work", work, "--html", page]);
    assert_eq!(code, 1);
    assert!(error.contains("is one of `trimtab pages`, which has no page"), "{error}");
    let (_, output, _) = run(&["report", "--work", work, "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap(), json!({"of": "pages"}));

    let (code, _, error) = run(&["report", "3", "--work", work]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no experiment 3 in "), "{error}");
    assert!(error.contains("  hint: trimtab report --list shows"), "{error}");
}

#[test]
fn an_error_that_nobody_reads_is_one_all_the_same() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Process::new(PROGRAM);
    let status = command.args(["pages", "/none/such"]).stderr(writer).status().unwrap();
    assert!(matches!(status.code(), Some(1 | 2)), "{status}");
}
