//! What a counter of the processor or of the system has counted is attributed to the right functions.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;

use common::{Bench, Compiler, GCC, GCC_AARCH64, RUNTIME, compilers};
use trimtab_probe::{Hook, Recording, Selection};

/// `events.c` with and without probes.
fn bench(compiler: Compiler, flags: &[&str]) -> Bench {
    let bench = Bench::new(compiler, flags);
    let object = bench.compile("events.c", &[]);
    let (probed, _) = bench.instrument(&object, Hook::Event, Selection::default());
    bench.link("plain", &[&object], &[]);
    bench.link("probed", &[&probed], &[compiler.machine.runtime().as_os_str()]);
    bench
}

/// Calls, own events and events in all of each function.
type Counted = HashMap<String, (u64, u64, u64)>;

fn counted(recording: &[u8]) -> Counted {
    let recording = Recording::parse(recording).unwrap();
    assert_eq!(recording.lost, 0);
    let functions = recording.functions.into_iter();
    functions.map(|f| (f.name, (f.calls, f.own, f.total))).collect()
}

/// What children of the program have recorded, each in a file of its own.
fn children(bench: &Bench) -> Vec<Counted> {
    let files = std::fs::read_dir(bench.file("")).unwrap().map(|entry| entry.unwrap());
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("probed.out."));
    files.map(|file| counted(&std::fs::read(file.path()).unwrap())).collect()
}

fn check_faults(compiler: Compiler, flags: &[&str]) {
    // Beyond what they touch, functions are the first to use some pages: of the C library, of the stack,
    // and in a child of what it had in common with its parent, which is copied when it is written to.
    let near = |found: u64, expected| (expected..expected + 40).contains(&found);
    let bench = bench(compiler, flags);
    for event in ["page-faults", "minor-faults"] {
        let ran = bench.run_with("probed", &[("TRIMTAB_PROBE_EVENT", event)]);
        assert_eq!(ran, bench.run("plain"), "{flags:?}");
        let data = bench.recording("probed");
        assert_eq!(Recording::parse(&data).unwrap().event.as_deref(), Some(event));
        let faults = counted(&data);
        let label = format!("{} {flags:?} {event}: {faults:?}", compiler.c);
        for (name, calls, own, total) in [
            ("outer", 1, 0, 1500),
            ("recursive", 10, 0, 1000),
            ("thread", 2, 0, 1400),
            // Left by longjmp.
            ("skipped", 1, 0, 300),
            ("catches", 1, 0, 500),
            ("forks", 1, 0, 800),
            ("in_child", 0, 0, 0),
            ("clones", 1, 0, 0),
            ("by_itself", 0, 0, 0),
            ("executes", 1, 0, 0),
            ("spin", 100, 0, 0),
            ("touch", 17, 5200, 5200),
        ] {
            let found = faults[name];
            assert_eq!(found.0, calls, "{name}: {label}");
            assert!(near(found.1, own) && near(found.2, total), "{name}: {label}");
        }
        // Its stack grows by so much, and what the run time needs for so many calls is not in it.
        let (calls, own, total) = faults["deep"];
        assert_eq!((calls, own), (20_001, total), "{label}");
        assert!(own < 2500, "{label}");
        // Not left, but the program has ended. The threads are not in it.
        let (calls, _, total) = faults["main"];
        assert_eq!(calls, 1, "{label}");
        let within = ["outer", "recursive", "deep", "catches", "forks", "clones", "executes"];
        let within: u64 = within.into_iter().map(|name| faults[name].2).sum();
        assert!(near(total, within), "{label}");
        let own: u64 = faults.values().map(|function| function.1).sum();
        assert_eq!(own, total + faults["thread"].2, "{label}");
    }
    let all = children(&bench);
    // Of two runs.
    assert_eq!(all.len(), 2, "{flags:?}");
    for child in all {
        let (calls, own, total) = child["touch"];
        assert!(calls == 1 && near(own, 400) && total == own, "{flags:?}: {child:?}");
        assert!(near(child["in_child"].2, 400), "{flags:?}: {child:?}");
        assert_eq!((child["outer"].0, child["forks"].0, child["main"].0), (0, 1, 1), "{child:?}");
        assert!(child["main"].2 < 600, "{child:?}");
    }
}

#[test]
fn page_faults_are_those_of_the_functions_that_take_them() {
    for compiler in compilers() {
        check_faults(compiler, &["-O1"]);
        check_faults(compiler, &["-O0", "-static"]);
    }
}

