//! `trimtab probe` with what builds bring: archives of each kind, hooks in archives, Rust.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;
use std::os::unix::fs::symlink;

use app::Bench;
use serde_json::Value;

const MANUAL: &str = include_str!("../../../docs/probe.md");

/// Calls of a function, from what `trimtab probe report --json` wrote.
fn calls(report: &Value, name: &str) -> u64 {
    let rows = report["functions"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).map_or(0, |row| row["calls"].as_u64().unwrap())
}

/// The Rust example of the manual.
fn example() -> &'static str {
    MANUAL.split("```rust\n").nth(1).unwrap().split("```").next().unwrap()
}

const ENTER: &str = "#include <stdio.h>\n#include <stdlib.h>\n#include \"all/trimtab_probe.h\"\n\
    static int entered;\nstatic void end(void) { printf(\"%d entered\\n\", entered); }\n\
    void trimtab_probe_user_enter(const struct trimtab_probe_function *f, uint64_t time) {\n\
    if (!entered++) atexit(end); }\n";
const LEAVE: &str = "#include \"all/trimtab_probe.h\"\nint left;\n\
    void trimtab_probe_user_leave(const struct trimtab_probe_function *f, uint64_t time) {\n\
    left++; }\n";

#[test]
fn hooks_are_found_in_archives() {
    let bench = Bench::new();
    fs::write(bench.file("enter.c"), ENTER).unwrap();
    fs::write(bench.file("leave.c"), LEAVE).unwrap();
    fs::write(bench.file("hooks.rs"), example()).unwrap();
    bench.sh("gcc -O1 -c main.c more.c");
    bench.sh("trimtab probe instrument main.o more.o -o all --hook user");
    bench.sh("gcc -O1 -c enter.c leave.c && ar rcs libhooks.a enter.o leave.o");
    for linker in ["bfd", "lld"] {
        let link = format!("gcc -fuse-ld={linker} -o app all/*.o");
        let (output, _) = bench.sh(&format!("{link} -L. -lhooks && ./app && nm app"));
        let last = output.lines().find(|line| line.ends_with(" entered")).unwrap();
        assert!(last.strip_suffix(" entered").unwrap().parse::<u64>().unwrap() > 10, "{output}");
        assert!(output.contains(" T trimtab_probe_user_leave"), "{output}");
        for (objects, missing) in [("enter.o", "leave"), ("leave.o", "enter"), ("", "enter")] {
            let (code, _, error) = bench.run("sh", &["-c", &format!("{link} {objects}")]);
            assert_ne!(code, 0);
            let missing = format!("trimtab_probe_user_{missing}");
            let is_told = |line: &str| line.contains("undefined") && line.contains(&missing);
            assert!(error.lines().any(is_told), "{error}");
        }
    }
    bench.sh("rustc -O -C panic=abort --crate-type staticlib hooks.rs");
    let (output, _) = bench.sh("gcc -o app all/*.o libhooks.a && ./app");
    assert!(output.lines().any(|line| line.ends_with(" calls")), "{output}");
    let counted = output.lines().find_map(|line| line.strip_suffix(" calls")).unwrap();
    assert!(counted.parse::<u64>().unwrap() > 10, "{output}");

    // With another hook there are none.
    bench.sh("trimtab probe instrument main.o more.o -o other --hook edges");
    bench.sh("gcc -o app other/*.o && ./app");
}

