//! The same on AArch64, in QEMU: instrumented programs do what the plain ones do.
//!
//! What runs by itself is a part that meets each kind of code once. `cargo test -p trimtab-probe
//! --test aarch64 -- --ignored` runs the whole matrix, and takes its time.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Bench, Compiler, GCC_AARCH64, Machine, combinations, hook, same};
use trimtab_probe::{Hook, Reason, Selection};

const SIGNED: &str = "-mbranch-protection=standard";
/// With `landing.c`: without parts that the linker or the library of the compiler would put in,
/// which have no marks.
const MARKED: &[&str] = &[SIGNED, "-Wl,-z,now", "-mno-outline-atomics"];
/// Less of the same: the tests on x86-64 have the rest.
const LESS: &str = "-DFEW";

/// Of each compiler a few, with unusual flags, too: signed return addresses, one section for each
/// function.
fn some() -> Vec<(Compiler, Vec<&'static str>, Hook)> {
    let mut all = Vec::new();
    for compiler in Machine::Aarch64.compilers() {
        let mut add = |flags: &[&'static str], hook| {
            all.push((compiler, [flags, &[LESS]].concat(), hook));
        };
        if compiler.c.starts_with("clang") {
            add(&["-O0", "-fPIE", "-pie"], Hook::Cycles);
            add(&["-O2", "-static", "-fomit-frame-pointer", SIGNED], Hook::Time);
            add(&["-O3", "-ffunction-sections"], Hook::User);
            add(&["-O1", "-static"], Hook::Event);
            // The outliner is at work.
            add(&["-Oz", "-fno-omit-frame-pointer"], Hook::Edges);
        } else {
            add(&["-O0", "-static"], Hook::Time);
            add(&["-O2", "-fomit-frame-pointer"], Hook::Event);
            add(&["-O2", "-fPIE", "-pie"], Hook::Count);
            add(&["-Os", "-fomit-frame-pointer", SIGNED], Hook::Cycles);
            add(&["-O1", "-static", "-fomit-frame-pointer", "-ffunction-sections"], Hook::User);
        }
    }
    all
}

#[test]
fn calls_of_every_kind() {
    for (compiler, flags, hook) in some() {
        same("calls.c", &[], compiler, &flags, hook);
    }
    same("calls.c", &[], GCC_AARCH64, &["-O3", LESS], Hook::Order);
    same("calls.c", &[], GCC_AARCH64, &["-O1", LESS], Hook::Trace);
}

#[test]
fn threads_signals_other_stacks_and_fork() {
    for (compiler, flags, hook) in some() {
        same("world.c", &[], compiler, &flags, hook);
    }
}

#[test]
fn exceptions() {
    for (compiler, flags, hook) in some().into_iter().step_by(2) {
        same("torture.cc", &["plain.c"], compiler, &flags, hook);
    }
}

#[test]
fn what_is_reached_by_pointers_is_marked() {
    for compiler in Machine::Aarch64.compilers() {
        let flags = [&["-O2", LESS], MARKED].concat();
        same("calls.c", &["landing.c"], compiler, &flags, Hook::Edges);
        same("torture.cc", &["plain.c", "landing.c"], compiler, &flags, Hook::Time);
        let bench = Bench::new(compiler, &flags);
        let objects = ["calls.c", "landing.c"].map(|case| bench.compile(case, &["-DUNMARKED"]));
        bench.link("unmarked", &objects.each_ref().map(String::as_str), &[]);
        assert_eq!(bench.run("unmarked").code, None, "marks are not looked for");
    }
}

#[test]
#[ignore = "takes minutes: cargo test -p trimtab-probe --test aarch64 -- --ignored"]
fn the_whole_matrix() {
    let hooks =
        [Hook::Count, Hook::Time, Hook::Event, Hook::Edges, Hook::Cycles, Hook::User, Hook::Value];
    for (number, (compiler, mut flags)) in combinations(Machine::Aarch64).into_iter().enumerate() {
        flags.push(LESS);
        let is_static = flags.contains(&"-static");
        same("calls.c", &[], compiler, &flags, hook(number));
        same("world.c", &[], compiler, &flags, hooks[number % hooks.len()]);
        same("torture.cc", &["plain.c"], compiler, &flags, hook(number));
        flags.extend(MARKED);
        // The C library has no marks.
        let guard = if is_static { &[][..] } else { &["landing.c"] };
        same("calls.c", guard, compiler, &flags, hook(number + 1));
        same("world.c", guard, compiler, &flags, hooks[(number + 1) % hooks.len()]);
        same("torture.cc", &[&["plain.c"], guard].concat(), compiler, &flags, hook(number + 2));
    }
}

