//! Orders for real linkers: written, linked with, run, and checked.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;
use serde_json::{Value, json};

/// The order of `before` for a linker, as the file `NAME.order`.
fn order(bench: &Bench, linker: &str, before: &str, with_map: bool) -> (String, String) {
    let file = format!("{linker}.order");
    let map = format!("{before}.map");
    let mut arguments = vec!["order", before, "--trace", "start.trace"];
    arguments.extend(["--linker", linker, "-o", &file]);
    if with_map {
        arguments.extend(["--map", &map]);
    }
    let (code, output, error) = bench.trimtab(&arguments);
    assert_eq!(code, 0, "{error}");
    (fs::read_to_string(bench.file(&file)).unwrap(), output)
}

/// Runs both programs, which must say the same, and checks the order.
fn checked(bench: &Bench, order: &str, map: &[&str]) -> (i32, Value, String) {
    let said = bench.good("./before", &["all"]);
    assert!(said.starts_with("started: ") && said.contains("\nall: "), "{said}");
    assert_eq!(bench.good("./after", &["all"]), said);
    let mut arguments = vec!["check", "after", "--order", order, "--before", "before"];
    arguments.extend(["--json", "-"]);
    arguments.extend(map);
    let (code, output, error) = bench.trimtab(&arguments);
    (code, serde_json::from_str(&output).unwrap(), error)
}

/// Lines that no linker can follow: an unknown and a discarded function, and one again.
fn with_strange_lines(order: &str, form: impl Fn(&str) -> String, end: &str) -> String {
    let lines: String =
        ["no_such_function", "unused", "mix_more"].map(|name| form(name) + "\n").concat();
    let body = order.strip_suffix(end).unwrap();
    format!("{body}{lines}{end}")
}