#[test]
fn thin_archives_become_ordinary_ones() {
    let bench = Bench::new();
    bench
        .sh("mkdir -p lib/objects && gcc -O1 -c main.c && gcc -O1 -c more.c -o lib/objects/more.o");
    // Members are named relative to the archive.
    bench.sh("ar rcsT lib/libmore.a lib/objects/more.o && head -c 7 lib/libmore.a | grep thin");
    bench.sh("trimtab probe instrument main.o lib/libmore.a -o out --hook count --json out.json");
    let result = bench.json("out.json");
    assert_eq!(result["files"], 2);
    let before = fs::metadata(bench.file("lib/objects/more.o")).unwrap().len();
    assert!(result["bytes"]["before"].as_u64().unwrap() > before, "{result}");
    let (members, _) = bench.sh("ar t out/libmore.a && rm -r lib/objects");
    assert_eq!(members, "more.o\n");
    bench.sh("gcc -o app out/main.o out/libmore.a out/trimtab-probe.o && ./app");
    bench.sh("trimtab probe report trimtab-probe.out --json report.json");
    let more = calls(&bench.json("report.json"), "rest");
    assert_eq!(calls(&bench.json("report.json"), "main"), 1);

    let (code, _, error) = bench.trimtab(&["probe", "instrument", "lib/libmore.a", "-o", "new"]);
    assert_eq!(code, 1);
    assert!(error.contains("cannot read lib/objects/more.o, a member of this thin"), "{error}");
    assert!(!bench.file("new").exists());

    fs::write(
        bench.file("Makefile"),
        "app: main.o lib/libmore.a\n\t$(CC) -o $@ main.o -Llib -lmore\n\
         lib/libmore.a: lib/more.o\n\trm -f $@ && ar rcsT $@ $^\n\
         lib/more.o: more.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n",
    )
    .unwrap();
    bench.sh("rm -f app main.o lib/libmore.a");
    bench.sh("trimtab probe build --hook count --json build.json -- make -s CFLAGS=-O1");
    assert_eq!(bench.json("build.json")["files"], 2);
    bench.sh("./app && trimtab probe report trimtab-probe.out --json report.json");
    assert_eq!(calls(&bench.json("report.json"), "rest"), more);
}

#[test]
fn members_that_cannot_be_instrumented_are_named() {
    let bench = Bench::new();
    bench.sh(
        "gcc -O1 -c main.c more.c && strip -s more.o -o bare.o && ar rcs liball.a main.o bare.o",
    );
    bench.sh("trimtab probe instrument liball.a -o out --json out.json");
    let functions = &bench.json("out.json")["functions"];
    let left = functions["left"].as_array().unwrap();
    let bare = left.iter().find(|left| left["name"] == "bare.o").unwrap();
    assert!(bare["reason"].as_str().unwrap().contains("without symbols"), "{bare}");
    let instrumented = functions["instrumented"].as_u64().unwrap();
    assert_eq!(functions["seen"].as_u64().unwrap(), instrumented + left.len() as u64);

    bench.sh("trimtab probe instrument more.o -o done && cp done/more.o done.o");
    bench.sh("ar rcs libdone.a main.o done.o");
    let (code, _, error) = bench.trimtab(&["probe", "instrument", "libdone.a", "-o", "new"]);
    assert_eq!(code, 1);
    let expected = "cannot instrument libdone.a: its member done.o: the object is instrumented \
                    already; give the one that the compiler wrote\n";
    assert!(error.ends_with(expected), "{error}");
    bench.sh("aarch64-linux-gnu-gcc -c more.c -o other.o && ar rcs libmixed.a main.o other.o");
    let (code, _, error) = bench.trimtab(&["probe", "instrument", "libmixed.a", "-o", "new"]);
    assert_eq!(code, 1);
    assert!(error.contains("its member other.o is for another machine"), "{error}");
    assert!(!error.contains("cannot be read") && !bench.file("new").exists(), "{error}");
}

#[test]
fn a_recording_orders_functions_by_itself() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c more.c && gcc -o plain main.o more.o");
    for hook in ["order", "trace"] {
        bench.sh(&format!("trimtab probe instrument main.o more.o -o out --hook {hook}"));
        bench.sh("gcc -o app out/*.o && ./app");
        bench.sh("trimtab probe report trimtab-probe.out --native run.trace");
        let of = |trace: &str| {
            bench.sh(&format!("trimtab order plain --trace {trace} -o - 2>/dev/null")).0
        };
        assert_eq!(of("trimtab-probe.out").lines().find(|l| !l.starts_with('#')), Some("main"));
        let names = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(names(&of("trimtab-probe.out")), names(&of("run.trace")));
        bench.sh("trimtab pages plain --trace trimtab-probe.out");
    }
    bench.sh("trimtab probe instrument main.o more.o -o out --hook time");
    bench.sh("gcc -o app out/*.o && ./app");
    let (code, _, error) =
        bench.trimtab(&["order", "plain", "--trace", "trimtab-probe.out", "-o", "-"]);
    assert_eq!(code, 1);
    assert!(error.contains("--hook time, which does not tell what ran first"), "{error}");
    assert!(error.contains("--hook order"), "{error}");
}

