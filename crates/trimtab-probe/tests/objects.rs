//! What objects bring along beside code stays right: other code for the same, groups, marks, line
//! numbers.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Bench, Compiler, GCC, compilers, runtime, same, succeeds};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use trimtab_probe::{Hook, Options, ProbeError, Reason, Recording, Selection, instrument};

fn clang() -> Option<Compiler> {
    compilers().into_iter().nth(1)
}

/// Whether a compiler finds lld.
fn has_lld(compiler: Compiler) -> bool {
    let mut command = Command::new(compiler.c);
    command.args(["-fuse-ld=lld", "-Wl,--version"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// What a tool says of a file.
fn output_of(tool: &str, arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new(tool);
    // Debuggers run the file, which records.
    command.current_dir(file.parent().unwrap()).env("LC_ALL", "C");
    let output = succeeds(command.args(arguments).arg(file));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn machine_code_is_linked_where_there_is_code_for_link_time_optimisation_too() {
    let flags = ["-O2", "-flto", "-ffat-lto-objects"];
    same("calls.c", &[], GCC, &flags, Hook::Count);
    same("torture.cc", &["plain.c"], GCC, &flags, Hook::Time);
    match clang().filter(|&clang| has_lld(clang)) {
        Some(clang) => {
            let flags = ["-O2", "-flto", "-ffat-lto-objects", "-fuse-ld=lld"];
            same("calls.c", &[], clang, &flags, Hook::Count);
        }
        None => println!("there is no clang with lld: only gcc's code is tested"),
    }
}

#[test]
fn code_of_llvm_for_link_time_optimisation_is_refused() {
    let Some(clang) = clang() else { return println!("there is no clang") };
    for flags in [["-O2", "-flto"], ["-O2", "-flto=thin"]] {
        let bench = Bench::new(clang, &flags);
        let data = fs::read(bench.file(&bench.compile("plain.c", &[]))).unwrap();
        let refused = instrument(&data, &Options::new(Hook::Count));
        assert!(matches!(refused, Err(ProbeError::Bitcode { found: "LLVM" })), "{refused:?}");
    }
}

#[test]
fn what_chooses_functions_while_a_program_is_loaded_is_left_alone() {
    for compiler in compilers() {
        for link in ["-pie", "-static"] {
            let bench = Bench::new(compiler, &["-O1", link, "-fPIE"]);
            let object = bench.compile("resolver.c", &[]);
            for hook in [Hook::Count, Hook::Time] {
                let (probed, done) = bench.instrument(&object, hook, Selection::default());
                // It has two names.
                let is_left = |(name, why): &(String, Reason)| {
                    ["choose", "chosen"].contains(&name.as_str()) && *why == Reason::IfuncResolver
                };
                assert!(done.left.iter().any(is_left), "{:?}", done.left);
                assert!(done.instrumented.iter().any(|name| name == "quick"));
                bench.link("plain", &[&object], &[]);
                bench.link("probed", &[&probed], &[runtime().as_os_str()]);
                assert_eq!(bench.run("probed"), bench.run("plain"), "{} {link}", compiler.c);
                let data = bench.recording("probed");
                let counted = calls(&Recording::parse(&data).unwrap());
                assert_eq!((counted["quick"], counted["caller"]), (200, 100));
            }
        }
    }
}

/// Calls of each function.
fn calls(recording: &Recording<'_>) -> HashMap<String, u64> {
    recording.functions.iter().map(|f| (f.name.clone(), f.calls)).collect()
}

#[test]
fn of_what_two_objects_have_one_is_linked_with_its_probes_or_without() {
    let mut linkers = vec![(GCC, "-fuse-ld=bfd")];
    match clang().filter(|&clang| has_lld(clang)) {
        Some(clang) => linkers.extend([(clang, "-fuse-ld=bfd"), (clang, "-fuse-ld=lld")]),
        None => println!("there is no clang with lld: only gcc is tested"),
    }
    for (compiler, linker) in linkers {
        for level in ["-O0", "-O2"] {
            let bench = Bench::new(compiler, &[level, "-g", linker]);
            let objects = ["shared.cc", "shared_other.cc"].map(|case| bench.compile(case, &[]));
            bench.link("plain", &objects.each_ref().map(String::as_str), &[]);
            let plain = bench.run("plain");
            assert_eq!(plain.code, Some(0), "{}", plain.output);
            for hook in [Hook::Count, Hook::Time] {
                let probed = objects
                    .each_ref()
                    .map(|object| bench.instrument(object, hook, Selection::default()).0);
                for (first, second) in [(true, true), (true, false), (false, true)] {
                    let names = [
                        if first { &probed[0] } else { &objects[0] },
                        if second { &probed[1] } else { &objects[1] },
                    ];
                    bench.link("probed", &names.map(String::as_str), &[runtime().as_os_str()]);
                    let what = format!("{} {linker} {level} {first} {second}", compiler.c);
                    assert_eq!(bench.run("probed"), plain, "{what}");
                    let data = bench.recording("probed");
                    let counted = calls(&Recording::parse(&data).unwrap());
                    let of = |name: &str| counted.get(name).copied().unwrap_or(0);
                    // The first object's is linked.
                    let expected = if first { 210 } else { 0 };
                    assert_eq!(of("_Z5twiceIlET_S0_"), expected, "{what}");
                    assert_eq!(of("_Z7guardedIlET_S0_"), expected, "{what}");
                    assert_eq!(of("_Z5otherl"), if second { 110 } else { 0 }, "{what}");
                    assert_eq!(of("main"), u64::from(first), "{what}");
                }
            }
        }
    }
}

#[test]
fn marks_of_control_flow_enforcement_stay() {
    for compiler in compilers() {
        let bench = Bench::new(compiler, &["-O2", "-fcf-protection"]);
        let object = bench.compile("world.c", &[]);
        let before = output_of("readelf", &["-nW"], &bench.file(&object));
        assert!(before.contains("IBT, SHSTK"), "{before}");
        for hook in [Hook::Count, Hook::Time, Hook::Edges] {
            let (probed, _) = bench.instrument(&object, hook, Selection::default());
            assert_eq!(output_of("readelf", &["-nW"], &bench.file(&probed)), before);
            let data = fs::read(bench.file(&probed)).unwrap();
            let elf = ElfFile64::<LittleEndian>::parse(data.as_slice()).unwrap();
            let mut marked = 0;
            for symbol in elf.symbols().filter(|symbol| symbol.is_definition()) {
                let section = elf.section_by_index(symbol.section_index().unwrap()).unwrap();
                // Others can be reached by pointers; what is static need not be.
                if symbol.is_global() && symbol.kind() == object::SymbolKind::Text {
                    let start = symbol.address() as usize;
                    let code = &section.data().unwrap()[start..start + 4];
                    assert_eq!(code, b"\xf3\x0f\x1e\xfa", "{:?}", symbol.name());
                    marked += 1;
                }
            }
            assert!(marked >= 8, "{marked}");
            // With those of the run time it is a whole.
            let all = bench.file("all.o");
            let mut join = Command::new("ld");
            succeeds(join.arg("-r").arg(bench.file(&probed)).arg(runtime()).arg("-o").arg(&all));
            let notes = output_of("readelf", &["-nW"], &all);
            assert!(notes.contains("IBT, SHSTK"), "{notes}");
        }
    }
}

#[test]
fn nothing_is_writable_and_executable() {
    for compiler in compilers() {
        for link in ["-pie", "-static"] {
            let bench = Bench::new(compiler, &["-O1", "-fPIE", link]);
            let object = bench.compile("world.c", &[]);
            for hook in [Hook::Time, Hook::Value, Hook::Trace] {
                let (probed, _) = bench.instrument(&object, hook, Selection::default());
                let strict = OsStr::new("-Wl,--fatal-warnings,-z,text");
                bench.link("probed", &[&probed], &[runtime().as_os_str(), strict]);
                let segments = output_of("readelf", &["-lW"], &bench.file("probed"));
                assert!(segments.contains("GNU_STACK"), "{segments}");
                assert!(!segments.contains("RWE"), "{segments}");
                assert!(!output_of("readelf", &["-dW"], &bench.file("probed")).contains("TEXTREL"));
            }
        }
    }
}

/// Functions of a program that have a name of their own: start and size.
fn functions(program: &Path, local: bool) -> HashMap<String, (u64, u64)> {
    let data = fs::read(program).unwrap();
    let elf = ElfFile64::<LittleEndian>::parse(data.as_slice()).unwrap();
    elf.symbols()
        .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.is_definition())
        .filter(|symbol| symbol.is_local() == local && symbol.size() > 0)
        .map(|symbol| (symbol.name().unwrap().to_owned(), (symbol.address(), symbol.size())))
        .collect()
}

/// Function, file and line of each address, and those that were inlined there.
fn lines(program: &Path, addresses: &[u64]) -> Vec<String> {
    let mut command = Command::new("addr2line");
    command.args(["-f", "-i", "-a", "-e"]).arg(program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String = addresses.iter().map(|address| format!("{address:x}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split("0x").skip(1).map(|one| one.split_once('\n').unwrap().1.to_owned()).collect()
}

#[test]
fn each_instruction_has_the_line_that_it_had() {
    for compiler in compilers() {
        for level in ["-O0", "-O2"] {
            let bench = Bench::new(compiler, &["-g", level, "-no-pie", "-fno-pie"]);
            let object = bench.compile("torture.cc", &[]);
            let plain = bench.compile("plain.c", &["-fexceptions"]);
            let (probed, _) = bench.instrument(&object, Hook::Time, Selection::default());
            bench.link("plain", &[&object, &plain], &[]);
            bench.link("probed", &[&probed, &plain], &[runtime().as_os_str()]);
            let (before, after) = (bench.file("plain"), bench.file("probed"));
            let (was, is) = (functions(&before, false), functions(&after, true));
            let mut from = Vec::new();
            let mut to = Vec::new();
            let mut count = 0;
            for (name, &(start, size)) in &was {
                // What stays where it is keeps its name in the object.
                let Some(&(now, length)) = is.get(name) else { continue };
                assert_eq!(size, length, "{name}");
                from.extend((0..size).map(|offset| start + offset));
                to.extend((0..size).map(|offset| now + offset));
                count += 1;
            }
            assert!(count >= 8, "{count}");
            let (from, to) = (lines(&before, &from), lines(&after, &to));
            assert!(from.iter().any(|line| line.contains("torture.cc:")));
            assert_eq!(from.len(), to.len());
            for (number, (from, to)) in from.iter().zip(&to).enumerate() {
                // Where debug information has no line, the symbol says something of the file.
                if !(from.ends_with(":?\n") && to.ends_with(":?\n")) {
                    assert_eq!(from, to, "{} {level}, address {number}", compiler.c);
                }
            }
        }
    }
}

#[test]
fn a_debugger_stops_where_the_source_says() {
    if !Command::new("gdb").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return println!("there is no gdb");
    }
    for compiler in compilers() {
        let bench = Bench::new(compiler, &["-g", "-O1"]);
        let object = bench.compile("forks.c", &[]);
        let (probed, _) = bench.instrument(&object, Hook::Time, Selection::default());
        bench.link("plain", &[&object], &[]);
        bench.link("probed", &[&probed], &[runtime().as_os_str()]);
        let frames = |program: &str| -> Vec<String> {
            let label = output_of(
                "gdb",
                &["-batch", "-nx", "-ex", "break forks.c:15", "-ex", "run", "-ex", "bt"],
                &bench.file(program),
            );
            // Between them are the stubs.
            let lines = label.lines().filter(|line| line.starts_with('#') && line.contains(" at "));
            let place = |line: &str| line.rsplit('/').next().unwrap().to_owned();
            lines.map(place).collect()
        };
        let plain = frames("plain");
        assert!(plain.len() >= 2, "{plain:?}");
        assert_eq!(frames("probed"), plain, "{}", compiler.c);
    }
}
