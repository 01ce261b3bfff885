//! Instrumented programs do what the plain ones do: compilers, levels of optimisation, ways to link
//! and with or without frame pointer, with each of the hooks.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Bench, GCC, Machine, combinations, compilers, hook, runtime, same};
use trimtab_probe::{Hook, Selection};

#[test]
fn calls_of_every_kind() {
    for (number, (compiler, flags)) in combinations(Machine::X86_64).into_iter().enumerate() {
        same("calls.c", &[], compiler, &flags, hook(number));
    }
}

#[test]
fn calls_with_compressed_debug_information() {
    for compiler in compilers() {
        same("calls.c", &[], compiler, &["-O2", "-g", "-gz"], Hook::Value);
    }
}

#[test]
fn threads_signals_other_stacks_and_fork() {
    // Recording every event of it takes long, and the calls above do that.
    let hooks =
        [Hook::Count, Hook::Time, Hook::Event, Hook::Edges, Hook::Cycles, Hook::User, Hook::Value];
    for (number, (compiler, flags)) in combinations(Machine::X86_64).into_iter().enumerate() {
        same("world.c", &[], compiler, &flags, hooks[number % hooks.len()]);
    }
}

#[test]
fn exceptions() {
    for (number, (compiler, flags)) in combinations(Machine::X86_64).into_iter().enumerate() {
        same("torture.cc", &["plain.c"], compiler, &flags, hook(number));
    }
}

#[test]
fn the_stack_is_unwound_at_every_instruction() {
    for compiler in compilers() {
        for (level, hooks) in [
            ("-O0", &[Hook::Time][..]),
            (
                "-O2",
                &[Hook::Count, Hook::Cycles, Hook::Value, Hook::Time, Hook::Edges, Hook::Event],
            ),
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

/// Also where gcc's own information is wrong: plain programs lose their stack there.
#[test]
fn the_stack_is_unwound_at_every_instruction_of_thunks() {
    for (returns, jumps) in [("thunk", "thunk"), ("thunk-inline", "keep")] {
        let thunks = [format!("-mfunction-return={returns}"), format!("-mindirect-branch={jumps}")];
        for level in ["-O0", "-O1", "-O2", "-Os"] {
            let flags = [level, "-g", "-DTHUNKS=1", "-fcf-protection=none", &thunks[0], &thunks[1]];
            let bench = Bench::new(GCC, &flags);
            let object = bench.compile("step.c", &[]);
            for hook in [Hook::Count, Hook::Time, Hook::Value] {
                let selection = Selection::default().not(&["step_*"]).unwrap();
                let (probed, _) = bench.instrument(&object, hook, selection);
                bench.link("probed", &[&probed], &[runtime().as_os_str()]);
                let ran = bench.run("probed");
                let label = format!("{returns} {level} {}: {}", hook.name(), ran.output);
                assert_eq!(ran.code, Some(0), "{label}");
            }
        }
    }
}
