//! What is recorded is what happened.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::{Bench, GCC, compilers, runtime};
use trimtab_probe::run::build_runtime;
use trimtab_probe::{Hook, Profile, Recording, Selection};

/// Runs a case with a hook, and gives what was recorded.
fn record<T>(case: &str, flags: &[&str], hook: Hook, look: impl Fn(&Recording<'_>) -> T) -> T {
    let bench = Bench::new(GCC, flags);
    let object = bench.compile(case, &[]);
    let (probed, _) = bench.instrument(&object, hook, Selection::default());
    let plain = bench.compile("plain.c", &["-fexceptions"]);
    bench.link("probed", &[&probed, &plain], &[runtime().as_os_str()]);
    bench.run("probed");
    look(&Recording::parse(&bench.recording("probed")).unwrap())
}

fn calls(recording: &Recording<'_>) -> HashMap<String, (u64, u64)> {
    recording.functions.iter().map(|f| (f.name.clone(), (f.calls, f.exits))).collect()
}

#[test]
fn calls_are_counted_exactly() {
    let counted = record("calls.c", &["-O1"], Hook::Count, calls);
    // Naive Fibonacci of n makes 2 F(n + 1) - 1 calls.
    assert_eq!(counted["inner.0"], (2 * 233 - 1, 2 * 233 - 1));
    // 100 000 rounds of 0 to 15 calls within a call, all left by longjmp.
    assert_eq!(counted["deep"], (850_000, 0));
    assert_eq!(counted["even"].0 + counted["odd"].0, 100_002);
    assert_eq!(counted["even"].0, counted["even"].1);
    assert_eq!(counted["ten"], (2, 2));
}

#[test]
fn exceptions_leave_functions_too() {
    let counted = record("torture.cc", &["-O1"], Hook::Count, calls);
    for (name, (entered, left)) in &counted {
        // These never end: they are under way when std::terminate ends the program.
        let last = ["main", "_Z6cannotv", "_Z6passesi", "_Z7throweri", "_ZL5endedv"];
        if !last.contains(&name.as_str()) {
            assert_eq!(entered, left, "{name}");
        }
    }
    let (entered, left) = counted["_Z7throweri"];
    // Whether the stack is unwound before std::terminate is the compiler's choice.
    assert!(entered - left <= 1, "all but the one that ended the program: {entered} {left}");
    assert!(entered > 50_000, "{entered}");
}

#[test]
fn by_how_much_a_number_grew_is_added_up() {
    let expected = [
        ("nothing", 1000, 0),
        ("many", 1000, 30_000),
        ("thrower", 1000, 7000),
        ("passes", 1000, 9000),
        // 10 within 9 within 8...
        ("recursive", 10, 55),
        ("falls", 1, -5),
        ("more_than_half_of_a_word", 1, 1 << 40),
        ("grow", 4012, 3000 + 30_000 + 9000 + 10 - 5 + (1 << 40)),
    ];
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-fno-omit-frame-pointer"]] {
        let grown = record("value.cc", flags, Hook::Value, |recording| {
            let functions = &recording.functions;
            functions.iter().map(|f| (f.name.clone(), (f.calls, f.value.cast_signed()))).collect()
        });
        let grown: HashMap<String, (u64, i64)> = grown;
        for (name, calls, value) in expected {
            assert_eq!(grown[name], (calls, value), "{name} {flags:?}");
        }
    }
}

#[test]
fn edges_events_and_times_agree() {
    let counted = record("calls.c", &["-O1"], Hook::Count, calls);
    let edges = record("calls.c", &["-O1"], Hook::Edges, |recording| {
        let name = |index: usize| recording.functions[index].name.clone();
        let edges: HashMap<_, _> = recording
            .edges
            .iter()
            .map(|&(from, to, calls)| ((from.map(name), name(to)), calls))
            .collect();
        (calls(recording), edges)
    });
    let timed = record("calls.c", &["-O1"], Hook::Time, |recording| recording.functions.clone());
    let traced = record("calls.c", &["-O1"], Hook::Trace, |recording| {
        Profile::of(std::slice::from_ref(recording)).unwrap().functions
    });
    let traced: HashMap<_, _> = traced.into_iter().map(|row| (row.name.clone(), row)).collect();
    for (name, &(entered, _)) in &counted {
        assert_eq!(edges.0[name].0, entered, "{name}");
        assert_eq!(traced.get(name).map_or(0, |row| row.calls), entered, "{name}");
    }
    let edge = |from: &str, to: &str| edges.1[&(Some(from.to_owned()), to.to_owned())];
    assert_eq!(edge("nested", "inner.0"), 1);
    assert_eq!(edge("inner.0", "inner.0"), 2 * 233 - 2);
    assert_eq!(edge("hand_on", "ten"), 2);
    assert_eq!(edge("jumps", "deep"), 100_000);
    let main = timed.iter().find(|function| function.name == "main").unwrap();
    for function in &timed {
        assert!(function.own <= function.total.max(1) || function.name == "deep", "{function:?}");
        assert!(function.total <= main.total, "{function:?} within {main:?}");
    }
}

#[test]
fn the_first_execution_has_its_order() {
    let order = record("calls.c", &["-O0"], Hook::Order, |recording| {
        Profile::of(std::slice::from_ref(recording)).unwrap().native()
    });
    let names: Vec<&str> = order
        .lines()
        .skip(3)
        .map(|line| line.rsplit(' ').next().unwrap().strip_suffix("+0x0").unwrap())
        .collect();
    assert_eq!(&names[..5], ["early", "main", "two_registers", "add", "rotate"]);
    assert!(names.contains(&"compare"));
}

#[test]
fn whichever_compiler_made_the_run_time() {
    let mut all = Vec::new();
    for compiler in compilers() {
        let bench = Bench::new(GCC, &["-O1"]);
        let run_time = build_runtime(Path::new(compiler.c), &bench.file("run-time")).unwrap();
        // Each object has cells of its own.
        let mut objects = Vec::new();
        for case in ["calls.c", "plain.c"] {
            let object = bench.compile(case, &["-fexceptions"]);
            objects.push(bench.instrument(&object, Hook::Count, Selection::default()).0);
        }
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        bench.link("probed", &objects, &[run_time.as_os_str()]);
        bench.run("probed");
        let recording = bench.recording("probed");
        let counted = calls(&Recording::parse(&recording).unwrap());
        assert_eq!(counted["inner.0"], (2 * 233 - 1, 2 * 233 - 1), "{}", compiler.c);
        all.push(counted);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}
