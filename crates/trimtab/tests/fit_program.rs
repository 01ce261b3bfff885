//! `trimtab fit program` with real builds, linkers and runs.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;
use serde_json::Value;
use trimtab_lab::script;
use trimtab_program::{BlockMap, Program};

const COMPILE: &str = "gcc -O1 -c main.c more.c";

/// Fits the program of `testdata/app`; exit code, result and standard error.
fn fit(bench: &Bench, arguments: &[&str]) -> (i32, Value, String) {
    fit_with(bench, &[], arguments)
}

/// The same with these variables set.
fn fit_with(bench: &Bench, variables: &[(&str, &str)], arguments: &[&str]) -> (i32, Value, String) {
    let _ = fs::remove_file(bench.file("fit.json"));
    let output = bench
        .command("trimtab")
        .args(["fit", "program", "--work", "work", "--json", "fit.json"])
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = fs::read_to_string(bench.file("fit.json")).unwrap_or_else(|_| "null".to_owned());
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&text).unwrap(), error)
}

/// Fits, which must fail; its message and hints.
fn refused(bench: &Bench, arguments: &[&str]) -> String {
    let (code, result, error) = fit(bench, arguments);
    assert_eq!((code, &result), (1, &Value::Null), "{error}");
    error
}

fn number(result: &Value, pointer: &str) -> f64 {
    result.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {result}"))
}

/// What must hold of every fit of the program.
fn assert_fitted(bench: &Bench, result: &Value, program: &str) {
    let at = |pointer: &str| number(result, pointer);
    assert_eq!(result["schema"], "trimtab.fit.program/1");
    assert!(at("/touched/after") < at("/touched/before") / 2.0, "{result}");
    assert!(at("/touched/after") <= at("/minimum/function_pages") + 2.0, "{result}");
    assert!(at("/order/placed") >= 20.0 && at("/misplaced") == 0.0, "{result}");
    assert!(at("/separate") > 0.5 && at("/coverage/bytes") > 0.99, "{result}");
    assert!(result["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true));
    // What the build left is the program laid out, a file of its own, and works.
    let left = fs::read(bench.file(program)).unwrap();
    assert_eq!(left, fs::read(result["artifacts"]["program_after"].as_str().unwrap()).unwrap());
    assert!(bench.good(&format!("./{program}"), &[]).starts_with("started: "));
    let folder = fs::read_dir(bench.path()).unwrap();
    let names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains(".trimtab-")), "{names:?}");
}

#[test]
fn a_program_is_fitted_with_each_linker() {
    let bench = Bench::new();
    let build = format!("{COMPILE} && gcc -o app main.o more.o");
    for linker in ["lld", "gold", "gnu"] {
        let (code, result, error) =
            fit(&bench, &["--build", &build, "--run", "./app", "--linker", linker, "--runs", "2"]);
        assert_eq!(code, 0, "{linker}: {error}");
        assert_fitted(&bench, &result, "app");
        assert_eq!(result["linker"], linker);
    }
}

#[test]
fn a_project_of_cmake_is_fitted_in_a_fresh_folder() {
    let bench = Bench::new();
    let project = "cmake_minimum_required(VERSION 3.13)\n\
                   project(app C)\n\
                   set(CMAKE_BUILD_TYPE Release)\n\
                   add_compile_options(-O1)\n\
                   add_executable(app main.c more.c)\n";
    fs::write(bench.file("CMakeLists.txt"), project).unwrap();
    let build = "cmake -B b && cmake --build b";
    let (code, result, error) = fit(&bench, &["--build", build, "--run", "b/app", "--runs", "0"]);
    assert_eq!(code, 0, "{error}");
    assert_fitted(&bench, &result, "b/app");
    assert!(bench.file("b/CMakeCache.txt").exists());
}

