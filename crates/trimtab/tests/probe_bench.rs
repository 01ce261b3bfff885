//! `trimtab probe bench` from end to end, on the program that does nothing but call.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;
use serde_json::Value;

/// Measures in as short a time as can be; what it is told besides, and what is in the environment.
fn measure(bench: &Bench, arguments: &[&str]) -> (i32, String, String) {
    let quick = ["probe", "bench", "--only", "fib", "--quick", "--no-suites", "--rounds", "2"];
    let mut command = bench.command("trimtab");
    // What is installed beside does not matter here, and simulating takes long.
    command.env_remove("DYNINST").args(quick).arg("--no-simulation").args(arguments);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn one_program_is_measured_in_many_ways() {
    let bench = Bench::new();
    let (code, output, error) = measure(&bench, &["--json", "bench.json", "--html", "bench.html"]);
    assert_eq!(code, 0, "{output}{error}");
    let json: Value =
        serde_json::from_str(&fs::read_to_string(bench.file("bench.json")).unwrap()).unwrap();
    assert_eq!(json["schema"], "trimtab.probe.bench/1");
    assert_eq!(json["rounds"], 2);
    let programs = json["programs"].as_array().unwrap();
    assert_eq!((programs.len(), &programs[0]["name"]), (1, &Value::from("fib")));
    let tools = programs[0]["tools"].as_array().unwrap();
    let find = |tool: &str, hook: &str, functions: &str| {
        let same = |found: &&Value| {
            found["tool"] == tool && found["hook"] == hook && found["functions"] == functions
        };
        tools.iter().find(same).unwrap_or_else(|| panic!("no {tool} {hook} {functions}: {json}"))
    };
    for (tool, hook, functions) in [
        ("trimtab", "count", "all"),
        ("trimtab", "value", "hot"),
        ("trimtab", "value", "all"),
        ("trimtab", "time", "all"),
        ("trimtab off", "count", "all"),
        ("trimtab off", "value", "all"),
        ("trimtab off", "time", "all"),
        ("macros", "value", "all"),
        ("-finstrument-functions", "value", "all"),
    ] {
        let found = find(tool, hook, functions);
        let ratio = |end: &str| found["time_ratio"][end].as_f64().unwrap();
        let (low, mean, high) = (ratio("low"), ratio("mean"), ratio("high"));
        assert!(0.0 < low && low <= mean && mean <= high, "{found}");
        assert!(found["ns_per_event"].is_f64(), "{found}");
        // Not simulated, but the key is there.
        assert_eq!(found.get("instruction_ratio"), Some(&Value::Null), "{found}");
        assert!(found["text_ratio"].as_f64().unwrap() > 1.0, "{found}");
    }
    // fib(32) calls itself so often; `all` are those, and main.
    const CALLS: u64 = 7_049_155;
    for tool in tools {
        let expected = if tool["functions"] == "hot" { CALLS } else { CALLS + 1 };
        assert_eq!(tool["events"], expected, "{tool}");
    }
    assert!(find("trimtab", "value", "all")["bytes_per_stub"].as_f64().unwrap() > 0.0);
    assert!(programs[0]["text_bytes"].as_u64().unwrap() > 0);
    let rewriting = &json["rewriting"];
    assert!(rewriting["written"].as_u64() > rewriting["bytes"].as_u64(), "{rewriting}");

    let targets = json["targets"].as_array().unwrap();
    let targets: Vec<&str> = targets.iter().map(|row| row["name"].as_str().unwrap()).collect();
    for part in ["ns a call, in all", "probes that are off", "read from files and written"] {
        assert!(targets.iter().any(|name| name.contains(part)), "{part}: {targets:?}");
    }
    let left_out = json["left_out"].as_array().unwrap();
    let page = fs::read_to_string(bench.file("bench.html")).unwrap();
    for part in ["was not looked at", "--quick leaves them out", "not simulated"] {
        let line = left_out.iter().find(|line| line.as_str().unwrap().contains(part));
        assert!(line.is_some() && page.contains(part), "{part}: {left_out:?}");
    }
    assert!(output.contains("MB/s") && output.contains("Targets"), "{output}");
}

#[test]
fn the_hook_compiles_in_each_form() {
    const PROBE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probe");
    let bench = Bench::new();
    let source = format!("{PROBE}/bench/hooks.c");
    let strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-I", PROBE, "-c", &source, "-o", "hook.o"];
    for (compiler, form) in [
        ("gcc", "-DCALLED"),
        ("gcc", "-DINLINE"),
        ("gcc", "-DUSER"),
        ("gcc", "-DDYNINST"),
        ("clang", "-DAFTER_INLINING"),
    ] {
        for counts in ["-DCOUNT", "-DVALUE"] {
            let mut arguments = strict.to_vec();
            arguments.extend([form, counts]);
            bench.good(compiler, &arguments);
        }
        let names = bench.good("nm", &["hook.o"]);
        assert!(form != "-DUSER" || names.contains("T trimtab_probe_user_leave"), "{names}");
    }
}

#[test]
fn programs_that_are_not_there_are_refused() {
    let bench = Bench::new();
    let (code, _, error) = measure(&bench, &["--only", "nothing"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("expected one of fib, bzip2"), "{error}");
}