#[test]
fn the_stack_is_unwound_at_every_instruction() {
    for compiler in Machine::Aarch64.compilers() {
        for (flags, hooks) in [
            (&["-g", "-O0"][..], &[Hook::Time][..]),
            (
                &["-g", "-O2"],
                &[Hook::Count, Hook::Cycles, Hook::Value, Hook::Time, Hook::Edges, Hook::Event],
            ),
            (&["-g", "-O2", SIGNED], &[Hook::Count]),
            (&["-g", "-O1", "-mbranch-protection=pac-ret+leaf+b-key"], &[Hook::Time]),
        ] {
            let bench = Bench::new(compiler, flags);
            let object = bench.compile("step.c", &[]);
            for &hook in hooks {
                let selection = Selection::default().not(&["step_*"]).unwrap();
                let (probed, _) = bench.instrument(&object, hook, selection);
                bench.link("probed", &[&probed], &[compiler.machine.runtime().as_os_str()]);
                let ran = bench.run("probed");
                let label = format!("{} {flags:?} {}", compiler.c, hook.name());
                assert_eq!(ran.code, Some(0), "{label}: {}", ran.output);
            }
        }
    }
}

#[test]
fn heads_of_every_kind_are_moved_or_refused() {
    for flags in [&["-O1"][..], &["-O1", "-static", "-ffunction-sections"]] {
        let bench = Bench::new(GCC_AARCH64, flags);
        let object = bench.compile("prologues.c", &[]);
        let (probed, done) = bench.instrument(&object, Hook::Count, Selection::default());
        bench.link("plain", &[&object], &[]);
        bench.link("probed", &[&probed], &[Machine::Aarch64.runtime().as_os_str()]);
        let plain = bench.run("plain");
        assert_eq!(plain.code, Some(0), "{}", plain.output);
        assert_eq!(bench.run("probed"), plain);
        let reason =
            |name: &str| done.left.iter().find(|(left, _)| left == name).map(|(_, reason)| *reason);
        for moved in ["head_adr", "head_cbz", "head_tbz", "head_literal", "head_jump", "head_cond"]
        {
            assert_eq!(reason(moved), None);
            assert!(done.instrumented.iter().any(|name| name == moved), "{moved}");
        }
        assert_eq!(reason("head_loop"), Some(Reason::Loop));
        assert_eq!(reason("head_table"), Some(Reason::Entered));
        assert_eq!(reason("looks_back"), Some(Reason::ReturnAddress));
        assert_eq!(reason("vectors"), Some(Reason::OtherConvention));
    }
}

#[test]
fn what_the_outliner_shares_is_left_alone() {
    for compiler in Machine::Aarch64.compilers().into_iter().skip(1) {
        let bench = Bench::new(compiler, &["-Oz"]);
        let object = bench.compile("world.c", &[]);
        let (_, done) = bench.instrument(&object, Hook::Count, Selection::default());
        let is_shared = |name: &String| name.starts_with("OUTLINED_FUNCTION_");
        assert!(done.left.iter().any(|(name, why)| is_shared(name) && *why == Reason::Outlined));
        assert!(!done.instrumented.iter().any(is_shared));
    }
}

#[test]
fn assembly_by_hand_is_left_alone() {
    let bench = Bench::new(GCC_AARCH64, &["-O2"]);
    let object = bench.compile("prologues.c", &[]);
    let mut strip = std::process::Command::new("aarch64-linux-gnu-objcopy");
    // What assemblers write has no name of a compiler in it.
    strip.args(["--remove-section", ".comment"]).arg(bench.file(&object));
    common::succeeds(&mut strip);
    let (_, done) = bench.instrument(&object, Hook::Count, Selection::default());
    assert!(done.instrumented.is_empty());
    assert!(done.left.iter().any(|(_, reason)| *reason == Reason::NotCompiled), "{:?}", done.left);
}