#[test]
fn a_crate_of_cargo_is_fitted() {
    let bench = Bench::new();
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [profile.release]\nstrip = false\n[workspace]\n";
    fs::write(bench.file("Cargo.toml"), manifest).unwrap();
    fs::create_dir(bench.file("src")).unwrap();
    let code = "#[inline(never)]\nfn late(n: usize) -> usize { println!(\"late\"); n + 1 }\n\
                #[inline(never)]\nfn first() -> usize { println!(\"first\"); 1 }\n\
                fn main() {\n    let n = first();\n\
                if std::env::args().count() > 5 { println!(\"{}\", late(n)); }\n}\n";
    fs::write(bench.file("src/main.rs"), code).unwrap();
    // Cargo itself runs this test, and tells what it starts where to build.
    let build = "cargo build --release --offline --target-dir target";
    let run = "target/release/small";
    let (code, result, error) = fit(&bench, &["--build", build, "--run", run, "--runs", "0"]);
    assert_eq!(code, 0, "{error}");
    let at = |pointer: &str| number(&result, pointer);
    assert!(at("/touched/after") < at("/touched/before"), "{result}");
    assert!(at("/order/placed") >= 20.0 && at("/misplaced") == 0.0, "{result}");
    assert!(at("/separate") > 0.5 && at("/coverage/bytes") > 0.99, "{result}");
    assert_eq!(bench.good(run, &[]), "first\n");
    let order = fs::read_to_string(bench.file("work/small.order")).unwrap();
    assert!(order.contains("first") && !order.contains("late"), "{order}");
}

#[test]
fn variables_of_a_build_are_extended_and_compilers_given_by_path_wrapped() {
    let bench = Bench::new();
    // It says what it was given, each time that it links.
    let makefile = "app: main.o more.o\n\
                    \t$(CC) $(LDFLAGS) -o $@ $^\n\
                    \t@printf '%s\\n' 'CC=$(CC)' 'CFLAGS=$(CFLAGS)' 'LDFLAGS=$(LDFLAGS)' \
                    'CXXFLAGS=$(CXXFLAGS)' > said\n\
                    %.o: %.c\n\
                    \t$(CC) $(CFLAGS) -c -o $@ $<\n";
    fs::write(bench.file("Makefile"), makefile).unwrap();
    let variables = [("CC", "/usr/bin/gcc"), ("CFLAGS", "-O1"), ("LDFLAGS", "-Wl,-z,now")];
    let arguments = ["--build", "make", "--run", "./app", "--runs", "0"];
    let (code, result, error) = fit_with(&bench, &variables, &arguments);
    assert_eq!(code, 0, "{error}");
    assert_fitted(&bench, &result, "app");
    let said = fs::read_to_string(bench.file("said")).unwrap();
    let said: Vec<&str> = said.lines().collect();
    let bin = fs::canonicalize(bench.file("work/tools/bin")).unwrap().display().to_string();
    assert_eq!(
        said,
        [
            &format!("CC={bin}/gcc"),
            "CFLAGS=-O1 -ffunction-sections",
            &format!("LDFLAGS=-Wl,-z,now -B{bin}"),
            // What is not set stays so: the build may have flags of its own.
            "CXXFLAGS=",
        ]
    );
    // Their own flags were taken: with them all symbols are bound when the program starts.
    assert!(bench.good("readelf", &["-dW", "app"]).contains("NOW"));
}

#[test]
fn starts_are_measured_and_held_out_runs_judge() {
    let bench = Bench::new();
    let build = format!("{COMPILE} && gcc -o app main.o more.o");
    let (code, result, error) = fit(
        &bench,
        &[
            "--build",
            &build,
            "--run",
            "./app",
            "--held-out",
            "./app all",
            "--runs",
            "4",
            "--html",
            "fit.html",
        ],
    );
    assert_eq!(code, 0, "{error}");
    assert_fitted(&bench, &result, "app");
    let at = |pointer: &str| number(&result, pointer);
    assert_eq!(at("/faults/runs"), 4.0);
    // None of it was in memory, so at least one page had to be waited for; not so where all that is
    // needed was read ahead with the head of the file.
    assert!(at("/faults/major/before") >= 1.0, "{result}");
    assert!(at("/faults/major/after") <= at("/faults/major/before"), "{result}");
    assert!(at("/resident_file_kib/after") > 0.0, "{result}");
    assert!(at("/resident_text_kib/after") <= at("/resident_file_kib/after"), "{result}");
    assert!(at("/instructions/before") > 10_000.0, "{result}");
    let [low, mean, high] = ["low", "mean", "high"].map(|end| at(&format!("/time_ratio/{end}")));
    assert!(0.0 < low && low <= mean && mean <= high, "{result}");
    assert!(at("/first_output_ratio/mean") > 0.0, "{result}");
    assert_eq!(result["held_out"][0]["name"], "./app all");
    assert!(at("/held_out/0/touched_after") > at("/touched/after"), "{result}");
    let page = fs::read_to_string(bench.file("fit.html")).unwrap();
    assert!(page.contains("major faults of a cold start"));
    // And again, from the store.
    let (code, shown, error) = bench.trimtab(&["report", "--work", "work"]);
    assert_eq!(code, 0, "{error}");
    assert!(shown.contains("What a start costs"), "{shown}");
}

