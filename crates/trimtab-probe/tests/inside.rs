//! Hooks of the user's that stubs have inside.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use common::{Bench, Compiler, GCC, RUNTIME, compilers, runtime, succeeds};
use trimtab_probe::{Hook, Hooks, Options, ProbeError, Recording, Selection, instrument};

/// Kinds of tests/cases/hooks.c that stubs have inside as a whole.
const INSIDE: [u32; 7] = [0, 1, 2, 3, 4, 5, 6];
/// Kinds of which something is called.
const CALLED: [u32; 3] = [7, 8, 9];

/// How hooks are compiled, as `trimtab probe` does.
const FLAGS: [&str; 3] = ["-O2", "-fno-tree-vectorize", "-fno-stack-protector"];

fn hooks(bench: &Bench, kind: u32, more: &[&str]) -> Hooks {
    let kind = format!("-DKIND={kind}");
    let mut flags = vec![kind.as_str(), "-I", RUNTIME];
    flags.extend(FLAGS);
    flags.extend(more);
    let object = bench.compile("hooks.c", &flags);
    Hooks::read(&fs::read(bench.file(&object)).unwrap()).unwrap()
}

/// Entries and exits of each function, as the hooks counted them, and what else they wrote.
fn counted(bench: &Bench) -> HashMap<String, (u64, u64)> {
    let text = fs::read_to_string(bench.file("hooks.txt")).unwrap();
    let mut all = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words.get(index).map_or(0, |word| word.parse().unwrap());
        all.insert(words[0].to_owned(), (number(1), number(2)));
    }
    all
}

/// Runs a case plain, with hooks, and with counters: all do the same, and hooks count what counters do.
fn same(case: &str, plain: &[&str], compiler: Compiler, flags: &[&str], kind: u32) {
    let bench = Bench::new(compiler, flags);
    let object = bench.compile(case, &[]);
    let others: Vec<String> =
        plain.iter().map(|case| bench.compile(case, &["-fexceptions"])).collect();
    let data = fs::read(bench.file(&object)).unwrap();
    let hooks = hooks(&bench, kind, &[]);
    fs::write(bench.file("linked-hooks.o"), &hooks.bytes).unwrap();
    let (inside, _) = hooks.summary();
    let label = format!("{case} by {} {flags:?}, hooks of kind {kind}", compiler.c);
    let options = Options { hooks: Some(Arc::new(hooks)), ..Options::new(Hook::User) };
    let done = instrument(&data, &options).unwrap();
    fs::write(bench.file("user.o"), &done.bytes).unwrap();
    let (count, _) = bench.instrument(&object, Hook::Count, Selection::default());
    let link = |program: &str, first: &[&str], more: &[&std::ffi::OsStr]| {
        let mut objects: Vec<&str> = first.to_vec();
        objects.extend(others.iter().map(String::as_str));
        bench.link(program, &objects, more);
    };
    // The language that links is told by the first object's name.
    let named = if case.ends_with(".cc") { "user.cc.o" } else { "user.c.o" };
    fs::rename(bench.file("user.o"), bench.file(named)).unwrap();
    link("plain", &[&object], &[]);
    link("counted", &[&count], &[runtime().as_os_str()]);
    link("probed", &[named, "linked-hooks.o"], &[runtime().as_os_str()]);
    let expected = bench.run("plain");
    assert!(expected.code.is_some(), "{label}: {expected:?}");
    assert_eq!(bench.run("probed"), expected, "{label}");
    if INSIDE.contains(&kind) {
        assert!(!inside.is_empty(), "{label}");
        assert!(done.copied > 0, "{label}");
    }
    // Elsewhere threads count at the same time, or std::terminate ends the program.
    if case != "calls.c" || kind == 5 {
        return;
    }
    bench.run("counted");
    let counted = counted(&bench);
    let recording = bench.recording("counted");
    for function in Recording::parse(&recording).unwrap().functions {
        if function.calls == 0 {
            continue;
        }
        let exits = if kind == 6 { function.calls } else { function.exits };
        let found = counted.get(&function.name).copied();
        // main is left behind the hooks' last word, and what is left by longjmp has no exit.
        assert_eq!(found, Some((function.calls, exits)), "{} in {label}", function.name);
    }
    assert_eq!(counted["hooks_spent"].0, u64::from(kind == 2), "{label}");
}

#[test]
fn they_do_what_calls_of_them_do() {
    for compiler in compilers() {
        for (number, kind) in INSIDE.into_iter().chain(CALLED).enumerate() {
            let level = ["-O0", "-O1", "-O2", "-O3", "-Os"][number % 5];
            let link: &[&str] = if number % 2 == 0 {
                &["-fPIE", "-pie"]
            } else {
                &["-fno-pie", "-no-pie", "-static"]
            };
            let mut flags = vec!["-g", level];
            flags.extend(link);
            same("calls.c", &[], compiler, &flags, kind);
        }
    }
}

#[test]
fn exceptions_threads_and_signals() {
    for compiler in compilers() {
        for (level, kind) in [("-O2", 0), ("-O1", 2), ("-O0", 3), ("-O2", 9)] {
            same("torture.cc", &["plain.c"], compiler, &["-g", level], kind);
        }
        for (level, kind) in [("-O2", 3), ("-O0", 5), ("-O3", 1)] {
            same("world.c", &[], compiler, &["-g", level], kind);
        }
    }
}

