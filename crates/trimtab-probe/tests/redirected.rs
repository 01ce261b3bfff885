//! Where callers can come to a stub by themselves, functions stay as they are.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use common::{Bench, Compiler, compilers, runtime};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use trimtab_probe::{Hook, Reason, Recording, Selection};

/// The code behind each local symbol of an object, or each that other objects see, too.
fn code(bench: &Bench, object: &str, local: bool) -> HashMap<String, Vec<u8>> {
    let data = fs::read(bench.file(object)).unwrap();
    let file = ElfFile64::<LittleEndian>::parse(&*data).unwrap();
    let symbols = file.symbols().filter(|symbol| symbol.is_local() == local);
    symbols
        .filter_map(|symbol| {
            let section = file.section_by_index(symbol.section_index()?).ok()?;
            let data = section.data().ok()?;
            let code = data.get(symbol.address() as usize..)?.get(..symbol.size() as usize)?;
            Some((symbol.name().ok()?.to_owned(), code.to_vec()))
        })
        .collect()
}

fn check(compiler: Compiler, flags: &[&str], hook: Hook) {
    let label = format!("{} {flags:?} {}", compiler.c, hook.name());
    let bench = Bench::new(compiler, flags);
    let object = bench.compile("redirected.c", &[]);
    let other = bench.compile("redirected_other.c", &[]);
    let (probed, done) = bench.instrument(&object, hook, Selection::default());
    let whole: Vec<_> = done.left.iter().filter(|(name, _)| !name.contains(".cold")).collect();
    assert!(whole.is_empty(), "{label}: {whole:?}");
    bench.link("plain", &[&object, &other], &[]);
    bench.link("probed", &[&probed, &other], &[runtime().as_os_str()]);
    let plain = bench.run("plain");
    assert!(plain.output.ends_with(" 1 1 1\n"), "{label}: {plain:?}");
    assert_eq!(bench.run("probed"), plain, "{label}");

    let data = bench.recording("probed");
    let recording = Recording::parse(&data).unwrap();
    let calls: HashMap<_, _> =
        recording.functions.iter().map(|f| (f.name.as_str(), f.calls)).collect();
    for (name, expected) in [
        ("redirected_nothing", 1000),
        ("redirected_loop", 1),
        ("redirected_back", 1),
        ("redirected_taken", 2000),
        ("redirected_ends", 1000),
        ("redirected_switch", 1000),
        ("redirected_many", 1000),
        ("redirected_hands_on", 1000),
        ("redirected_array", 46),
        ("redirected_array_handed_on", 23),
        // Called by main, redirected_ends and redirected_array, and from the other object.
        ("redirected_visible", 3047),
    ] {
        assert_eq!(calls[name], expected, "{label}: {name}");
    }
    // At some levels a part of the recursion is unrolled.
    assert!(calls["redirected_static"] > 1, "{label}");

    // The whole body of what all of the object calls by name, by a branch or by an address is as it
    // was.
    let plain = [false, true].map(|local| code(&bench, &object, local));
    let kept = code(&bench, &probed, true);
    for name in [
        "redirected_nothing",
        "redirected_loop",
        "redirected_ends",
        "redirected_hands_on",
        "redirected_taken",
    ] {
        let (plain, kept) = (plain[0].get(name).unwrap_or_else(|| &plain[1][name]), &kept[name]);
        let same = plain.iter().zip(kept).filter(|(a, b)| a == b).count();
        assert_eq!((plain.len(), same), (kept.len(), kept.len()), "{label}: {name}");
    }
}

#[test]
fn only_what_may_have_arguments_on_the_stack_needs_a_frame() {
    let bench = Bench::new(common::GCC, &["-O2"]);
    let object = bench.compile("redirected.c", &[]);
    for (name, frames) in [
        ("redirected_static", 0),
        // It ends with a tail call of a function that is here, and has none.
        ("redirected_ends", 0),
        ("redirected_many", 1),
        // It ends with a tail call of that one.
        ("redirected_hands_on", 1),
        ("redirected_array", 1),
        ("redirected_array_handed_on", 1),
    ] {
        let selection = Selection::default().only(&[name]).unwrap();
        let (_, done) = bench.instrument(&object, Hook::Value, selection);
        assert_eq!((done.instrumented.len(), done.with_frame), (1, frames), "{name}");
    }
}