#[test]
fn a_shared_library_is_laid_out_as_well() {
    let bench = Bench::new();
    let build = "gcc -O1 -fPIC -c main.c more.c && gcc -shared -o libmore.so more.o && \
                 gcc -o app main.o -L. -lmore -Wl,-rpath,'$ORIGIN'";
    let (code, result, error) = fit(
        &bench,
        &["--build", build, "--run", "./app", "--library", "libmore.so", "--runs", "2"],
    );
    assert_eq!(code, 0, "{error}");
    let library = &result["libraries"][0];
    assert!(library["file"].as_str().unwrap().ends_with("/libmore.so"));
    assert!(number(library, "/touched/after") < number(library, "/touched/before"), "{library}");
    assert_eq!(result["artifacts"]["order_files"].as_array().unwrap().len(), 2);
}

#[test]
fn a_static_program_is_a_program() {
    let bench = Bench::new();
    let build = format!("{COMPILE} && gcc -static -o app main.o more.o");
    let (code, result, error) = fit(&bench, &["--build", &build, "--run", "./app", "--runs", "0"]);
    assert_eq!(code, 0, "{error}");
    assert!(number(&result, "/touched/after") < number(&result, "/touched/before"), "{result}");
    assert_eq!(result["time_ratio"], Value::Null);
}

#[test]
fn a_small_program_with_all_of_the_c_library_in_it_is_fitted() {
    let bench = Bench::new();
    fs::write(
        bench.file("app.c"),
        "#include <stdio.h>\n\
         __attribute__((noinline)) static int one(int x) { volatile int v = x; return v + 1; }\n\
         __attribute__((noinline)) static int two(int x) { volatile int v = x; return v * 2; }\n\
         int main(int c, char **v) { (void)v; printf(\"%d\\n\", c > 9 ? two(c) : one(c)); return 0; }\n",
    )
    .unwrap();
    let build = ["--build", "gcc -O1 -static -o app app.c", "--run", "./app", "--runs", "0"];
    let (code, result, error) = fit(&bench, &build);
    assert_eq!(code, 0, "{error}");
    // The C library was compiled long ago, which says nothing of this build.
    assert!(number(&result, "/separate") > 0.5, "{result}");
}

#[test]
fn a_wrong_run_does_not_throw_the_build_away() {
    let bench = Bench::new();
    fs::write(
        bench.file("Makefile"),
        "app: main.o more.o\n\t$(CC) -o app main.o more.o\n%.o: %.c\n\t$(CC) -O1 -c $<\n",
    )
    .unwrap();
    let run = |run: &str| fit(&bench, &["--build", "make", "--run", run, "--runs", "0"]);
    let (code, _, error) = run("./ap");
    assert_eq!(code, 1);
    assert!(error.contains("./ap"), "{error}");
    let linked = fs::metadata(bench.file("app")).unwrap().modified().unwrap();
    let (code, _, error) = run("./app --no-such && false");
    assert_eq!(code, 1, "{error}");
    assert!(!error.contains("linked nothing"), "{error}");
    assert_eq!(fs::metadata(bench.file("app")).unwrap().modified().unwrap(), linked);
    let (code, result, error) = run("./app");
    assert_eq!(code, 0, "{error}");
    assert_fitted(&bench, &result, "app");
}

