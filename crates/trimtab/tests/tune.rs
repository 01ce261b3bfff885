//! `trimtab tune`, end to end on a small program of its own, with flags that do, undo and break things.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use app::Bench;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use trimtab_lab::store::{self, Status, Store};

/// Does more where it is told to, less where it is optimised, and goes wrong where `BROKEN` is defined.
const SOURCE: &str = r#"
#include <stdio.h>
#ifndef EXTRA
#define EXTRA 0
#endif
static unsigned table[256];
int main(int count, char **words)
{
	unsigned sum = 0, rounds = count > 1 ? 40 : 20;
	for (unsigned round = 0; round < rounds + EXTRA; round++)
		for (unsigned i = 0; i < 256; i++)
			sum = sum * 31 + (table[i] += i ^ round);
#ifdef BROKEN
	sum++;
#endif
#ifdef FEWER
	/* Nothing. */
#else
	for (volatile unsigned i = 0; i < 20000; i++)
		;
#endif
	printf("%u\n", EXTRA ? 1 : sum);
	return words[0] == 0;
}
"#;

const FLAGS: &str = "EITHER 2\n-O1\n-O3\n-DFEWER\n-DBROKEN\n-funroll-loops\n-fno-such-flag\n-g\n\
                     -DUNUSED\n-fno-inline\n";

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.file("sum.c"), SOURCE).unwrap();
    fs::write(bench.file("flags.txt"), FLAGS).unwrap();
    bench
}

const BUILD: &str = "\"$CC\" $CFLAGS sum.c -o sum";

fn tune<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["tune", "program", "--quiet", "--build", BUILD, "--flags", "flags.txt"];
    words.extend(["--json", "out.json", "--rounds", "0", "--budget", "24", "--portable"]);
    words.extend(more);
    words
}

fn count(json: &Value, name: &str) -> u64 {
    json["evaluations"][name].as_u64().unwrap()
}

#[test]
fn what_helps_is_found_what_is_wrong_is_remembered_and_nothing_is_done_twice() {
    let bench = bench();
    let run = tune(&["--run", "./sum", "--held-out", "./sum more"]);
    let (code, output, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{output}{error}");
    let json = bench.json("out.json");
    let minimal = json["minimal"]["flags"].as_str().unwrap();
    assert!(minimal.contains("-DFEWER") && !minimal.contains("-DUNUSED"), "{json:#}");
    assert!(!json["best"]["flags"].as_str().unwrap().contains("BROKEN"), "{json:#}");
    assert!(json["minimal"]["fitness_ratio"].as_f64().unwrap() < 0.9, "{json:#}");
    assert!(json["minimal"]["held_out_ratio"].as_f64().unwrap() < 0.95, "{json:#}");
    assert_eq!(json["space"]["refused"], serde_json::json!(["-fno-such-flag"]));
    let failing = json["failing"].as_array().unwrap();
    let broken = failing.iter().find(|failing| failing["flags"] == "-DBROKEN").unwrap();
    assert!(broken["reason"].as_str().unwrap().contains("prints something else"), "{json:#}");
    // -g and -DUNUSED change nothing of the image.
    assert!(count(&json, "deduplicated") > 0 && count(&json, "failed") > 0, "{json:#}");
    assert!(count(&json, "measured") < count(&json, "built"), "{json:#}");
    assert!(output.contains("CFLAGS=\"") && output.contains("-DFEWER"), "{output}");
    // The same again finds all of it in the table, and comes to the same.
    let (code, _, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{error}");
    let again = bench.json("out.json");
    assert_eq!((count(&again, "built"), count(&again, "measured")), (0, 0), "{again:#}");
    for key in ["best", "minimal", "effects", "history", "front", "failing"] {
        assert_eq!(again[key], json[key], "{key}");
    }
    let (code, shown, error) = bench.trimtab(&["report", "--work", "trimtab-work"]);
    assert_eq!(code, 0, "{error}");
    assert!(shown.contains("-DFEWER"), "{shown}");
}

#[test]
fn what_a_run_reads_and_writes_in_the_folder_is_no_part_of_the_program() {
    let bench = bench();
    let words =
        tune(&["--run", "./sum", "--html"]).iter().fold("exec trimtab".to_owned(), |line, word| {
            format!("{line} '{}'", word.replace('\'', "'\\''"))
        });
    let run = |page: &str, log: &str| {
        bench.sh(&format!("{words} {page} > {log} 2>> errors.txt"));
        bench.json("out.json")
    };
    let first = run("a.html", "one.log");
    bench.good("trimtab", &["tune", "trials", "--export", "tried.jsonl"]);
    fs::write(bench.file("flags.txt"), format!("# the same\n{FLAGS}")).unwrap();
    let again = run("./tools/../b.html", "two.log");
    assert_eq!((count(&again, "built"), count(&again, "measured")), (0, 0), "{again:#}");
    assert_eq!(again["repeat"]["inputs"], first["repeat"]["inputs"]);
    // Anything else is a part of it.
    fs::write(bench.file("sum.h"), "").unwrap();
    let other = run("b.html", "two.log");
    assert_ne!(other["repeat"]["inputs"]["subject"], first["repeat"]["inputs"]["subject"]);
}

/// Goes through more memory than a first-level cache has, unless it is told to go through less.
const WALK: &str = r#"
#include <stdio.h>
#ifndef BYTES
#define BYTES (1 << 20)
#endif
static volatile char memory[1 << 20];
int main(void)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < 40000; i++)
		sum += memory[i * 4096 % BYTES + i % 64] + 1;
	printf("%u\n", sum);
	return 0;
}
"#;

