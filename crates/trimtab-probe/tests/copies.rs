//! Functions that run as copies inside their stubs do what they did, and each call is counted.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{Bench, Compiler, compilers, runtime};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection};
use trimtab_probe::{Hook, Options, Recording, Selection, instrument};

/// Calls by function, as the probes count them, with by how much a number grew, or how many were
/// left; with how many copies, and what the program printed.
fn calls(
    bench: &Bench,
    case: &str,
    hook: Hook,
    copies: bool,
) -> (BTreeMap<String, (u64, u64, u64)>, usize, String) {
    let data = fs::read(bench.file(&format!("{case}.o"))).unwrap();
    let selection = Selection::default().only(&["*copies_*"]).unwrap();
    let done = instrument(&data, &Options { selection, copies, ..Options::new(hook) }).unwrap();
    let object = format!("{copies}-{case}.o");
    fs::write(bench.file(&object), &done.bytes).unwrap();
    let program = format!("{}-{copies}", hook.name());
    bench.link(&program, &[&object], &[runtime().as_os_str()]);
    let ran = bench.run(&program);
    assert_eq!(ran.code, Some(0), "{program}: {ran:?}");
    let recording = bench.recording(&program);
    let recording = Recording::parse(&recording).unwrap();
    let counted = |f: &trimtab_probe::recording::FunctionRecord| (f.calls, f.value, f.exits);
    let calls = recording.functions.iter().map(|f| (f.name.clone(), counted(f)));
    (calls.collect(), done.copied, ran.output)
}

fn check(compiler: Compiler, flags: &[&str]) {
    let include = format!("-I{}", common::RUNTIME);
    let bench = Bench::new(compiler, &[flags, &[&*include]].concat());
    bench.compile("copies.c", &[]);
    for hook in [Hook::Value, Hook::Count] {
        let label = format!("{} {flags:?} {}", compiler.c, hook.name());
        let (copied, copies, output) = calls(&bench, "copies.c", hook, true);
        let (called, none, expected) = calls(&bench, "copies.c", hook, false);
        assert_eq!(output, expected, "{label}");
        assert_eq!(copied, called, "{label}");
        assert_eq!(none, 0, "{label}");
        // Counting wants a register that nobody misses.
        let least = if hook == Hook::Value { 10 } else { 1 };
        assert!(copies >= least, "{label}: only {copies} are copied");
    }
}

#[test]
fn exceptions_pass_through_copies_or_end_the_program() {
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            let include = format!("-I{}", common::RUNTIME);
            let bench = Bench::new(compiler, &[level, "-g", &include]);
            bench.compile("copies.cc", &[]);
            for hook in [Hook::Value, Hook::Count] {
                let label = format!("{} {level} {}", compiler.c, hook.name());
                let (copied, copies, output) = calls(&bench, "copies.cc", hook, true);
                let (mut called, none, expected) = calls(&bench, "copies.cc", hook, false);
                // A copy keeps nothing of its caller on the side: of a call under way when the program
                // ends nobody knows, and this function ends it.
                let last = "copies_ends_all";
                let selection = Selection::default().only(&[last]).unwrap();
                let (_, done) = bench.instrument("copies.cc.o", hook, selection);
                if hook == Hook::Value && done.copied == 1 {
                    let row = called.get_mut(last).unwrap();
                    (row.0, row.1) = (row.0 - 1, row.1 - 3);
                }
                assert!(output == expected && output.ends_with("ended\n"), "{label}: {output}");
                assert_eq!(copied, called, "{label}");
                assert!(none == 0 && (hook == Hook::Count || copies >= 4), "{label}: {copies}");
            }
        }
    }
}

#[test]
fn what_would_not_work_elsewhere_is_not_copied() {
    for compiler in compilers() {
        let include = format!("-I{}", common::RUNTIME);
        let bench = Bench::new(compiler, &["-O2", "-g", &include]);
        bench.compile("copies.c", &[]);
        for (name, copies) in [
            ("copies_leaf", 1),
            ("copies_anywhere", 1),
            ("copies_splits", 1),
            ("copies_switch", 1),
            ("copies_before", 1),
            ("copies_behind", 1),
            ("copies_near", 1),
            ("copies_compares", 1),
            ("copies_labels", 0),
            ("copies_marked", 0),
            ("copies_noted", 0),
            ("copies_wide", 0),
        ] {
            let selection = Selection::default().only(&[name]).unwrap();
            let (_, done) = bench.instrument("copies.c.o", Hook::Value, selection);
            assert_eq!((done.instrumented.len(), done.copied), (1, copies), "{name}");
        }
    }
}

/// Where the instruction `imull $number, %eax, %eax` is in the section of code, in order.
fn places_of(object: &[u8], number: u32) -> Vec<usize> {
    let file = ElfFile64::<LittleEndian>::parse(object).unwrap();
    let code = file.section_by_name(".text").unwrap().data().unwrap();
    let wanted = [&[0x69, 0xc0][..], &number.to_le_bytes()].concat();
    let found = code.windows(wanted.len()).enumerate().filter(|(_, bytes)| *bytes == wanted);
    found.map(|(at, _)| at).collect()
}

#[test]
fn loops_of_copies_begin_where_the_compiler_wished() {
    for compiler in compilers() {
        let include = format!("-I{}", common::RUNTIME);
        let bench = Bench::new(compiler, &["-O2", &include]);
        bench.compile("copies.c", &[]);
        let selection = Selection::default().only(&["copies_round"]).unwrap();
        let (object, done) = bench.instrument("copies.c.o", Hook::Value, selection);
        assert_eq!((done.instrumented.len(), done.copied), (1, 1));
        let object = fs::read(bench.file(&object)).unwrap();
        for number in [0x12345, 0x12347] {
            let [first, second] = places_of(&object, number)[..] else {
                panic!("the function or its copy is not there");
            };
            assert_eq!((first % 16, second % 16), (0, 0), "{} {number:x}", compiler.c);
        }
    }
}

#[test]
fn copies_do_what_functions_did() {
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            check(compiler, &[level]);
            check(compiler, &[level, "-g", "-fno-omit-frame-pointer", "-ffunction-sections"]);
            check(compiler, &[level, "-g", "-fcf-protection", "-fno-pie", "-no-pie"]);
        }
    }
}