#[test]
fn types_in_front_of_functions_are_still_found_there() {
    let flag = "-fsanitize=kcfi";
    let knows_it = |compiler: &Compiler| {
        let mut command = Command::new(compiler.c);
        command.args([flag, "-fsyntax-only", "-x", "c", "/dev/null"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    let Some(compiler) = compilers().into_iter().find(knows_it) else {
        println!("no compiler knows {flag}: it is not tested");
        return;
    };
    let bench = Bench::new(compiler, &["-O2", flag]);
    let object = bench.compile("redirected.c", &[]);
    let other = bench.compile("redirected_other.c", &[]);
    let (probed, done) = bench.instrument(&object, Hook::Value, Selection::default());
    assert!(done.instrumented.len() > 10, "{:?}", done.left);
    bench.link("plain", &[&object, &other], &[]);
    bench.link("probed", &[&probed, &other], &[runtime().as_os_str()]);
    let plain = bench.run("plain");
    assert!(plain.output.ends_with(" 1 1 1\n"), "{plain:?}");
    assert_eq!(bench.run("probed"), plain);
}

/// A reference to a function's address is distinguished from one to a label at its beginning.
#[test]
fn functions_are_told_from_labels() {
    for compiler in compilers() {
        for flags in [["-O1", "-fpie"], ["-O2", "-fpie"], ["-O2", "-fcf-protection"]] {
            for hook in [Hook::Count, Hook::Value, Hook::Time] {
                let label = format!("{} {flags:?} {}", compiler.c, hook.name());
                let bench = Bench::new(compiler, &flags);
                let object = bench.compile("labels.c", &[]);
                let selection = Selection::default().only(&["labels_*"]).unwrap();
                let (probed, done) = bench.instrument(&object, hook, selection);
                let left: Vec<_> = done
                    .left
                    .iter()
                    .filter(|(name, _)| name.starts_with("labels_"))
                    .map(|(name, reason)| (name.as_str(), *reason))
                    .collect();
                // What knows these by their addresses may mean their loops.
                let loops = [("labels_scan_known", Reason::Loop), ("labels_goto", Reason::Loop)];
                assert_eq!(left, loops, "{label}");
                bench.link("plain", &[&object], &[]);
                bench.link("probed", &[&probed], &[runtime().as_os_str()]);
                let plain = bench.run("plain");
                assert!(plain.output.starts_with("begin\n"), "{label}: {plain:?}");
                assert_eq!(bench.run("probed"), plain, "{label}");
                let data = bench.recording("probed");
                let recording = Recording::parse(&data).unwrap();
                let mut calls: Vec<_> =
                    recording.functions.iter().map(|f| (f.name.as_str(), f.calls)).collect();
                calls.sort_unstable();
                let expected = [
                    ("labels_begin", 1),
                    ("labels_changed", 2000),
                    ("labels_handed_on", 1000),
                    ("labels_is_changed", 1000),
                    ("labels_patched", 2000),
                    ("labels_scan", 1),
                ];
                assert_eq!(calls, expected, "{label}");
            }
        }
    }
}

#[test]
fn every_call_is_seen_and_bodies_stay() {
    for compiler in compilers() {
        for (number, level) in ["-O0", "-O1", "-O2", "-O3", "-Os"].into_iter().enumerate() {
            let hooks = [Hook::Count, Hook::Value, Hook::Time];
            check(compiler, &[level], hooks[number % hooks.len()]);
            check(compiler, &[level, "-ffunction-sections", "-fcf-protection"], Hook::Value);
            check(compiler, &[level, "-fno-pie", "-no-pie"], Hook::Edges);
        }
    }
}