/// A program with functions of its own that the C library has, too; those in `own.c` are called.
const CALLER: &str = "#include <stdio.h>\nint backtrace(void **to, int room);\n\
    int execv(const char *path, char *const *arguments);\nvoid _Exit(int status);\n\
    __attribute__((noinline)) static int calls(void) { void *to[4];\n\
    return backtrace(to, 4) + execv(\"/nowhere\", 0); }\n\
    int main(void) { _Exit(3); printf(\"%d\\n\", calls()); return 0; }\n";
const OWN: &str = "#include <stdio.h>\nint backtrace(void **to, int room) { return 100 * room; }\n\
    int execv(const char *path, char *const *arguments) { return path[1]; }\n\
    void _Exit(int status) { printf(\"own %d\\n\", status); }\n";

#[test]
fn functions_of_the_program_are_called_though_the_c_library_has_such_too() {
    let bench = Bench::new();
    fs::write(bench.file("caller.c"), CALLER).unwrap();
    fs::write(bench.file("own.c"), OWN).unwrap();
    bench.sh("gcc -O1 -fno-builtin -w -c caller.c own.c && gcc -o plain caller.o own.o");
    bench.sh("ar rcs libown.a own.o && mkdir thin && ar rcsT thin/libown.a own.o");
    let plain = bench.sh("./plain");
    assert_eq!(plain.0, "own 3\n510\n");
    for hook in ["time", "count", "event"] {
        for own in ["own.o", "libown.a", "thin/libown.a"] {
            let name = own.rsplit('/').next().unwrap();
            bench.sh(&format!("trimtab probe instrument caller.o {own} -o out --hook {hook}"));
            bench.sh(&format!("gcc -o app out/caller.o out/{name} out/trimtab-probe.o"));
            let run = "TRIMTAB_PROBE_EVENT=page-faults ./app";
            assert_eq!(bench.sh(run), plain, "{hook} {own}");
            bench.sh(&format!(
                "rm app && trimtab probe build --hook {hook} -- gcc -o app caller.o {own}"
            ));
            assert_eq!(bench.sh(run), plain, "{hook} {own}");
            bench.sh("trimtab probe report trimtab-probe.out --json report.json");
            assert_eq!(calls(&bench.json("report.json"), "backtrace"), 1, "{hook} {own}");
        }
    }
    // Where the program has none, those of the run time are.
    for (hook, ends) in [("time", "trimtab_probe__Exit"), ("count", "_Exit")] {
        bench.sh(&format!("trimtab probe instrument caller.o -o out --hook {hook}"));
        let (symbols, _) = bench.sh("nm -u out/caller.o");
        let is_called = |name: &str| symbols.lines().any(|line| line.trim() == format!("U {name}"));
        assert!(is_called("trimtab_probe_backtrace") && is_called(ends), "{hook}: {symbols}");
    }
}

const FIBONACCI: [u64; 10] = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34];

const RUST: &str = r#"
use std::panic::{catch_unwind, resume_unwind, set_hook};
use std::sync::atomic::{AtomicU64, Ordering};