fn assert_accounted(result: &Value, placed_at_least: u64) {
    let names = &result["names"];
    assert_eq!(names["unknown"], json!(["no_such_function"]), "{result}");
    assert_eq!(names["discarded"], json!(["unused"]), "{result}");
    assert_eq!(names["misplaced"], json!([]), "{result}");
    let duplicate: Vec<&str> =
        names["duplicate"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(duplicate.contains(&"mix_more"), "{result}");
    assert!(result["order"]["placed"].as_u64().unwrap() >= placed_at_least, "{result}");
    assert_eq!(result["boundaries"], json!([]));
}

/// Pages that the program's start touches.
fn touched(bench: &Bench, program: &str) -> u64 {
    let arguments = ["pages", program, "--trace", "start.trace", "--json", "-"];
    let (code, output, error) = bench.trimtab(&arguments);
    assert_eq!(code, 0, "{error}");
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(result["schema"], "trimtab.pages/1");
    result["touched"].as_u64().unwrap()
}

fn assert_fewer_pages(bench: &Bench, summary: &str) {
    let (before, after) = (touched(bench, "before"), touched(bench, "after"));
    assert!(after * 2 < before, "{before} and {after}");
    // What was promised is what came, but for a page at the border of the C library's own code.
    let promised: u64 = summary
        .split(" -> ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap()
        .parse()
        .unwrap();
    assert!(after.abs_diff(promised) <= 1, "{after}, promised {promised}");
}

#[test]
fn lld_follows_an_order() {
    let bench = Bench::new();
    bench.compile();
    bench.link("lld", "before", &[]);
    let (text, summary) = order(&bench, "lld", "before", true);
    assert!(summary.contains("names that several functions have, written once: mix"), "{summary}");
    assert_eq!(text.lines().filter(|line| *line == "mix").count(), 1);
    let strange = with_strange_lines(&text, str::to_owned, "");
    fs::write(bench.file("strange.order"), strange).unwrap();
    bench.link("lld", "after", &["-Wl,--gc-sections", "-Wl,--symbol-ordering-file=strange.order"]);
    for map in [&["--map", "after.map"][..], &[]] {
        let (code, result, error) = checked(&bench, "strange.order", map);
        assert_eq!((code, error.as_str()), (0, ""), "{result}");
        assert_accounted(&result, 22);
        let duplicate = &result["names"]["duplicate"];
        assert!(duplicate.as_array().unwrap().contains(&json!("mix")), "{result}");
    }
    assert_fewer_pages(&bench, &summary);
}

#[test]
fn gold_follows_an_order() {
    let bench = Bench::new();
    bench.compile();
    bench.link("gold", "before", &[]);
    let (text, summary) = order(&bench, "gold", "before", false);
    assert!(summary.contains("sections were guessed to be called .text.NAME"), "{summary}");
    assert!(text.contains("\n.text.work_57\n.text.work_00\n"), "{text}");
    // The C library's start lies in a section that shares its name with all others.
    let text = text.replace(".text._start\n", "");
    let strange = with_strange_lines(&text, |name| format!(".text.{name}"), "");
    fs::write(bench.file("strange.order"), strange).unwrap();
    bench.link(
        "gold",
        "after",
        &["-Wl,--gc-sections", "-Wl,--section-ordering-file=strange.order"],
    );
    let (code, result, error) = checked(&bench, "strange.order", &[]);
    assert_eq!((code, error.as_str()), (0, ""), "{result}");
    assert_accounted(&result, 22);
    assert_fewer_pages(&bench, &summary);
}

#[test]
fn gnu_ld_follows_an_order() {
    let bench = Bench::new();
    bench.compile();
    bench.link("bfd", "before", &[]);
    let (text, summary) = order(&bench, "gnu", "before", true);
    // Files tell the two of the same name apart.
    assert!(text.contains("\nmain.o(.text.mix)\nmore.o(.text.mix)\n"), "{text}");
    let strange = with_strange_lines(&text, |name| format!("*(.text.{name})"), "}\n");
    fs::write(bench.file("strange.order"), &strange).unwrap();
    // Before 2.43 GNU ld has no option for it: its own script takes the lines.
    let lines: Vec<&str> = strange.lines().collect();
    let inner = lines[2..lines.len() - 1].join("\n");
    let said = bench.good("ld.bfd", &["--verbose"]);
    let script = said.split("==================================================\n").nth(1).unwrap();
    let head = "  .text           :\n  {\n";
    assert!(script.contains(head), "{script}");
    let script = script.replacen(head, &format!("{head}{inner}\n"), 1);
    fs::write(bench.file("app.lds"), script).unwrap();
    bench.link("bfd", "after", &["-Wl,--gc-sections", "-Wl,-T,app.lds"]);
    for map in [&["--map", "after.map"][..], &[]] {
        let (code, result, error) = checked(&bench, "strange.order", map);
        assert_eq!((code, error.as_str()), (0, ""), "{result}");
        assert_eq!(result["names"]["discarded"], json!(["unused"]), "{result}");
        assert!(result["order"]["placed"].as_u64().unwrap() >= 22, "{result}");
    }
    assert_fewer_pages(&bench, &summary);
}

#[test]
fn an_order_that_was_not_followed_is_told() {
    let bench = Bench::new();
    bench.compile();
    bench.link("lld", "before", &[]);
    order(&bench, "lld", "before", false);
    bench.link("lld", "after", &[]);
    let (code, result, error) = checked(&bench, "lld.order", &[]);
    assert_eq!(code, 1);
    assert!(result["order"]["misplaced"].as_u64().unwrap() > 0, "{result}");
    assert!(error.starts_with("trimtab: after does not honour lld.order: "), "{error}");
    assert!(error.contains(" lines misplaced, the first is "), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn the_order_of_another_program_is_told() {
    let bench = Bench::new();
    bench.compile();
    bench.link("lld", "before", &[]);
    let foreign = "work_57\nwork_00\nalpha\nbeta\n";
    fs::write(bench.file("foreign.order"), foreign).unwrap();
    bench.link("lld", "after", &["-Wl,--symbol-ordering-file=foreign.order"]);
    let (code, result, error) = checked(&bench, "foreign.order", &[]);
    assert_eq!(code, 1);
    assert_eq!(result["names"]["unknown"], json!(["alpha", "beta"]));
    assert_eq!(
        error,
        "trimtab: after does not honour foreign.order: 2 of 4 lines are unknown, allowed are \
         10.0 %\n"
    );
    let (code, _, _) =
        bench.trimtab(&["check", "after", "--order", "foreign.order", "--max-unknown", "0.5"]);
    assert_eq!(code, 0);
}

/// A program of twenty functions of these names, called in turn.
fn numbered(name: &str) -> String {
    let function = |index| {
        format!(
            "__attribute__((noinline)) int {name}_{index:02}(int x){{ volatile int v=x; return v+{index}; }}\n"
        )
    };
    let call = |index| format!("s+={name}_{index:02}(c);");
    let functions: String = (0..20).map(function).collect();
    let calls: String = (0..20).map(call).collect();
    format!("{functions}int main(int c,char**v){{ int s=0; (void)v;{calls} return s==0; }}\n")
}

#[test]
fn an_order_whose_functions_are_gone_is_not_honoured() {
    let bench = Bench::new();
    fs::write(bench.file("v1.c"), numbered("alpha")).unwrap();
    fs::write(bench.file("v2.c"), numbered("beta")).unwrap();
    let names: String = (0..20).map(|index| format!("alpha_{index:02}\n")).collect();
    fs::write(bench.file("v1.order"), format!("main\n{names}")).unwrap();
    for version in ["v1", "v2"] {
        bench.sh(&format!(
            "gcc -O1 -ffunction-sections -no-pie -Btools/ -fuse-ld=lld \
             -Wl,--symbol-ordering-file=v1.order -Wl,--no-warn-symbol-ordering -o {version} {version}.c"
        ));
    }
    let (code, output, error) =
        bench.trimtab(&["check", "v2", "--order", "v1.order", "--before", "v1"]);
    assert_eq!(code, 1, "{output}");
    assert_eq!(
        error,
        "trimtab: v2 does not honour v1.order: 20 of 21 lines are gone, allowed are 10.0 %: the program \
         has 20 functions that v1 does not have, so it was built from other sources; make the order anew \
         from this build\n"
    );
    // The linker left them out of the very same program.
    fs::write(bench.file("v1.c"), numbered("alpha").replace("s+=alpha_1", "if (0) s+=alpha_1"))
        .unwrap();
    bench.sh("gcc -O1 -ffunction-sections -no-pie -Btools/ -fuse-ld=lld -Wl,--gc-sections \
         -Wl,--symbol-ordering-file=v1.order -o collected v1.c");
    let arguments = ["check", "collected", "--order", "v1.order", "--before", "v1"];
    let (code, _, error) = bench.trimtab(&arguments);
    assert_eq!(code, 1);
    assert!(
        error.contains("10 of 21 lines are gone, allowed are 10.0 %: the linker left them out"),
        "{error}"
    );
    let (code, _, _) = bench.trimtab(&[&arguments[..], &["--max-unknown", "0.5"]].concat());
    assert_eq!(code, 0);
}

#[test]
fn suffixes_of_another_build_are_found_by_order_and_named_by_check() {
    let bench = Bench::new();
    let build = |hash: u32| {
        let functions: String = (0..10)
            .map(|index| {
                let name = format!("work_{index}.llvm.{}", hash + index);
                format!(
                    ".section .text.{name},\"ax\"\n.type {name},@function\n{name}: .fill 32,1,0x90\n.size {name},32\n"
                )
            })
            .collect();
        let start = ".section .text._start,\"ax\"\n.globl _start\n.type _start,@function\n_start: ret\n.size _start,1\n";
        fs::write(bench.file("a.s"), format!("{start}{functions}")).unwrap();
        bench.sh("gcc -c a.s");
    };
    build(100);
    bench.sh("ld.lld -o old a.o");
    let names: Vec<String> =
        (0..10).rev().map(|index| format!("work_{index}.llvm.{}", 100 + index)).collect();
    fs::write(bench.file("start.trace"), names.join("\n")).unwrap();
    let order = |program: &str| {
        let (code, output, error) =
            bench.trimtab(&["order", program, "--trace", "start.trace", "-o", "out.order"]);
        assert_eq!(code, 0, "{error}");
        (fs::read_to_string(bench.file("out.order")).unwrap(), output)
    };
    let (old, _) = order("old");
    build(500);
    bench.sh("ld.lld -o new a.o --symbol-ordering-file=out.order --no-warn-symbol-ordering");
    let (code, _, error) =
        bench.trimtab(&["check", "new", "--order", "out.order", "--before", "old"]);
    assert_eq!(code, 1);
    assert!(error.contains("under another suffix of the compiler's"), "{error}");
    assert!(error.contains(".llvm.1") && error.contains(".llvm.5"), "{error}");
    // The old trace still makes an order of the new program.
    let (new, output) = order("new");
    assert!(output.contains("100.0 % of names"), "{output}");
    let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("10 found only without the compiler's suffix"), "{output}");
    assert_eq!(new, old.replace(".llvm.10", ".llvm.50"));
    bench.sh("ld.lld -o new a.o --symbol-ordering-file=out.order");
    assert_eq!(bench.trimtab(&["check", "new", "--order", "out.order", "--before", "old"]).0, 0);
}

#[test]
fn gcc_keeps_cold_code_in_sections_of_another_name() {
    let bench = Bench::new();
    bench.good("gcc", &["-O2", "-ffunction-sections", "-fno-pie", "-c", "main.c", "more.c"]);
    bench.link("lld", "before", &[]);
    fs::write(bench.file("start.trace"), "complain\nmain\n").unwrap();
    for (with_map, expected) in [
        (true, "\n.text.unlikely.complain\n.text.startup.main\n"),
        (false, "\n.text.complain\n.text.main\n"),
    ] {
        let (text, _) = order(&bench, "gold", "before", with_map);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn what_perf_saw_of_a_program_is_found_in_any_build_of_it() {
    let bench = Bench::new();
    for kind in ["no-pie", "pie"] {
        bench.good("gcc", &["-O2", &format!("-{kind}"), "-o", kind, "main.c", "more.c"]);
    }
    // Samples of the program at a fixed address, and of one that the system moved.
    for recorded in ["no-pie", "pie"] {
        let samples = format!("{}/../perf/{recorded}.txt", app::SOURCES);
        let samples = fs::read_to_string(samples).unwrap();
        fs::write(bench.file("perf.txt"), &samples).unwrap();
        for program in ["no-pie", "pie"] {
            let arguments = ["order", program, "--trace", "perf.txt", "-o", "perf.order"];
            let (code, output, error) = bench.trimtab(&arguments);
            assert_eq!(code, 0, "{recorded} in {program}: {error}");
            assert!(
                output.contains("perf.txt: 100.0 % of names, "),
                "{recorded} in {program}: {output}"
            );
            let order = fs::read_to_string(bench.file("perf.order")).unwrap();
            let names: Vec<&str> = order.lines().filter(|line| !line.starts_with('#')).collect();
            let mut seen: Vec<&str> = samples
                .lines()
                .filter_map(|line| line.split_whitespace().nth(6)?.split('+').next())
                .collect();
            seen.dedup();
            assert!(seen.len() >= 10);
            assert_eq!(names, seen, "{recorded} in {program}");
        }
    }
}