#[test]
fn processes_and_threads_of_a_program_are_traced_too() {
    let bench = Bench::new();
    fs::write(
        bench.file("forks.c"),
        "#include <pthread.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         static void *in_thread(void *p) { return p; }\n\
         void only_in_child(void) { puts(\"child\"); fflush(stdout); }\n\
         void never(void) { puts(\"never\"); }\n\
         int main(int argc, char **argv) {\n\
           pthread_t t; (void)argv; pthread_create(&t, 0, in_thread, 0); pthread_join(t, 0);\n\
           if (fork() == 0) { only_in_child(); _exit(0); }\n\
           wait(0); if (argc > 5) never(); return 0; }\n",
    )
    .unwrap();
    let build = "gcc -O1 -pthread -o forks forks.c";
    let (code, _, error) = fit(&bench, &["--build", build, "--run", "./forks", "--runs", "0"]);
    assert_eq!(code, 0, "{error}");
    let order = fs::read_to_string(bench.file("work/forks.order")).unwrap();
    for name in ["main", "in_thread", "only_in_child"] {
        assert!(order.lines().any(|line| line == name), "{name}: {order}");
    }
    assert!(!order.contains("never"), "{order}");
}

#[test]
fn functions_are_split_by_clang_and_come_back_whole() {
    let bench = Bench::new();
    // One object at a time as builds do, both at once, and without any object that stays.
    let link = "clang -o app main.o more.o";
    for compile in [
        format!("for c in main more; do test -e $c.o || clang -O1 -c $c.c; done && {link}"),
        format!("clang -O1 -c main.c more.c && {link}"),
        "clang -O1 -o app main.c more.c".to_owned(),
    ] {
        let arguments = ["--build", &compile, "--run", "./app", "--runs", "2"];
        let blocks = [&arguments[..], &["--granularity", "block"]].concat();
        let (code, result, error) = fit(&bench, &blocks);
        assert_eq!(code, 0, "{compile}: {error}");
        assert_eq!(result["granularity"], "block", "{compile}: {error}");
        let at = |pointer: &str| number(&result, pointer);
        assert!(at("/split/functions") >= 5.0 && at("/split/cold_bytes") > 100.0, "{result}");
        assert!(at("/touched/after") <= at("/minimum/function_pages"), "{result}");
        assert!(bench.good("./app", &[]).starts_with("started: "));
        // The next fit begins with whole functions again.
        let (code, whole, error) = fit(&bench, &arguments);
        assert_eq!(code, 0, "{compile}: {error}");
        assert_eq!(whole["granularity"], "function");
        assert_fitted(&bench, &whole, "app");
        let _ = fs::remove_dir_all(bench.file("work"));
        for name in ["main.o", "more.o", "app"] {
            let _ = fs::remove_file(bench.file(name));
        }
    }
}

