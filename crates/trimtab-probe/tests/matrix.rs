//! Instrumented programs do what the plain ones do: compilers, levels of optimisation, ways to link
//! and with or without frame pointer, with each of the hooks.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Bench, Compiler, compilers, runtime};
use trimtab_probe::{Hook, Recording, Selection};

/// Each combination, numbered.
fn combinations() -> Vec<(Compiler, Vec<&'static str>)> {
    let mut all = Vec::new();
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            for link in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie", "-static"]] {
                for frame in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
                    let mut flags = vec!["-g", level, frame];
                    flags.extend(link);
                    all.push((compiler, flags));
                }
            }
        }
    }
    all
}

/// Compiles a case, runs it plain and instrumented, and compares.
fn same(case: &str, plain: &[&str], compiler: Compiler, flags: &[&str], hook: Hook) {
    let bench = Bench::new(compiler, flags);
    let object = bench.compile(case, &[]);
    let others: Vec<String> =
        plain.iter().map(|case| bench.compile(case, &["-fexceptions"])).collect();
    let (probed, done) = bench.instrument(&object, hook, Selection::default());
    let with_others = |first: &str| -> Vec<String> {
        [first.to_owned()].into_iter().chain(others.iter().cloned()).collect()
    };
    let link = |program: &str, first: &str, more: &[&std::ffi::OsStr]| {
        let objects = with_others(first);
        bench.link(program, &objects.iter().map(String::as_str).collect::<Vec<_>>(), more);
    };
    link("plain", &object, &[]);
    link("probed", &probed, &[runtime().as_os_str()]);
    let told = format!("{case} by {} {flags:?} with {}", compiler.c, hook.name());
    assert!(done.instrumented.len() >= 8, "{told}: {:?}", done.left);
    assert_eq!(bench.run("probed"), bench.run("plain"), "{told}");

    let data = bench.recording("probed");
    let recording = Recording::parse(&data).unwrap();
    assert_eq!(recording.hook, hook, "{told}");
    assert_eq!(recording.lost, 0, "{told}");
    assert!(recording.functions.iter().any(|function| function.name == "main"), "{told}");
    if matches!(hook, Hook::Count | Hook::Cycles | Hook::Time | Hook::Order | Hook::Edges) {
        assert!(recording.functions.iter().any(|function| function.calls > 1000), "{told}");
    }
}

/// Hooks in turn, so that each meets many combinations.
fn hook(number: usize) -> Hook {
    Hook::ALL[number % Hook::ALL.len()]
}

#[test]
fn calls_of_every_kind() {
    for (number, (compiler, flags)) in combinations().into_iter().enumerate() {
        same("calls.c", &[], compiler, &flags, hook(number));
    }
}

#[test]
fn threads_signals_other_stacks_and_fork() {
    // Recording every event of it takes long, and the calls above do that.
    let hooks = [Hook::Count, Hook::Time, Hook::Edges, Hook::Cycles, Hook::User];
    for (number, (compiler, flags)) in combinations().into_iter().enumerate().step_by(3) {
        same("world.c", &[], compiler, &flags, hooks[number / 3 % hooks.len()]);
    }
}

#[test]
fn exceptions() {
    for (number, (compiler, flags)) in combinations().into_iter().enumerate().step_by(3) {
        same("torture.cc", &["plain.c"], compiler, &flags, hook(number / 3));
    }
}

#[test]
fn the_stack_is_unwound_at_every_instruction() {
    for compiler in compilers() {
        for (level, hooks) in [
            ("-O0", &[Hook::Time][..]),
            ("-O2", &[Hook::Count, Hook::Cycles, Hook::Time, Hook::Edges]),
        ] {
            let bench = Bench::new(compiler, &[level, "-g"]);
            let object = bench.compile("step.c", &[]);
            for &hook in hooks {
                let selection = Selection::default().not(&["step_*"]).unwrap();
                let (probed, _) = bench.instrument(&object, hook, selection);
                bench.link("probed", &[&probed], &[runtime().as_os_str()]);
                let ran = bench.run("probed");
                assert_eq!(
                    ran.code,
                    Some(0),
                    "{} {level} {}: {}",
                    compiler.c,
                    hook.name(),
                    ran.output
                );
            }
        }
    }
}