#[test]
fn by_the_model_of_a_core_what_waits_for_memory_is_slower_though_it_executes_the_same() {
    let bench = bench();
    fs::write(bench.file("walk.c"), WALK).unwrap();
    fs::write(bench.file("size.txt"), "-DBYTES=8192\n-DUNUSED\n-g\n").unwrap();
    let mut run = vec!["tune", "program", "--quiet", "--flags", "size.txt", "--json", "out.json"];
    run.extend(["--build", "\"$CC\" $CFLAGS walk.c -o walk", "--run", "./walk", "--rounds", "0"]);
    run.extend(["--budget", "6", "--portable"]);
    let (code, output, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{output}{error}");
    let instructions = bench.json("out.json");
    assert_eq!(instructions["core"], Value::Null);
    assert!(instructions["best"]["fitness_ratio"].as_f64().unwrap() > 0.9, "{instructions:#}");
    run.extend(["--core", "small"]);
    let (code, output, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{output}{error}");
    let json = bench.json("out.json");
    assert_eq!(json["minimal"]["flags"], "-O2 -DBYTES=8192", "{json:#}");
    assert!(json["minimal"]["fitness_ratio"].as_f64().unwrap() < 0.6, "{json:#}");
    let row = |place: usize| &json["core"]["counts"][place];
    let [base, tuned] = ["base", "tuned"].map(|key| {
        let counts: Vec<f64> = (0..5).map(|place| row(place)[key].as_f64().unwrap()).collect();
        assert_eq!(counts[0], counts[1] + (counts[2] + counts[3]) * 15.0 + counts[4] * 13.0);
        counts
    });
    assert_eq!(row(3)["what"], "l1d misses");
    // Each step is a line of a page of its own.
    assert!(base[3] > 35_000.0 && tuned[3] < 10_000.0, "{json:#}");
    assert!(output.contains("cycles") && output.contains("small in-order core"), "{output}");
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let bench = bench();
    let run = tune(&["--run", "./sum", "--seed", "5"]);
    let mut child = bench.command("trimtab").args(&run).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, _, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{error}");
    let (whole, known) = (bench.json("out.json"), count(&bench.json("out.json"), "known"));
    let other = bench_with_table_of_its_own(&run);
    for key in ["best", "minimal", "history"] {
        assert_eq!(whole[key], other[key], "{key}");
    }
    assert!(known >= count(&other, "known"), "{whole:#}");
    let rooms = fs::read_dir(bench.file("trimtab-work/tune/rooms")).unwrap().count();
    assert_eq!(rooms, 0, "what the killed left is removed");
}

#[test]
fn a_signal_ends_a_run_also_where_nobody_reads_what_it_says() {
    let bench = bench();
    let mut command = bench.command("trimtab");
    command.args(["tune", "program", "--build", "sleep 100", "--run", "./sum"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("build the program as it is") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
    }
    drop(said);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() < Duration::from_secs(60) => sleep(Duration::from_millis(50)),
            None => {
                child.kill().unwrap();
                panic!("it does not end");
            }
        }
    };
    assert_eq!(status.code(), Some(128 + Signal::SIGTERM as i32));
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_that_another_host_would_wait_for() {
    let bench = bench();
    let build = format!("case $CFLAGS in *-O3*) sleep 100;; esac; {BUILD}");
    let mut command = bench.command("trimtab");
    command.args(["tune", "program", "-q", "--build", &build, "--run", "./sum"]);
    let mut child = command.args(["--flags", "flags.txt"]).spawn().unwrap();
    let running = || {
        let store = Store::open_existing(&bench.file("trimtab-work").join(store::FILE)).ok();
        let progress = store.and_then(|store| store.progress(1).ok()).unwrap_or_default();
        progress.iter().find(|(status, _)| *status == Status::Running).map(|(_, count)| *count)
    };
    let start = Instant::now();
    while running().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is tried");
        sleep(Duration::from_millis(50));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(running(), None);
}

fn bench_with_table_of_its_own(run: &[&str]) -> Value {
    let bench = bench();
    let (code, _, error) = bench.trimtab(run);
    assert_eq!(code, 0, "{error}");
    bench.json("out.json")
}

#[test]
fn two_runs_share_a_table() {
    let bench = bench();
    let runs = ["7", "8"].map(|seed| {
        let mut run = tune(&["--run", "./sum", "--seed", seed]);
        let place = run.iter().position(|word| *word == "out.json").unwrap();
        run[place] = if seed == "7" { "7.json" } else { "8.json" };
        bench.command("trimtab").args(&run).spawn().unwrap()
    });
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let (one, other) = (bench.json("7.json"), bench.json("8.json"));
    assert!(count(&one, "known") + count(&other, "known") > 0, "{one:#}{other:#}");
    assert_eq!(one["arms"][1]["ratio"], other["arms"][1]["ratio"]);
}

#[test]
fn what_cannot_be_tuned_is_said() {
    let bench = bench();
    fs::write(bench.file("wrong.txt"), "EITHER 3\n-O1\n").unwrap();
    let said = |more: &[&str], expected: &str, code: i32| {
        let (found, _, error) = bench.trimtab(more);
        assert_eq!(found, code, "{error}");
        assert!(error.contains(expected), "{expected}: {error}");
    };
    said(&["tune", "program"], "required", 2);
    said(&["tune", "program", "no-such-program"], "there is no program no-such-program", 2);
    said(&tune(&["--run", "sum"]), "does not begin with a file of the folder", 2);
    said(&tune(&["--run", "./sum && date +%N"]), "differs from run to run", 1);
    said(&tune(&["--run", "./sum", "--check", "false"]), "the check failed", 1);
    said(&tune(&["--run", "./sum", "--compiler", "true"]), "expected gcc or clang", 2);
    said(&tune(&["--run", "./other", "--program", "sum"]), "the counted run failed", 1);
    said(&tune(&["--run", "./sum; true", "--program", "more.c"]), "the program", 1);
    let own = |build: &'static str| -> Vec<&'static str> {
        vec!["tune", "program", "-q", "--build", build, "--run", "./sum", "--flags", "flags.txt"]
    };
    said(&own("gcc -O2 sum.c -o sum"), "the same program with all flags", 1);
    said(&own("exit 3"), "the build failed", 1);
    said(&own("true"), "the build made no file sum", 1);
    let mut hangs = own("sleep 100");
    hangs.extend(["--build-limit", "1"]);
    said(&hangs, "took longer than its limit of 1 s", 1);
    let wrong = ["tune", "program", "--build", BUILD, "--run", "./sum", "--flags", "wrong.txt"];
    said(&wrong, "wrong.txt: line 1 says EITHER 3, and 1 lines follow", 2);
}

#[test]
fn a_held_out_run_that_cannot_be_counted_is_said_before_the_search_and_not_kept() {
    let bench = bench();
    let there = bench.file("trimtab-work/there");
    let held_out = format!("test -e {} && ./sum more", there.display());
    let run = tune(&["--run", "./sum", "--held-out", &held_out]);
    let (code, _, error) = bench.trimtab(&run);
    assert_eq!(code, 1, "{error}");
    assert!(
        error.contains("the run that is held out cannot be counted: with -O2 alone"),
        "{error}"
    );
    assert!(error.contains("--held-out"), "{error}");
    let store = Store::open_existing(&bench.file("trimtab-work").join(store::FILE)).unwrap();
    let trials: u64 = store.progress(1).unwrap().iter().map(|(_, count)| count).sum();
    assert_eq!(trials, 2, "the base and its image alone were tried");
    fs::write(there, "").unwrap();
    let (code, _, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{error}");
    assert!(bench.json("out.json")["minimal"]["held_out_ratio"].as_f64().is_some());
}

#[test]
fn lines_of_a_file_of_flags_that_are_left_out_are_said() {
    let bench = bench();
    let more = "-ffast-math\nEITHER 3\n-O3 -march=native\n-mavx2\n-fweb\n";
    fs::write(bench.file("flags.txt"), format!("{FLAGS}{more}")).unwrap();
    let run = tune(&["--run", "./sum", "--budget", "4"]);
    let run: Vec<&str> = run.into_iter().filter(|word| *word != "--quiet").collect();
    let place = run.iter().position(|word| *word == "24").unwrap();
    let run = [&run[..place - 1], &run[place + 1..]].concat();
    let (code, output, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{error}");
    let json = bench.json("out.json");
    let flags = |row: &Value| row["flags"].as_str().unwrap().to_owned();
    let left_out: Vec<String> =
        json["space"]["left_out"].as_array().unwrap().iter().map(flags).collect();
    assert_eq!(left_out, ["-ffast-math", "-O3 -march=native", "-mavx2"]);
    assert_eq!(json["space"]["flags"], 8);
    assert!(output.contains("-mavx2") && output.contains("--portable"), "{output}");
    assert!(error.contains("left out: -ffast-math"), "{error}");
}

#[test]
fn of_a_folder_that_is_built_already_it_is_said_what_to_do() {
    let bench = bench();
    fs::write(bench.file("GNUmakefile"), "sum: sum.c\n\t$(CC) $(CFLAGS) -o $@ $<\n").unwrap();
    bench.good("make", &["-s"]);
    let mut run = vec!["tune", "program", "-q", "--build", "make CC=\"$CC\" CFLAGS=\"$CFLAGS\""];
    run.extend(["--run", "./sum", "--flags", "flags.txt"]);
    let (code, _, error) = bench.trimtab(&run);
    assert!(code == 1 && error.contains("the same program with all flags"), "{error}");
    assert!(error.contains("make clean") && !error.contains("hand them over"), "{error}");
}

#[test]
fn flags_that_make_a_build_or_run_hang_are_failures_with_a_reason() {
    let bench = bench();
    fs::write(bench.file("flags.txt"), "-DHANG\n-DFEWER\n-DSTUCK\n").unwrap();
    let build = "case $CFLAGS in *HANG*) sleep 60;; esac; \"$CC\" $CFLAGS sum.c -o sum";
    let source = SOURCE.replace(
        "#ifdef BROKEN",
        "#ifdef STUCK\n\tfor (;;) sum += table[sum & 255];\n#endif\n#ifdef BROKEN",
    );
    fs::write(bench.file("sum.c"), source).unwrap();
    let run = [
        "tune",
        "program",
        "-q",
        "--build",
        build,
        "--run",
        "./sum",
        "--flags",
        "flags.txt",
        "--json",
        "out.json",
        "--rounds",
        "0",
        "--budget",
        "8",
        "--build-limit",
        "3",
        "--limit",
        "3",
        "--search",
        "random",
    ];
    let (code, _, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{error}");
    let json = bench.json("out.json");
    let reason = |flag: &str| {
        let failing = json["failing"].as_array().unwrap();
        let found = failing.iter().find(|failing| failing["flags"] == flag);
        found.unwrap_or_else(|| panic!("{json:#}"))["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason("-DHANG").contains("the build took longer"), "{json:#}");
    assert!(reason("-DSTUCK").contains("the counted run took longer"), "{json:#}");
    assert!(json["minimal"]["flags"].as_str().unwrap().contains("-DFEWER"), "{json:#}");
}

#[test]
fn the_space_is_printed_and_read_again() {
    let bench = bench();
    let text = bench.good("trimtab", &["tune", "flags"]);
    for option in ["-funroll-loops", "-fno-gcse", "--param=max-unroll-times=16", "EITHER 3"] {
        assert!(text.lines().any(|line| line == option), "{option}: {text}");
    }
    assert!(!text.contains("-ffast-math"));
    let summary = bench.good("trimtab", &["tune", "flags", "--summary", "--kernel"]);
    assert!(summary.contains("inlining") && summary.contains("refused or ignored"), "{summary}");
    let clang = bench.good("trimtab", &["tune", "flags", "--compiler", "clang"]);
    assert!(clang.lines().any(|line| line == "-fno-unroll-loops"), "{clang}");
}

#[test]
fn searches_are_held_against_each_other() {
    let bench = bench();
    let words = [
        "tune",
        "bench",
        "-q",
        "fib",
        "--seeds",
        "2",
        "--budgets",
        "3,6",
        "--searches",
        "incumbent,random",
        "--no-optuna",
        "--rounds",
        "2",
        "--json",
        "bench.json",
    ];
    let output = bench.good("trimtab", &words);
    let json = bench.json("bench.json");
    assert_eq!(json["schema"], "trimtab.tune.bench/1");
    assert_eq!(json["rows"].as_array().unwrap().len(), 6);
    let summary = json["summary"].as_array().unwrap();
    assert_eq!(summary.len(), 6, "two searches and the best arm after two budgets: {json:#}");
    assert_eq!(summary[2]["search"], "best-arm");
    let ratio = |place: usize, of: &str| summary[place]["ratio"][of].as_f64().unwrap();
    assert!(ratio(3, "mean") <= ratio(0, "mean"), "more is tried: {json:#}");
    assert!(ratio(3, "mean") <= 1.0, "ours begins with the base: {json:#}");
    assert_eq!(json["left_out"], serde_json::json!(["optuna-tpe: it was not asked for"]));
    let timed = json["timed"].as_array().unwrap();
    assert!(timed.len() == 1 && timed[0]["search"] == "incumbent", "{json:#}");
    assert!(timed[0]["fitness_ratio"].as_f64() < Some(1.0), "{json:#}");
    assert!(timed[0]["time_ratio"]["mean"].as_f64() > Some(0.0), "{json:#}");
    assert_eq!(timed[0]["rounds"], 2, "{json:#}");
    assert!(output.contains("incumbent") && output.contains("random"), "{output}");
}

#[test]
fn the_system_calls_of_a_command_are_counted() {
    let bench = Bench::new();
    let script = "cd /; cd /tmp; cd /no/such/folder || echo said";
    let words = ["tune", "profile", "-q", "--json", "calls.json", "--", "/bin/sh", "-c", script];
    let (code, output, error) = bench.trimtab(&words);
    assert_eq!(code, 0, "{error}");
    assert!(output.contains("chdir") && error.contains("said"), "{output}{error}");
    let json = bench.json("calls.json");
    assert_eq!(json["schema"], "trimtab.tune.profile/1");
    let calls = json["calls"].as_array().unwrap();
    let changes = calls.iter().find(|call| call["name"] == "chdir").unwrap();
    assert_eq!((&changes["times"], &changes["failed"]), (&3.into(), &1.into()));
    let weights: f64 = calls.iter().map(|call| call["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{json:#}");
    assert_eq!(json["ecdf"].as_array().unwrap().last().unwrap()["share"], 1.0);
    let (code, _, error) = bench.trimtab(&["tune", "profile", "--", "/no/such/program"]);
    assert!(code == 1 && error.contains("/no/such/program"), "{error}");
}

#[test]
fn searches_are_compared_without_optuna_where_it_cannot_be_installed() {
    let bench = Bench::new();
    let python = "#!/bin/sh\nfor last; do :; done\ncase \"$*\" in *venv*) mkdir -p \"$last/bin\";; esac\nexit 1\n";
    fs::create_dir(bench.file("bin")).unwrap();
    fs::write(bench.file("bin/python3"), python).unwrap();
    bench.good("chmod", &["+x", "bin/python3"]);
    let run = "PATH=$PWD/bin:$PATH; trimtab tune bench -q fib --seeds 2 --budgets 2 \
               --searches incumbent --json bench.json";
    bench.good("sh", &["-c", run]);
    let left_out = bench.json("bench.json")["left_out"][0].as_str().unwrap().to_owned();
    assert!(left_out.starts_with("optuna-tpe: making a Python"), "{left_out}");
}
