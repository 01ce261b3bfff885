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
