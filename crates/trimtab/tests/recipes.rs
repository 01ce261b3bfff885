//! The manual's recipes for perf, uftrace, ftrace and trace-cmd, on what these tools print here and now.
//!
//! `./setup --for test` installs the tools. The function tracer is the kernel's: where it has none, or may
//! not be used, these recipes read what it printed elsewhere (`testdata/traces`), and say so.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;

const SHOP: &str = r#"
#include <cstdio>
#include <map>
#include <string>
#define KEEP __attribute__((noinline))
namespace shop {
template <class K> KEEP K spin(K a) { volatile long x = 0; for (long i = 0; i < 20000000; i++) x = x + i; return a; }
struct Till { long sum = 0; KEEP int operator()(int a) { for (int i = 0; i < 20000000; i++) sum += i ^ a; return int(sum); } };
}
namespace { KEEP int hidden(int a) { volatile int x = a; for (int i = 0; i < 20000000; i++) x = x + i; return x; } }
KEEP int over(int a) { volatile int x = a; for (int i = 0; i < 20000000; i++) x = x + i; return x; }
KEEP int over(const char *a) { return a[0]; }
int main() { shop::Till till; std::printf("%d %d %d %d\n", shop::spin<int>(3), till(4), hidden(5), over(6)); return over("") ; }
"#;

const RUST: &str = r#"
trait Work { fn work(&self) -> u64; }
struct Small(u64);
impl Work for Small {
    #[inline(never)]
    fn work(&self) -> u64 { (0..40_000_000u64).fold(self.0, |a, b| std::hint::black_box(a ^ b)) }
}
#[inline(never)]
fn spin<T: Copy>(value: T) -> T { for i in 0..40_000_000u64 { std::hint::black_box(i); } value }
fn main() { println!("{} {}", spin(3u32), Small(4).work()); }
"#;

/// Functions in the order of a program, by what `trimtab order` says of a trace.
fn ordered(bench: &Bench, program: &str, trace: &str) -> (Vec<String>, String) {
    let arguments = ["order", program, "--trace", trace, "-o", "out.order"];
    let (code, output, error) = bench.trimtab(&arguments);
    assert_eq!(code, 0, "{trace}: {output}{error}");
    let order = fs::read_to_string(bench.file("out.order")).unwrap();
    let names = order.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    (names, output)
}

#[test]
fn perf_of_a_cxx_program_as_the_manual_says() {
    let bench = Bench::new();
    fs::write(bench.file("app.cc"), SHOP).unwrap();
    for kind in ["-no-pie", "-pie"] {
        bench.sh(&format!("g++ -O1 -ffunction-sections {kind} -o app app.cc"));
        bench.sh("perf record -q -e cpu-clock:u -F 2000 -o start.data ./app");
        // As printed in the manual; with the symbols as they are; with call chains.
        for options in
            ["", "--no-demangle", "-F ip,sym,symoff,dso", "-F comm,tid,time,event,ip,sym,dso"]
        {
            bench.sh(&format!("perf script -i start.data {options} > start.txt 2>/dev/null"));
            let (names, output) = ordered(&bench, "app", "start.txt");
            for name in
                ["_ZN4shop4spinIiEET_S1_", "_ZN4shop4TillclEi", "_ZN12_GLOBAL__N_16hiddenEi"]
            {
                assert!(names.iter().any(|found| found == name), "{options}: {name}: {names:?}");
            }
            // With an offset the address says which of two overloads ran.
            let said = names.iter().any(|name| name == "_Z4overPKc");
            assert_eq!(said, options.ends_with("sym,dso") && kind == "-pie", "{options}: {output}");
        }
        // The data itself: perf makes the text.
        let (names, _) = ordered(&bench, "app", "start.data");
        assert!(names.iter().any(|name| name == "_ZN4shop4spinIiEET_S1_"), "{names:?}");
        bench.sh("perf record -q -g -e cpu-clock:u -F 500 -o chains.data ./app");
        bench.sh("perf script -i chains.data > chains.txt 2>/dev/null");
        let (names, _) = ordered(&bench, "app", "chains.txt");
        assert!(names.iter().any(|name| name == "_ZN4shop4spinIiEET_S1_"), "{names:?}");
    }
}

