//! Debug information says which functions have no arguments on the stack: those keep to their own
//! part of it. All others get theirs.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Bench, Compiler, GCC, compilers, runtime};
use trimtab_probe::{Hook, Selection};

/// Runs a case plain and instrumented, and compares.
fn check(compiler: Compiler, case: &str, flags: &[&str], hook: Hook) {
    let label = format!("{case} by {} {flags:?} with {}", compiler.c, hook.name());
    let bench = Bench::new(compiler, flags);
    let object = bench.compile(case, &QUIET);
    let other = bench.compile("arguments_other.c", &[]);
    let (probed, done) = bench.instrument(&object, hook, Selection::default());
    assert!(done.instrumented.len() >= 8, "{label}: {:?}", done.left);
    bench.link("plain", &[&object, &other], &[]);
    bench.link("probed", &[&probed, &other], &[runtime().as_os_str()]);
    let plain = bench.run("plain");
    assert_eq!(plain.code, Some(0), "{label}: {plain:?}");
    assert_eq!(bench.run("probed"), plain, "{label}");
}

/// Nothing is said of old definitions, and arguments without names.
const QUIET: [&str; 1] = ["-w"];

/// How many functions whose names match need a frame of the run time, of how many.
fn frames(case: &str, flags: &[&str], compiler: Compiler, name: &str) -> (usize, usize) {
    let bench = Bench::new(compiler, flags);
    let object = bench.compile(case, &QUIET);
    let selection = Selection::default().only(&[name]).unwrap();
    let (_, done) = bench.instrument(&object, Hook::Value, selection);
    (done.with_frame, done.instrumented.len())
}

#[test]
fn functions_without_arguments_on_the_stack_need_no_frame() {
    // gcc's clones that have fewer arguments.
    let clones = ["clones_fewer.constprop.0", "clones_part.part.0"];
    for name in clones {
        assert_eq!(frames("arguments.c", &["-O3", "-g"], GCC, name), (0, 1), "{name}");
    }
    for compiler in compilers() {
        for name in [
            "none_indexed",
            "none_by_pointer",
            "none_aligned",
            "none_ends",
            "none_ends_anywhere",
            "none_mixed",
        ] {
            let label = format!("{name} by {}", compiler.c);
            assert_eq!(frames("arguments.c", &["-O2", "-g"], compiler, name), (0, 1), "{label}");
            let dwarf = ["-O2", "-g", "-gdwarf-4", "-ffunction-sections"];
            assert_eq!(frames("arguments.c", &dwarf, compiler, name), (0, 1), "{label}");
        }
        for name in ["_Z9none_packI*", "_ZNK6Member4endsEl", "_Z9by_member*"] {
            let found = frames("arguments.cc", &["-O2", "-g"], compiler, name);
            assert_eq!(found, (0, 1), "{name} by {}", compiler.c);
        }
    }
}

#[test]
fn what_may_have_arguments_on_the_stack_needs_a_frame() {
    for compiler in compilers() {
        for name in [
            "some_by_value",
            "some_behind",
            "some_hands_on",
            "some_nameless",
            "some_doubles",
            "some_extended",
            "some_wide",
            "some_list",
            "some_old",
            "windows_hands_on",
            "windows_room",
        ] {
            let (with, all) = frames("arguments.c", &["-O2", "-g"], compiler, name);
            assert_eq!((with, all), (1, 1), "{name} by {}", compiler.c);
        }
        for name in ["_Z9some_packI*", "_ZThn*sum*", "_ZN8InheritsCI*"] {
            let (with, all) = frames("arguments.cc", &["-O2", "-g"], compiler, name);
            assert!(with == all, "{name} by {}: {with} of {all}", compiler.c);
        }
        // Without the prototypes nothing is certain.
        for flags in [&["-O2"][..], &["-O2", "-g1"]] {
            for name in ["none_by_pointer", "none_ends", "none_ends_anywhere"] {
                let found = frames("arguments.c", flags, compiler, name);
                assert_eq!(found, (1, 1), "{name} by {} {flags:?}", compiler.c);
            }
            let found = frames("arguments.cc", flags, compiler, "_ZNK6Member4endsEl");
            assert_eq!(found, (1, 1), "{} {flags:?}", compiler.c);
        }
    }
    let taken_apart = "clones_taken_apart.isra.0";
    assert_eq!(frames("arguments.c", &["-O3", "-g"], GCC, taken_apart), (1, 1));
    // Where frames are found one by the other.
    let flags = ["-O2", "-g", "-fno-omit-frame-pointer"];
    assert_eq!(frames("arguments.c", &flags, GCC, "frames"), (1, 1));
}

#[test]
fn arguments_on_the_stack_arrive() {
    for compiler in compilers() {
        for (number, level) in ["-O0", "-O1", "-O2", "-O3", "-Os"].into_iter().enumerate() {
            for case in ["arguments.c", "arguments.cc"] {
                let hooks = [Hook::Count, Hook::Time, Hook::Value, Hook::Cycles, Hook::Edges];
                check(compiler, case, &[level, "-g"], Hook::Value);
                check(compiler, case, &[level, "-g", "-fno-omit-frame-pointer"], hooks[number]);
                check(compiler, case, &[level, "-g1", "-ffunction-sections"], Hook::Value);
                check(compiler, case, &[level, "-gdwarf-4", "-fno-pie", "-no-pie"], Hook::Value);
            }
        }
    }
}
