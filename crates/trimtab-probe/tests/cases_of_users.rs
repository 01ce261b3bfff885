//! Programs and builds that people brought: what went wrong with them once does so no more.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::process::Command;

use common::{Bench, Compiler, GCC, compilers, runtime};
use trimtab_probe::{Hook, Profile, Reason, Recording, Selection};

/// What a program says of which nothing is instrumented.
const NOTHING: &str = "trimtab-probe: no function is instrumented, for reasons that trimtab probe said: \
                       nothing is recorded\n";

/// Runs a case plain and instrumented; gives where that is done.
fn same(case: &str, compiler: Compiler, flags: &[&str], hook: Hook) -> Bench {
    let bench = Bench::new(compiler, flags);
    let object = bench.compile(case, &[]);
    let (probed, done) = bench.instrument(&object, hook, Selection::default());
    assert!(!done.instrumented.is_empty(), "{case} {flags:?}: {:?}", done.left);
    bench.link("plain", &[&object], &[]);
    bench.link("probed", &[&probed], &[runtime().as_os_str()]);
    let plain = bench.run("plain");
    assert_eq!(bench.run("probed"), plain, "{case} by {} {flags:?} {}", compiler.c, hook.name());
    bench
}

#[test]
fn in_the_large_code_model_labels_at_the_beginning_of_functions_stay() {
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2", "-Os"] {
            for link in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie"]] {
                for hook in [Hook::Time, Hook::Value] {
                    let flags = [&["-mcmodel=large", level], link].concat();
                    same("large_model.c", compiler, &flags, hook);
                }
            }
        }
    }
}

/// gcc's unwind information says too much of what is on the stack behind a thunk that is in a function.
#[test]
fn functions_with_thunks_find_their_arguments() {
    for kind in ["thunk", "thunk-inline"] {
        let thunks =
            ["-mfunction-return=", "-mindirect-branch="].map(|flag| flag.to_owned() + kind);
        for level in ["-O0", "-O1", "-O2", "-Os"] {
            for hook in [Hook::Count, Hook::Time, Hook::Value, Hook::Edges] {
                let flags = [level, &thunks[0], &thunks[1], "-fcf-protection=none"];
                same("thunks.c", GCC, &flags, hook);
            }
        }
    }
}

/// Plain programs crash there.
#[test]
fn exceptions_pass_functions_with_inline_thunks() {
    for level in ["-O1", "-O2", "-Os"] {
        for hook in [Hook::Count, Hook::Time, Hook::Value] {
            let bench = Bench::new(GCC, &[level, "-mindirect-branch=thunk-inline"]);
            let object = bench.compile("thunk_exceptions.cc", &["-fcf-protection=none"]);
            let (probed, done) = bench.instrument(&object, hook, Selection::default());
            assert!(done.mended >= 2, "{level}: {}", done.mended);
            bench.link("probed", &[&probed], &[runtime().as_os_str()]);
            let ran = bench.run("probed");
            assert_eq!(ran.output, "caught 2\n", "{level} {}: {:?}", hook.name(), ran.code);
        }
    }
}

/// There gcc calls functions of its own by their addresses, and knows which registers these leave alone.
#[test]
fn in_the_large_code_model_registers_that_callees_leave_alone_are_kept() {
    let include = format!("-I{}", common::RUNTIME);
    for compiler in compilers() {
        for level in ["-O2", "-O3"] {
            for link in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie"]] {
                for hook in [Hook::Count, Hook::Value, Hook::Time] {
                    let flags = [&["-mcmodel=large", "-w", &include, level], link].concat();
                    same("world.c", compiler, &flags, hook);
                }
            }
        }
    }
}