#[test]
fn perf_of_a_rust_program() {
    let bench = Bench::new();
    fs::write(bench.file("app.rs"), RUST).unwrap();
    // The compiler's own choice, and the newer one.
    for mangling in ["", "-C symbol-mangling-version=v0"] {
        bench.sh(&format!("rustc -O {mangling} -o app app.rs"));
        bench.sh("perf record -q -e cpu-clock:u -F 2000 -o start.data ./app");
        bench.sh("perf script -i start.data > start.txt 2>/dev/null");
        let (names, output) = ordered(&bench, "app", "start.txt");
        for part in ["spin", "work"] {
            assert!(names.iter().any(|name| name.contains(part)), "{mangling}: {names:?} {output}");
        }
    }
}

#[test]
fn uftrace_with_any_names_columns_and_arguments() {
    let bench = Bench::new();
    let source = SHOP.replace("20000000", "20");
    fs::write(bench.file("app.cc"), source).unwrap();
    bench.sh("g++ -O1 -pg -ffunction-sections -o app app.cc");
    bench.sh("uftrace record --no-libcall -d own ./app");
    bench.sh("uftrace record -a -A '.@arg1,arg2' -R '.@retval' -d args ./app");
    let (names, _) = ordered(&bench, "app", "own");
    assert!(names.iter().any(|name| name == "_Z4overi"), "{names:?}");
    for data in ["own", "args"] {
        for print in [
            "replay --demangle=no",
            "replay",
            "replay --demangle=full",
            "replay -f none",
            "dump --demangle=no",
            "dump",
            "dump --demangle=full",
        ] {
            bench.sh(&format!("uftrace {print} -d {data} > start.txt"));
            let (names, output) = match data {
                "own" => ordered(&bench, "app", "start.txt"),
                // Functions of libraries are in it, which are none of the program's.
                _ => {
                    let arguments = ["order", "app", "--trace", "start.txt", "-o", "out.order"];
                    let (code, output, error) =
                        bench.trimtab(&[&arguments[..], &["--min-coverage", "0.3"]].concat());
                    assert_eq!(code, 0, "{data} {print}: {error}");
                    let order = fs::read_to_string(bench.file("out.order")).unwrap();
                    (order.lines().map(str::to_owned).collect(), output)
                }
            };
            for name in [
                "main",
                "_ZN4shop4spinIiEET_S1_",
                "_ZN4shop4TillclEi",
                "_ZN12_GLOBAL__N_16hiddenEi",
                "_Z4overi",
                "_Z4overPKc",
            ] {
                assert!(
                    names.iter().any(|found| found == name),
                    "{data} {print}: {name}: {names:?}"
                );
            }
            assert!(!output.contains("unreadable"), "{data} {print}: {output}");
        }
    }
}