#[test]
fn blocks_that_run_follow_each_other_as_they_ran() {
    let bench = Bench::new();
    // The compiler is told that the rare side of the branch is the common one.
    let source = "#include <stdio.h>\n#include <stdlib.h>\n\
         static volatile unsigned sink, broken;\n\
         __attribute__((noinline)) int walk(int n) {\n\
           int sum = 0;\n\
           for (int i = 0; i < n; i++) {\n\
             if (__builtin_expect(i % 64 == 0, 1)) { sink = i; sum += sink * 5; }\n\
             else { sink = sum; sum ^= sink >> 3; }\n\
             if (broken) { printf(\"never %d\\n\", sum); abort(); }\n\
           }\n\
           return sum; }\n\
         int main(void) { printf(\"walked: %d\\n\", walk(5000)); return 0; }\n";
    fs::write(bench.file("walk.c"), source).unwrap();
    let build = "clang -O1 -o walk walk.c";
    bench.good("sh", &["-c", build]);
    let said = bench.good("./walk", &[]);
    fs::remove_file(bench.file("walk")).unwrap();
    let (mut orders, mut taken) = (Vec::new(), Vec::new());
    for order in ["source", "ext-tsp"] {
        let (code, result, error) = fit(
            &bench,
            &[
                "--build",
                build,
                "--run",
                "./walk",
                "--runs",
                "1",
                "--granularity",
                "block",
                "--block-order",
                order,
            ],
        );
        assert_eq!(code, 0, "{order}: {error}");
        assert_eq!(result["split"]["block_order"], order);
        assert!(result["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true));
        assert_eq!(bench.good("./walk", &[]), said);
        // The list that clang got, and what it made of it.
        let lists = result["artifacts"]["block_lists"].as_object().unwrap();
        let list = fs::read_to_string(lists.values().next().unwrap().as_str().unwrap()).unwrap();
        let lines: Vec<&str> = list.lines().collect();
        let at = lines.iter().position(|line| *line == "f walk").expect(&list);
        let told: Vec<u32> =
            lines[at + 1].split(' ').skip(1).map(|id| id.parse().unwrap()).collect();
        let elf = fs::read(bench.file("walk")).unwrap();
        let program = Program::parse(&elf).unwrap();
        let start = program.function(program.lookup("walk")[0]).range.start;
        let map = BlockMap::parse(&elf).unwrap();
        let made: Vec<u32> = map.function(start).unwrap().iter().map(|block| block.id).collect();
        assert_eq!(made[..told.len()], told, "{order}");
        assert_eq!(told[0], 0);
        orders.push(told);
        taken.push(number(&result, "/jumps_taken/after"));
        assert!(number(&result, "/jumps_taken/before") > 5000.0, "{result}");
    }
    assert!(taken[1] + 4000.0 < taken[0], "{taken:?}");
    assert_ne!(orders[0], orders[1]);
    orders.iter_mut().for_each(|order| order.sort_unstable());
    assert_eq!(orders[0], orders[1]);
}

#[test]
fn what_a_start_needs_lies_together_unless_it_is_to_stay() {
    let bench = Bench::new();
    let build = format!("{COMPILE} && gcc -o app main.o more.o");
    let arguments = ["--build", &build, "--run", "./app", "--runs", "0"];
    let text_is_behind_data = || {
        let sections = bench.good("readelf", &["-SW", "app"]);
        sections.find(" .text ").unwrap() > sections.find(" .data ").unwrap()
    };
    let (code, result, error) = fit(&bench, &arguments);
    assert_eq!((code, &result["together"]), (0, &Value::Bool(true)), "{error}");
    assert!(text_is_behind_data());
    assert!(result["artifacts"]["use_it"].as_str().unwrap().contains("-Wl,-T,"), "{result}");
    let (code, result, error) = fit(&bench, &[&arguments[..], &["--sections", "kept"]].concat());
    assert_eq!((code, &result["together"]), (0, &Value::Bool(false)), "{error}");
    assert!(!text_is_behind_data());
}

#[test]
fn without_blocks_functions_are_moved_whole() {
    let bench = Bench::new();
    let build = format!("{COMPILE} && gcc -o app main.o more.o");
    let arguments = ["--build", &build, "--run", "./app", "--runs", "0", "--granularity", "block"];
    let (code, result, error) = fit(&bench, &arguments);
    assert_eq!((code, &result["granularity"]), (0, &Value::from("function")), "{error}");
    assert!(error.contains("functions are moved whole"), "{error}");
    assert_fitted(&bench, &result, "app");

    // A map of blocks as compilers wrote it years ago.
    let old = ".section .llvm_bb_addr_map\n.byte 1, 0\n";
    fs::write(bench.file("old.s"), old).unwrap();
    let build = format!("{COMPILE} && gcc -o app main.o more.o old.s");
    let error = refused(&bench, &["--build", &build, "--run", "./app", "--granularity", "block"]);
    assert!(error.contains("the map of basic blocks has version 1, expected 2 to 5"), "{error}");
}

#[test]
fn breakpoints_trace_what_qemu_does_not_run() {
    let bench = Bench::new();
    let build = format!("{COMPILE} && gcc -o app main.o more.o");
    let arguments = ["--build", &build, "--run", "./app", "--runs", "0"];
    let (code, result, error) = fit(&bench, &[&arguments[..], &["--tracer", "native"]].concat());
    assert_eq!((code, &result["tracer"]), (0, &Value::from("native")), "{error}");
    assert_fitted(&bench, &result, "app");
    assert_eq!(result["instructions"], Value::Null);
    let by_breakpoints = fs::read_to_string(bench.file("work/app.order")).unwrap();
    let (code, _, error) = fit(&bench, &arguments);
    assert_eq!(code, 0, "{error}");
    let by_blocks = fs::read_to_string(bench.file("work/app.order")).unwrap();
    let names = |order: &str| -> Vec<String> {
        // What compilers add to each program has symbols without a size, which get no breakpoint.
        let added = |line: &&str| line.starts_with(['#', '_']) || line.contains("tm_clones");
        order.lines().filter(|line| !added(line)).map(str::to_owned).collect()
    };
    assert_eq!(names(&by_breakpoints), names(&by_blocks));

    // An emulator that says its version, and runs nothing.
    let emulator = bench.file("tools/qemu-x86_64");
    let says_version = "#!/bin/sh\n[ \"$1\" = --version ] && echo qemu-x86_64 version 9.0.0\n";
    script::write(&emulator, says_version).unwrap();
    let (code, result, error) = fit(&bench, &arguments);
    assert_eq!((code, &result["tracer"]), (0, &Value::from("native")), "{error}");
    assert!(error.contains("does not run in QEMU, so breakpoints trace it"), "{error}");
    let error = refused(&bench, &[&arguments[..], &["--tracer", "qemu"]].concat());
    assert!(error.contains("`./app` "), "{error}");
    let both = ["--granularity", "block", "--tracer", "native"];
    let (code, _, error) = fit(&bench, &[&arguments[..], &both].concat());
    assert_eq!(code, 2, "{error}");
}

/// Functions that never run: more of the text than start files have, which are not the user's.
fn filler() -> String {
    let function = |n| {
        format!(
            "int f{n}(int a, char **p) {{ for (int i = 0; i < a; i++) a ^= p[i][{n}]; return a; }}\n"
        )
    };
    (0..20).map(function).collect()
}

#[test]
fn assembly_with_overlapping_symbols_and_jumps_into_the_middle_is_moved_whole() {
    let bench = Bench::new();
    fs::write(
        bench.file("odd.s"),
        ".section .text.odd,\"ax\"\n.globl odd, odd_alias\n.type odd, @function\n\
         .type odd_alias, @function\n.type inner, @function\nodd:\nodd_alias:\n\
         lea middle(%rip), %rax\njmp *%rax\nud2\ninner:\nud2\nmiddle:\nmov $7, %eax\nret\n\
         .size odd, .-odd\n.size odd_alias, 4\n.size inner, .-inner\n\
         .section .note.GNU-stack,\"\",@progbits\n",
    )
    .unwrap();
    fs::write(
        bench.file("odd_main.c"),
        filler()
            + "int odd(void); void never(void) { odd(); }\n\
         int jumps(int n) { static const void *to[] = {&&a, &&b}; goto *to[n & 1];\n\
         a: return 1; b: return 2; }\n\
         int main(int argc, char **argv) { (void)argv; return odd() + jumps(argc) - 9; }\n",
    )
    .unwrap();
    for compiler in ["gcc", "clang"] {
        let build = format!("{compiler} -O1 -o odd odd_main.c odd.s");
        let block = ["--granularity", "block"];
        let arguments = ["--build", &build, "--run", "./odd", "--runs", "1"];
        let (code, result, error) = fit(&bench, &[&arguments[..], &block].concat());
        assert_eq!(code, 0, "{compiler}: {error}");
        assert_eq!(number(&result, "/misplaced"), 0.0, "{result}");
        assert_eq!(bench.run("./odd", &[]).0, 0);
    }
}

#[test]
fn a_build_that_takes_no_part_is_told() {
    let bench = Bench::new();
    let error = refused(&bench, &["--build", "false", "--run", "./app"]);
    assert!(error.contains("the build `false` ended with 1"), "{error}");

    // lld, which links here, does not load gcc's plugin.
    let build = "gcc -O1 -flto -c main.c more.c && gcc -O1 -flto -o app main.o more.o";
    let error = refused(&bench, &["--build", build, "--run", "./app"]);
    assert!(error.contains("main.o has no code, only what gcc -flto keeps"), "{error}");
    assert!(error.contains("give --linker gnu, or build with -ffat-lto-objects"), "{error}");

    let error = refused(&bench, &["--build", "true", "--run", "./app", "--program", "app"]);
    assert!(error.contains("the build linked nothing through trimtab's tools"), "{error}");

    let build = "gcc -O1 -fno-function-sections -c main.c more.c && gcc -o app main.o more.o";
    let error = refused(&bench, &["--build", build, "--run", "./app"]);
    assert!(error.contains("the build ignored -ffunction-sections: 0.0 % of the text"), "{error}");

    let build = format!("{COMPILE} && gcc -s -o app main.o more.o");
    let error = refused(&bench, &["--build", &build, "--run", "./app"]);
    assert!(error.contains("stripped"), "{error}");

    let build = format!("{COMPILE} && gcc -o built main.o more.o && strip -o app built");
    let error = refused(&bench, &["--build", &build, "--run", "./app"]);
    assert!(error.contains("app is none of the 1 files that the build linked"), "{error}");
    assert!(error.contains("a copy that was stripped is another file"), "{error}");

    // Takes what it finds for up to date, and so never links in the order.
    let build = format!("test -e once || {{ {COMPILE} && gcc -o app main.o more.o; }}; touch once");
    let error = refused(&bench, &["--build", &build, "--run", "./app"]);
    assert!(error.contains("the second build did not make"), "{error}");
    assert!(bench.file("app").exists(), "what the first build made is put back");
}

#[test]
fn a_program_that_cannot_be_traced_is_told() {
    let bench = Bench::new();
    let good = format!("{COMPILE} && gcc -o app main.o more.o");
    let error = refused(&bench, &["--build", &good, "--run", "true", "--program", "app"]);
    assert!(error.contains("`true` did not run "), "{error}");

    let build = format!("{good} && chmod u+s app");
    let error = refused(&bench, &["--build", &build, "--run", "./app"]);
    assert!(error.contains("is setuid or setgid"), "{error}");

    let program = |name: &str, text: &str| {
        fs::write(bench.file(&format!("{name}.c")), filler() + text).unwrap();
        let build = format!("gcc -O1 -o {name} {name}.c");
        refused(&bench, &["--build", &build, "--run", &format!("./{name}"), "--limit", "5"])
    };
    let error = program("crash", "#include <stdlib.h>\nint main(void) { abort(); }\n");
    assert!(error.contains("`./crash` was killed by signal 6 (SIGABRT)"), "{error}");

    let error = program("loops", "int main(void) { for (;;) ; }\n");
    assert!(error.contains("took longer than its limit of 5 s"), "{error}");
    assert!(error.contains("hint: give a command that ends by itself"), "{error}");

    // A bounded number: were it not ended, the machine would survive it.
    let error = program(
        "forks",
        "#include <unistd.h>\nint main(void) {\n\
         for (int i = 0; i < 700; i++) if (fork() == 0) for (;;) pause();\n\
         for (;;) pause(); }\n",
    );
    assert!(error.contains("processes at once, expected at most 512"), "{error}");
}

#[test]
fn a_program_that_runs_elsewhere_finds_what_lies_beside_it() {
    let bench = Bench::new();
    // Started by a script, from another folder.
    let text = "#!/bin/sh\ncd / && exec \"$OLDPWD/app\" \"$@\"\n";
    script::write(&bench.file("start"), text).unwrap();
    let build = format!("{COMPILE} && gcc -o app main.o more.o");
    let (code, result, error) =
        fit(&bench, &["--build", &build, "--run", "./start", "--program", "app", "--runs", "2"]);
    assert_eq!(code, 0, "{error}");
    assert_fitted(&bench, &result, "app");
}

#[test]
fn wrong_usage_is_told_before_anything_is_built() {
    let bench = Bench::new();
    let usage = |arguments: &[&str]| {
        let (code, result, error) = fit(&bench, arguments);
        assert_eq!((code, &result), (2, &Value::Null), "{error}");
        assert!(!bench.file("built").exists());
        error
    };
    usage(&["--run", "./app"]);
    usage(&["--build", "touch built"]);
    let error = usage(&["--build", "touch built", "--run", "x", "--block-order", "ext-tsp"]);
    assert!(error.contains("add --granularity block"), "{error}");
    let error = usage(&["--build", "touch built", "--run", "x", "--algorithm", "best"]);
    assert!(error.contains("there is no algorithm best, expected "), "{error}");
}