/// A thread is cancelled at any instruction: also at those of thunks, of which gcc's unwind information is
/// wrong, so that plain programs may crash there.
#[test]
fn threads_that_are_cancelled_anywhere_end() {
    for (thunks, level, hook) in [
        ("-mfunction-return=thunk", "-O0", Hook::Time),
        ("-mfunction-return=thunk", "-O2", Hook::Time),
        ("-mfunction-return=thunk", "-O2", Hook::Value),
        ("-mfunction-return=thunk-inline", "-O0", Hook::Time),
        ("-mfunction-return=thunk-inline", "-O2", Hook::Time),
        ("-mfunction-return=thunk-inline", "-O2", Hook::Value),
        ("-mfunction-return=keep", "-O2", Hook::Edges),
    ] {
        let bench = Bench::new(GCC, &[level, thunks, "-fcf-protection=none"]);
        let object = bench.compile("cancelled.c", &[]);
        let (probed, done) = bench.instrument(&object, hook, Selection::default());
        assert!(done.instrumented.len() >= 4, "{:?}", done.left);
        bench.link("probed", &[&probed], &[runtime().as_os_str()]);
        let ran = bench.run("probed");
        assert_eq!(ran.output, "300\n", "{thunks} {level} {}: {:?}", hook.name(), ran.code);
    }
}

#[test]
fn programs_run_in_valgrind() {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return println!("there is no valgrind");
    }
    for compiler in compilers() {
        // Newer debug information is nothing that it reads.
        for (level, hook) in [("-O0", Hook::Time), ("-O2", Hook::Time), ("-O2", Hook::Value)] {
            let bench = same("stacked.c", compiler, &[level, "-gdwarf-4"], hook);
            let ran = bench.run_in("probed", &["valgrind", "-q", "--error-exitcode=9"], &[]);
            assert_eq!(ran, bench.run("plain"), "{} {level} {}", compiler.c, hook.name());
        }
    }
}

#[test]
fn pointers_to_members_of_classes_lead_to_entries_of_stubs() {
    for compiler in compilers() {
        for level in ["-O1", "-O2", "-Os"] {
            same("member_pointers.cc", compiler, &[level], Hook::Order);
        }
        let flags = ["-O1", "-mno-red-zone", "-fno-plt", "-fno-omit-frame-pointer"];
        same("exceptions.cc", compiler, &flags, Hook::Order);
    }
}

#[test]
fn a_program_without_instrumented_functions_links_and_says_so() {
    for link in [&["-pie", "-fPIE"][..], &["-static", "-no-pie", "-fno-pie"]] {
        let bench = Bench::new(GCC, link);
        let object = bench.compile("nothing.c", &["-fno-asynchronous-unwind-tables"]);
        let none = Selection::default().not(&["*"]).unwrap();
        let (probed, done) = bench.instrument(&object, Hook::Time, none);
        assert_eq!(done.left, [("main".to_owned(), Reason::NotSelected)]);
        bench.link("probed", &[&probed], &[runtime().as_os_str()]);
        let ran = bench.run("probed");
        assert_eq!(ran.code, Some(7));
        assert_eq!(ran.output, NOTHING);
    }
}

#[test]
fn calls_under_way_at_the_end_are_counted() {
    for compiler in compilers() {
        for (level, quick) in [("-O0", "-DQUICK=0"), ("-O2", "-DQUICK=1"), ("-O2", "-DQUICK=0")] {
            for hook in [Hook::Time, Hook::Cycles, Hook::Count, Hook::Event] {
                let bench = same("ends.c", compiler, &[level, quick], hook);
                let data = bench.recording("probed");
                let recording = Recording::parse(&data).unwrap();
                let profile = Profile::of(std::slice::from_ref(&recording)).unwrap();
                let row = |name: &str| profile.functions.iter().find(|row| row.name == name);
                for name in ["main", "server", "finish"] {
                    let label = format!("{name} by {} {level} {}", compiler.c, hook.name());
                    assert_eq!(row(name).unwrap().calls, 1, "{label}");
                }
                if hook == Hook::Time {
                    let total = |name| row(name).unwrap().total_cycles;
                    let all = ["main", "server", "work", "finish"].map(total);
                    let label = format!("by {} {level}: {all:?}", compiler.c);
                    // Each is called within the one before, or by it alone; no machine runs a loop
                    // through memory in less than a quarter of a cycle a round.
                    assert!(all[0] >= all[1] && all[1] >= all[2], "{label}");
                    assert!(all[1] >= all[3] && all[3] >= 200_000 / 4, "{label}");
                }
            }
        }
    }
}

/// Each way to end, with how often the functions have to be there.
const DEATHS: [&str; 11] = [
    "return", "_exit", "abort", "fault", "killed", "child", "exec", "execl", "execlp", "no exec",
    "threads",
];