/// Functions of the kernel by the lines of a trace, found by other means than ours.
fn functions(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let event = line.split_once(": function: ").map(|(_, rest)| rest.trim());
        let bare = line.split_once(" <-").filter(|_| !line.contains("<--"));
        let name = match (event, bare) {
            (Some(name), _) => name.split([' ', '+']).next().unwrap_or_default(),
            (None, Some((start, _))) => start.rsplit(' ').next().unwrap_or_default(),
            _ => continue,
        };
        if !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// What the recipes for ftrace and trace-cmd leave: `boot.txt`, and `later.txt` with `later.dat` where the
/// function tracer of this kernel may be used. Else what it printed elsewhere.
fn record_functions(bench: &Bench) -> bool {
    let live = "set -e; t=/sys/kernel/tracing; test -w $t/current_tracer; echo function > $t/current_tracer; \
                cat /etc/hostname; echo 0 > $t/tracing_on; cat $t/trace > boot.txt; echo nop > $t/current_tracer; \
                echo 1 > $t/tracing_on; trace-cmd record -q -p function -o later.dat sleep 0.1; \
                trace-cmd report -i later.dat > later.txt";
    if bench.run("sh", &["-c", live]).0 == 0 {
        return true;
    }
    println!(
        "the kernel's function tracer may not be used here: what it printed elsewhere is read"
    );
    for (from, to) in [("ftrace-plain", "boot"), ("trace-cmd-plain", "later")] {
        let file = format!("{}/../traces/{from}.txt", app::SOURCES);
        fs::copy(file, bench.file(&format!("{to}.txt"))).unwrap();
    }
    false
}

#[test]
fn ftrace_and_trace_cmd_as_the_manual_says() {
    let bench = Bench::new();
    let live = record_functions(&bench);
    for trace in ["boot.txt", "later.txt"] {
        let text = fs::read_to_string(bench.file(trace)).unwrap();
        let expected = functions(&text);
        assert!(expected.len() >= 10, "{trace}: {expected:?}");
        // A program of the functions that are in it.
        let source: String = expected
            .iter()
            .map(|name| {
                format!(
                    ".section .text.{name},\"ax\"\n.globl {name}\n.type {name},@function\n\
                     {name}: .fill 64,1,0x90\n.size {name},64\n"
                )
            })
            .collect();
        fs::write(bench.file("k.s"), format!("{source}.globl _start\n_start: ret\n")).unwrap();
        bench.sh("gcc -c k.s && ld.lld -o k k.o");
        let (names, output) = ordered(&bench, "k", trace);
        assert_eq!(names, expected, "{trace}");
        assert!(!output.contains("unreadable"), "{output}");
    }
    if live {
        let (names, _) = ordered(&bench, "k", "later.dat");
        assert!(!names.is_empty());
    }
}

#[test]
fn what_a_tool_recorded_is_read_by_the_tool_that_is_installed() {
    let bench = Bench::new();
    // In place of trace-cmd, whose recording needs rights that tests may lack.
    let printed = format!("{}/../traces/trace-cmd-plain.txt", app::SOURCES);
    fs::write(
        bench.file("tools/trace-cmd"),
        format!("#!/bin/sh\n[ \"$*\" = 'report -i trace.dat' ] && cat {printed}\n"),
    )
    .unwrap();
    bench.sh("chmod +x tools/trace-cmd");
    fs::write(bench.file("trace.dat"), b"\x17\x08\x44tracing6\0").unwrap();
    bench.sh("gcc -O1 -o app main.c more.c");
    let (code, _, error) = bench.trimtab(&["order", "app", "--trace", "trace.dat"]);
    assert_eq!(code, 1);
    assert!(error.contains("the trace is of another build: 0.0 %"), "{error}");
    // What comes by a pipe is copied first.
    fs::write(
        bench.file("tools/trace-cmd"),
        format!("#!/bin/sh\ncmp -s \"$3\" trace.dat && cat {printed}\n"),
    )
    .unwrap();
    let trimtab = env!("CARGO_BIN_EXE_trimtab");
    for given in ["cat trace.dat | T --trace -", "cat trace.dat | T --trace /dev/stdin"] {
        let line = given.replace('T', &format!("{trimtab} order app"));
        let (_, _, error) = bench.run("sh", &["-c", &line]);
        assert!(error.contains("the trace is of another build: 0.0 %"), "{given}: {error}");
    }
    // What is compressed is named.
    bench.sh("gzip -k trace.dat");
    let (_, _, error) = bench.trimtab(&["order", "app", "--trace", "trace.dat.gz"]);
    assert!(error.contains("compressed by gzip; unpack it first"), "{error}");
    // What the tool says beside the trace is no part of it.
    fs::write(
        bench.file("tools/trace-cmd"),
        "#!/bin/sh\n\
         for i in 1 2 3 4 5 6 7 8 9; do\n\
         echo \"app-7 [000] 1.00000$i: function: warning_$i <-- main\" >&2\n\
         done\n\
         echo 'app-7 [000] 1.000001: function: main <-- start'\n",
    )
    .unwrap();
    let (code, output, error) =
        bench.trimtab(&["order", "app", "--trace", "trace.dat", "-o", "out.order"]);
    assert_eq!(code, 0, "{output}{error}");
    assert!(fs::read_to_string(bench.file("out.order")).unwrap().contains("main"));
    assert!(!output.contains("warning_1") && output.contains("100.0 % of names"), "{output}");
    // Where the tool is missing, the message names it and its package.
    fs::remove_file(bench.file("tools/trace-cmd")).unwrap();
    let (_, _, error) =
        bench.run("env", &["PATH=/nowhere", trimtab, "order", "app", "--trace", "trace.dat"]);
    assert!(error.contains("install the package `trace-cmd`"), "{error}");
    // What nothing here can read is named in the message.
    fs::create_dir(bench.file("ctf")).unwrap();
    fs::write(bench.file("ctf/metadata"), "/* CTF 1.8 */").unwrap();
    let (code, _, error) = bench.trimtab(&["order", "app", "--trace", "ctf"]);
    assert_eq!(code, 1);
    assert!(error.contains("Common Trace Format") && error.contains("babeltrace2 ctf"), "{error}");
}