#[test]
fn the_systems_other_counters_are_read_too() {
    let bench = bench(GCC, &["-O2"]);
    for event in ["major-faults", "context-switches", "task-clock"] {
        assert_eq!(
            bench.run_with("probed", &[("TRIMTAB_PROBE_EVENT", event)]),
            bench.run("plain"),
            "{event}"
        );
        let functions = counted(&bench.recording("probed"));
        let (_, own, _) = functions["touch"];
        match event {
            // A page takes 100 ns at least, and less than 100 us.
            "task-clock" => assert!((520_000..520_000_000).contains(&own), "{own} ns"),
            "major-faults" => assert_eq!(own, 0),
            // It waits for threads and children.
            _ => assert!(functions["main"].2 > 0, "{functions:?}"),
        }
    }
}

#[test]
fn instructions_are_counted_or_one_line_says_why_not() {
    let bench = bench(GCC, &["-O2"]);
    let plain = bench.run("plain");
    for event in ["instructions", "", "rffff"] {
        let ran = bench.run_with("probed", &[("TRIMTAB_PROBE_EVENT", event)]);
        if ran == plain {
            if event != "rffff" {
                let (calls, own, total) = counted(&bench.recording("probed"))["spin"];
                assert_eq!((calls, own), (100, total));
                assert!((200_000..201_000).contains(&own), "{own}");
            }
            continue;
        }
        // The program runs as it does without probes.
        assert_eq!(ran.code, plain.code);
        let error = ran.output.strip_prefix(&plain.output).unwrap();
        let name = if event.is_empty() { "instructions" } else { event };
        let begins =
            format!("trimtab-probe: the counter of {name} (TRIMTAB_PROBE_EVENT) cannot be read: ");
        let ends = "; page-faults and task-clock can be counted anywhere: nothing is recorded\n";
        assert!(error.starts_with(&begins) && error.ends_with(ends), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let reasons = [
            "this machine does not have it",
            "perf_event_paranoid",
            "cpu/rdpmc",
            "counters are in use",
        ];
        assert!(reasons.into_iter().any(|reason| error.contains(reason)), "{error}");
        assert!(!bench.file("probed.out").exists());
    }
}

#[test]
fn an_event_that_is_none_is_refused_with_those_that_are() {
    let bench = bench(GCC, &["-O2"]);
    let ran = bench.run_with("probed", &[("TRIMTAB_PROBE_EVENT", "page-fault")]);
    let error = ran.output.strip_prefix(&bench.run("plain").output).unwrap();
    let names = "instructions, cycles, ref-cycles, branches, branch-misses, cache-references, \
                 cache-misses, L1-dcache-load-misses, L1-icache-load-misses, LLC-load-misses, \
                 dTLB-load-misses, iTLB-load-misses, page-faults, minor-faults, major-faults, \
                 context-switches, task-clock, or r and a number in hexadecimal";
    assert_eq!(
        error,
        format!(
            "trimtab-probe: TRIMTAB_PROBE_EVENT is 'page-fault', expected {names}: \
             nothing is recorded\n"
        )
    );
    assert_eq!(ran.code, Some(0));
    assert!(!bench.file("probed.out").exists());
}

#[test]
fn a_counter_of_the_processor_is_read_from_its_page() {
    let bench = Bench::new(GCC, &["-O2"]);
    let object = bench.compile("counter.c", &["-I", RUNTIME, "-DMACHINE=x86_64"]);
    bench.link("counter", &[&object], &[]);
    let ran = bench.run("counter");
    assert_eq!((ran.code, ran.output.as_str()), (Some(0), "read\n"));
}

#[test]
fn on_aarch64_those_of_the_system_are_counted() {
    let bench = bench(GCC_AARCH64, &["-O2"]);
    let plain = bench.run("plain");
    assert_eq!(bench.run_with("probed", &[("TRIMTAB_PROBE_EVENT", "minor-faults")]), plain);
    // The emulator takes faults of its own.
    let faults = counted(&bench.recording("probed"));
    for (name, calls, least) in
        [("touch", 17, 5200), ("outer", 1, 1500), ("recursive", 10, 1000), ("thread", 2, 1400)]
    {
        assert_eq!(faults[name].0, calls, "{faults:?}");
        assert!(faults[name].2 >= least, "{faults:?}");
    }
    let ran = bench.run_with("probed", &[("TRIMTAB_PROBE_EVENT", "instructions")]);
    let error = ran.output.strip_prefix(&plain.output).unwrap();
    assert_eq!(
        error,
        "trimtab-probe: the counter of instructions (TRIMTAB_PROBE_EVENT) cannot be read: the \
         processor's are read on x86-64 only; page-faults and task-clock can be counted \
         anywhere: nothing is recorded\n"
    );
}