#[test]
fn calls_under_way_are_counted_however_the_process_ends() {
    let include = format!("-I{}", common::RUNTIME);
    for compiler in compilers() {
        for (level, hook) in [
            ("-O0", Hook::Time),
            ("-O2", Hook::Time),
            ("-O2", Hook::Cycles),
            ("-O2", Hook::Value),
            ("-O2", Hook::Event),
        ] {
            let bench = Bench::new(compiler, &[level, &include]);
            let object = bench.compile("deaths.c", &[]);
            let (probed, _) = bench.instrument(&object, hook, Selection::default());
            bench.link("plain", &[&object], &[]);
            bench.link("probed", &[&probed], &[runtime().as_os_str()]);
            for how in DEATHS {
                let label = format!("{how} by {} {level} {}", compiler.c, hook.name());
                let environment = [("HOW", how)];
                let plain = bench.run_with("plain", &environment);
                assert_eq!(bench.run_with("probed", &environment), plain, "{label}");
                let data = bench.recording("probed");
                let recording = Recording::parse(&data).unwrap();
                let profile = Profile::of(std::slice::from_ref(&recording)).unwrap();
                let mut expected =
                    vec![("main", 1_050_000), ("server", 1_050_000), ("finish", 50_000)];
                if how == "threads" {
                    expected.extend([("waits", 500_000), ("spins", 500_000), ("thread", 500_000)]);
                }
                for (name, rounds) in expected {
                    let row = profile.functions.iter().find(|row| row.name == name);
                    let row = row.unwrap_or_else(|| panic!("{label}: no {name}"));
                    let calls = if name == "thread" { 2 } else { 1 };
                    assert_eq!(row.calls, calls, "{label}: {name}");
                    if hook == Hook::Event {
                        continue;
                    }
                    // Each round counts one, and takes a quarter of a cycle at least.
                    let (spent, least) = if hook == Hook::Value {
                        (row.value.cast_unsigned(), rounds)
                    } else {
                        (row.total_cycles, rounds / 4)
                    };
                    assert!(spent >= least, "{label}: {name}: {spent}");
                    let total = profile.functions.iter().find(|row| row.name == "main").unwrap();
                    if hook == Hook::Time && name == "finish" {
                        assert!(spent <= total.total_cycles, "{label}: {spent}");
                    }
                }
            }
        }
    }
}

#[test]
fn threads_that_are_joined_behind_the_end_are_not_kept() {
    for compiler in compilers() {
        for hook in [Hook::Time, Hook::Event] {
            let bench = same("joined.c", compiler, &["-O1", "-w"], hook);
            let data = bench.recording("probed");
            let recording = Recording::parse(&data).unwrap();
            let profile = Profile::of(std::slice::from_ref(&recording)).unwrap();
            let waits = profile.functions.iter().find(|row| row.name == "waits").unwrap();
            assert_eq!(waits.calls, 1, "{} {}", compiler.c, hook.name());
        }
    }
}

/// The calls under way, the last first.
const STACK: [&str; 6] = ["last", "stacked", "middle", "first", "first", "main"];

#[test]
fn the_c_library_lists_calls_as_in_the_plain_program() {
    for compiler in compilers() {
        for level in ["-O0", "-O2"] {
            for hook in [Hook::Time, Hook::Count, Hook::Value, Hook::Order, Hook::Edges] {
                let bench = same("stacks.c", compiler, &[level, "-rdynamic"], hook);
                let ran = bench.run_with("probed", &[("DESCRIBE", "1")]);
                let lines: Vec<&str> = ran.output.lines().collect();
                assert_eq!(lines[1..7], STACK, "{level} {}", hook.name());
                for (line, name) in lines[7..].iter().zip(STACK) {
                    assert!(
                        line.contains(&format!("({name}+0x")),
                        "{level} {}: {line}",
                        hook.name()
                    );
                }
            }
        }
    }
}