#[test]
fn the_stack_is_unwound_at_every_instruction() {
    for compiler in compilers() {
        for (level, kind) in [("-O0", 2), ("-O2", 0), ("-O2", 4), ("-O2", 9)] {
            let bench = Bench::new(compiler, &[level, "-g"]);
            let object = bench.compile("step.c", &[]);
            let hooks = hooks(&bench, kind, &[]);
            fs::write(bench.file("linked-hooks.o"), &hooks.bytes).unwrap();
            let data = fs::read(bench.file(&object)).unwrap();
            let options = Options {
                hooks: Some(Arc::new(hooks)),
                selection: Selection::default().not(&["step_*"]).unwrap(),
                ..Options::new(Hook::User)
            };
            let done = instrument(&data, &options).unwrap();
            fs::write(bench.file("probed.o"), &done.bytes).unwrap();
            bench.link("probed", &["probed.o", "linked-hooks.o"], &[runtime().as_os_str()]);
            let ran = bench.run("probed");
            assert_eq!(ran.code, Some(0), "{} {level} {kind}: {}", compiler.c, ran.output);
        }
    }
}

#[test]
fn what_they_do_decides_whether_they_are_called() {
    let bench = Bench::new(GCC, &[]);
    let summary = |kind: u32, more: &[&str]| {
        let hooks = hooks(&bench, kind, more);
        let (inside, called) = hooks.summary();
        let called: Vec<&str> = called.into_iter().map(|(_, why)| why.text()).collect();
        (inside.len(), called)
    };
    for kind in INSIDE {
        let both = if kind == 6 { 1 } else { 2 };
        assert_eq!(summary(kind, &[]), (both, vec![]), "kind {kind}");
    }
    let (inside, called) = summary(7, &[]);
    assert_eq!(inside, 0);
    assert!(called.iter().all(|why| why.contains("calls other functions")), "{called:?}");
    let (inside, called) = summary(8, &[]);
    assert_eq!(inside, 0);
    assert!(called.iter().all(|why| why.contains("vector registers")), "{called:?}");
    assert_eq!(summary(9, &[]).0, 1);
    let (inside, called) = summary(0, &["-O0"]);
    assert_eq!(inside, 0);
    assert!(called.iter().all(|why| why.contains("needs the stack")), "{called:?}");
}

#[test]
fn an_object_that_was_read_reads_the_same_again() {
    let bench = Bench::new(GCC, &[]);
    for kind in INSIDE {
        let first = hooks(&bench, kind, &[]);
        let again = Hooks::read(&first.bytes).unwrap();
        assert_eq!(first.bytes, again.bytes, "kind {kind}");
        assert_eq!(first.summary().0, again.summary().0);
    }
}

#[test]
fn what_has_no_hooks_is_refused() {
    let bench = Bench::new(GCC, &[]);
    let object = bench.compile("plain.c", &[]);
    let refused = Hooks::read(&fs::read(bench.file(&object)).unwrap());
    assert!(matches!(refused, Err(ProbeError::NoHooks)));
    assert!(matches!(Hooks::read(b"text"), Err(ProbeError::NotElf { .. })));
}

#[test]
fn hooks_in_rust_are_inside_too() {
    let bench = Bench::new(GCC, &["-O1"]);
    let source = "#![no_std]\n\
        #[repr(C)] pub struct Function { id: u32, size: u32, start: *const u8, name: *const u8 }\n\
        #[unsafe(no_mangle)] pub static mut ENTERED: u64 = 0;\n\
        #[unsafe(no_mangle)] pub static mut LEFT: u64 = 0;\n\
        #[unsafe(no_mangle)]\n\
        pub unsafe extern \"C\" fn trimtab_probe_user_enter(f: &Function, _time: u64) {\n\
            unsafe { ENTERED += u64::from(f.size > 0); }\n\
        }\n\
        #[unsafe(no_mangle)]\n\
        pub unsafe extern \"C\" fn trimtab_probe_user_leave(_: &Function, _time: u64) {\n\
            unsafe { LEFT += 1; }\n\
        }\n\
        #[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
    fs::write(bench.file("hooks.rs"), source).unwrap();
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["--edition=2024", "--crate-type=lib", "--emit=obj", "-O", "-Cpanic=abort"]);
    rustc.arg(bench.file("hooks.rs")).arg("-o").arg(bench.file("rust.o"));
    succeeds(&mut rustc);
    let hooks = Hooks::read(&fs::read(bench.file("rust.o")).unwrap()).unwrap();
    assert_eq!(hooks.summary().0.len(), 2, "{:?}", hooks.summary());
    fs::write(bench.file("rust-hooks.o"), &hooks.bytes).unwrap();
    let main = "#include <stdio.h>\n\
        extern unsigned long ENTERED, LEFT;\n\
        __attribute__((noinline)) int one(int n) { return n ? one(n - 1) + 1 : 0; }\n\
        int main(void) { int n = one(99); printf(\"%d %lu %lu\\n\", n, ENTERED, LEFT); return 0; }\n";
    fs::write(bench.file("main.c"), main).unwrap();
    let mut gcc = std::process::Command::new("gcc");
    gcc.args(["-O1", "-fno-optimize-sibling-calls", "-c"]).arg(bench.file("main.c"));
    succeeds(gcc.arg("-o").arg(bench.file("main.c.o")));
    let options = Options { hooks: Some(Arc::new(hooks)), ..Options::new(Hook::User) };
    let done = instrument(&fs::read(bench.file("main.c.o")).unwrap(), &options).unwrap();
    fs::write(bench.file("probed.c.o"), &done.bytes).unwrap();
    bench.link("probed", &["probed.c.o", "rust-hooks.o"], &[runtime().as_os_str()]);
    assert_eq!(bench.run("probed").output, "99 101 100\n");
}