static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Guard;

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn thrower(n: u64) -> u64 {
    let _guard = Guard;
    if n % 3 == 0 {
        panic!("{n}");
    }
    n
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn passes(n: u64) -> u64 {
    let _guard = Guard;
    thrower(n) + 1
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn again(n: u64) -> u64 {
    match catch_unwind(|| passes(n)) {
        Ok(n) => n,
        Err(caught) => resume_unwind(caught),
    }
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn fib(n: u64) -> u64 {
    if n < 2 { n } else { std::hint::black_box(fib(n - 1) + fib(n - 2)) }
}

fn main() {
    set_hook(Box::new(|_| {}));
    let caught = (0..300).filter(|&n| catch_unwind(|| again(n)).is_err()).count();
    println!("{caught} {}", DROPPED.load(Ordering::Relaxed));
    let threads: Vec<_> = (1..9).map(|n| std::thread::spawn(move || again(n) + fib(n))).collect();
    for thread in threads {
        match thread.join() {
            Ok(n) => println!("{n}"),
            Err(panic) => println!("panic: {}", panic.downcast_ref::<String>().unwrap()),
        }
    }
    println!("{} {}", fib(15), DROPPED.load(Ordering::Relaxed));
}
"#;

/// Has the path lead to all programs but linkers of LLVM, so that rustc uses its own.
fn without_lld(bench: &Bench) {
    let tools = bench.file("tools");
    fs::remove_file(tools.join("ld.lld")).unwrap();
    let narrow = bench.file("narrow");
    fs::create_dir(&narrow).unwrap();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !name.to_string_lossy().contains("lld") {
                // The first in the path counts.
                let _ = symlink(entry.path(), narrow.join(name));
            }
        }
    }
}

#[test]
fn what_rustc_builds_is_instrumented_and_panics_as_before() {
    let bench = Bench::new();
    fs::write(bench.file("panics.rs"), RUST).unwrap();
    without_lld(&bench);
    let path = "PATH=$PWD/tools:$PWD/narrow";
    bench.sh(&format!("{path} rustc --edition 2021 -O -g panics.rs -o plain"));
    let plain = bench.sh("./plain");
    assert!(plain.0.starts_with("100 600\n") && plain.0.contains("panic: 3\n"), "{}", plain.0);
    for hook in ["count", "time", "edges"] {
        bench.sh(&format!(
            "{path} trimtab probe build --hook {hook} --json build.json -- \
                 rustc --edition 2021 -O -g panics.rs -o app"
        ));
        let build = bench.json("build.json");
        assert!(build["functions"]["instrumented"].as_u64().unwrap() >= 5, "{build}");
        assert_eq!(bench.sh("./app"), plain, "{hook}");
        bench.sh("trimtab probe report trimtab-probe.out --json report.json");
        let report = bench.json("report.json");
        for name in ["again", "passes", "thrower"] {
            assert_eq!(calls(&report, name), 308, "{hook} {name}");
        }
        // Naive Fibonacci of n makes 2 F(n + 1) - 1 calls; threads that panic make none.
        let of: u64 = [1, 2, 4, 5, 7, 8].map(|n| 2 * FIBONACCI[n + 1] - 1).iter().sum();
        assert_eq!(calls(&report, "fib"), 2 * 987 - 1 + of, "{hook}");
        if hook == "edges" {
            let edges = report["edges"].as_array().unwrap();
            let edge = |from: &str, to: &str| {
                let edge = edges.iter().find(|edge| edge["caller"] == from && edge["callee"] == to);
                edge.map_or(0, |edge| edge["calls"].as_u64().unwrap())
            };
            assert_eq!(edge("passes", "thrower"), 308);
        }
    }
}

const DEEP: &str = r"
#[inline(never)]
fn deeper(n: u64) -> u64 {
    let room = std::hint::black_box([n; 16]);
    deeper(n + 1) + room[(n % 16) as usize]
}

fn main() {
    std::process::exit(deeper(0) as i32);
}
";

#[test]
fn rust_still_says_that_a_stack_is_too_deep() {
    let bench = Bench::new();
    fs::write(bench.file("deep.rs"), DEEP).unwrap();
    without_lld(&bench);
    let rustc = "PATH=$PWD/tools:$PWD/narrow";
    for hook in ["time", "value"] {
        bench.sh(&format!(
            "{rustc} trimtab probe build --hook {hook} -- rustc --edition 2021 -O deep.rs -o deep"
        ));
        let (code, _, error) = bench.run("sh", &["-c", "./deep; exit $?"]);
        assert!(error.contains("has overflowed its stack"), "{hook}: {error}");
        assert_eq!(code, 128 + 6, "{hook}: {error}");
    }
}

#[test]
fn a_build_that_links_nothing_is_told_why_that_may_be() {
    let bench = Bench::new();
    let (code, _, error) = bench.trimtab(&["probe", "build", "--", "true"]);
    assert_eq!(code, 1);
    assert!(error.contains("true linked no program through a known compiler"), "{error}");
    assert!(error.contains("remove the programs") && error.contains("found in PATH"), "{error}");
}