/// The manual says what these addresses are.
#[test]
fn return_addresses_of_callers_are_in_their_stubs_or_copies() {
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2"] {
            for hook in [Hook::Time, Hook::Edges, Hook::Count, Hook::Value] {
                let flags = [level, "-rdynamic", "-fno-omit-frame-pointer"];
                let bench = Bench::new(compiler, &flags);
                let object = bench.compile("return_addresses.c", &[]);
                let (probed, done) = bench.instrument(&object, hook, Selection::default());
                bench.link("plain", &[&object], &[]);
                bench.link("probed", &[&probed], &[runtime().as_os_str()]);
                let plain = bench.run("plain");
                assert_eq!(plain.output, "its caller returns to outer\n", "{flags:?}");
                let ran = bench.run("probed");
                let label = format!("{} {level} {}", compiler.c, hook.name());
                assert_eq!(ran.code, plain.code, "{label}");
                // The stub of `middle`, which calls it, has the name `middle`.
                let name = if done.copied > 0 { "outer" } else { "middle" };
                assert_eq!(ran.output, format!("its caller returns to {name}\n"), "{label}");
            }
        }
    }
}

#[test]
fn perf_names_functions_in_the_order_of_calls() {
    let perf = |arguments: &[&str], bench: &Bench| {
        let mut command = Command::new("perf");
        command.args(arguments).env("LC_ALL", "C").current_dir(bench.file(""));
        command.output().ok().filter(|output| output.status.success())
    };
    for hook in [Hook::Time, Hook::Edges, Hook::Count, Hook::Value] {
        for kind in ["fp", "dwarf"] {
            let bench = same("sampled.c", GCC, &["-O1", "-fno-omit-frame-pointer"], hook);
            let record =
                ["record", "-q", "-e", "cpu-clock", "--call-graph", kind, "-o", "data", "./probed"];
            if perf(&record, &bench).is_none() {
                return println!("perf does not record here");
            }
            let output = perf(&["script", "-i", "data", "-F", "ip,sym"], &bench).unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let stacks = text.split("\n\n").map(|stack| {
                let names = stack.lines().filter_map(|line| line.split_whitespace().nth(1));
                // A stub is of its function.
                let mut names: Vec<&str> =
                    names.map(|name| name.strip_suffix(".probe").unwrap_or(name)).collect();
                names.dedup();
                names
            });
            let inside: Vec<Vec<&str>> =
                stacks.filter(|names| names.first() == Some(&"inner")).collect();
            // By frame pointers, a copy does not show that calls a function by its stub: with counters, main.
            let most = if kind == "fp" && hook == Hook::Count { 3 } else { 4 };
            let expected = &["inner", "middle", "outer", "main"][..most];
            let right = inside.iter().filter(|names| names.starts_with(expected)).count();
            let label = format!("{} {kind}: {right} of {}\n{text}", hook.name(), inside.len());
            assert!(inside.len() > 20 && right * 10 >= inside.len() * 9, "{label}");
        }
    }
}

#[test]
fn debuggers_name_stubs_and_functions_in_the_order_of_calls() {
    if !Command::new("gdb").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return println!("there is no gdb");
    }
    for compiler in compilers() {
        for (level, hook) in
            [("-O0", Hook::Time), ("-O2", Hook::Time), ("-O2", Hook::Value), ("-O2", Hook::Edges)]
        {
            let bench = same("stacks.c", compiler, &[level, "-g", "-rdynamic"], hook);
            let mut gdb = Command::new("gdb");
            gdb.args([
                "-batch",
                "-nx",
                "-ex",
                "break backtrace_symbols",
                "-ex",
                "run",
                "-ex",
                "bt",
            ]);
            gdb.arg(bench.file("probed")).env("LC_ALL", "C").current_dir(bench.file(""));
            let output = gdb.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let frames: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
            assert!(!frames.iter().any(|line| line.contains("??")), "{text}");
            // A stub has the name of its function.
            let names = frames.iter().map(|line| {
                let line = line.split_once(" in ").map_or(*line, |(_, line)| line);
                let line = line
                    .trim_start_matches(|it: char| it == '#' || it.is_ascii_digit() || it == ' ');
                line.split([' ', '(', '.', '[']).next().unwrap_or_default().to_owned()
            });
            let mut names: Vec<String> = names.skip_while(|name| name != "last").collect();
            names.dedup();
            let mut expected = STACK.to_vec();
            expected.dedup();
            assert_eq!(names, expected, "{} {level} {}: {text}", compiler.c, hook.name());
        }
    }
}
