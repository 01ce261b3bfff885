//! `trimtab tune program --hot`: only some objects of a program get the flags.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;
use serde_json::Value;

/// Does the work; less of it with a flag.
const HOT: &str = r#"
unsigned hot(unsigned rounds)
{
	unsigned sum = 0;
#ifdef FEWER
	rounds /= 2;
#endif
	for (volatile unsigned i = 0; i < rounds; i++)
		;
	for (unsigned i = 0; i < 999; i++)
		sum = sum * 31 + (i ^ sum >> 3);
	return sum;
}
"#;

/// Does nearly nothing, and does not compile with the flag that helps the other.
const COLD: &str = r#"
#include <stdio.h>
#ifdef FEWER
#error "flags of hot objects"
#endif
unsigned hot(unsigned rounds);
int main(void)
{
	printf("%u\n", hot(20000));
	return 0;
}
"#;

const MAKEFILE: &str = "work: src/cold.o src/hot.o\n\t$(CC) $(LDFLAGS) -o $@ $^\n";
const CMAKE: &str = "cmake_minimum_required(VERSION 3.5)\nproject(work C)\n\
                     add_executable(work src/cold.c src/hot.c)\n";

fn bench() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.file("project")).unwrap();
    fs::create_dir(bench.file("project/src")).unwrap();
    for (name, text) in [
        ("src/hot.c", HOT),
        ("src/cold.c", COLD),
        ("GNUmakefile", MAKEFILE),
        ("CMakeLists.txt", CMAKE),
        ("flags.txt", "EITHER 2\n-O1\n-O3\n-DFEWER\n-DUNUSED\n-funroll-loops\n"),
    ] {
        fs::write(bench.file("project").join(name), text).unwrap();
    }
    bench
}

const MAKE: &str = "make CC=\"$CC\" CFLAGS=\"$CFLAGS\" LDFLAGS=\"$LDFLAGS\"";

/// Tunes in the project's folder: exit code, output and error.
fn tune(bench: &Bench, build: &str, more: &[&str]) -> (i32, String, String) {
    let mut command = bench.command("trimtab");
    command.current_dir(bench.file("project")).args(["tune", "program", "--quiet"]);
    command.args(["--build", build, "--run", "./work", "--flags", "flags.txt", "--rounds", "0"]);
    command.args(["--budget", "12", "--json", "out.json"]).args(more);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The sources of the program: those that are hot, and the others.
fn sources(json: &Value) -> (Vec<&str>, Vec<&str>) {
    let files = json["hot"]["files"].as_array().unwrap();
    let (hot, cold): (Vec<&Value>, Vec<&Value>) =
        files.iter().partition(|file| file["is_hot"] == true);
    (names(&hot), names(&cold))
}

fn names<'a>(files: &[&'a Value]) -> Vec<&'a str> {
    files.iter().map(|file| file["source"].as_str().unwrap()).collect()
}

#[test]
fn only_hot_objects_get_flags_and_the_lines_to_paste_give_them_to_no_others() {
    let bench = bench();
    let (code, output, error) = tune(&bench, MAKE, &["--hot", "90%"]);
    assert_eq!(code, 0, "{output}{error}");
    let json = bench.json("project/out.json");
    assert_eq!(sources(&json), (vec!["src/hot.c"], vec!["src/cold.c"]), "{json:#}");
    assert_eq!(json["hot"]["files"][0]["objects"], serde_json::json!(["src/hot.o"]));
    assert!(json["hot"]["files"][0]["share"].as_f64().unwrap() > 0.9, "{json:#}");
    // With this flag the cold object does not compile.
    assert!(json["take"]["flags"].as_str().unwrap().contains("-DFEWER"), "{json:#}");
    assert!(json["minimal"]["fitness_ratio"].as_f64().unwrap() < 0.9, "{json:#}");
    assert!(output.contains("src/hot.o: override CFLAGS += -O"), "{output}");
    let all = &json["hot"]["all_objects"];
    assert!(all["fitness_ratio"].is_null(), "{json:#}");
    assert!(all["reason"].as_str().unwrap().contains("the build failed"), "{json:#}");
    let row = output.lines().find(|line| line.starts_with("all objects")).unwrap();
    assert!(row.contains("the build"), "{output}");

    let line = |what: &str| {
        let lines = json["take"]["lines"].as_array().unwrap();
        let line = lines.iter().find(|line| line["what"] == what).unwrap();
        line["line"].as_str().unwrap().to_owned()
    };
    let flags = json["take"]["flags"].as_str().unwrap();
    let commands_have = |said: &str| {
        let of = |source: &str| {
            let found = said.lines().find(|line| line.contains(" -c ") && line.contains(source));
            found.unwrap_or_else(|| panic!("{source}: {said}")).contains(flags)
        };
        assert!(of("hot.c") && !of("cold.c"), "{flags}: {said}");
    };
    let project = bench.file("project");
    fs::write(project.join("GNUmakefile"), format!("{MAKEFILE}\n{}\n", line("a Makefile")))
        .unwrap();
    commands_have(&bench.sh("cd project && make CFLAGS=-O2 && ./work").0);
    fs::write(project.join("CMakeLists.txt"), format!("{CMAKE}{}\n", line("CMakeLists.txt")))
        .unwrap();
    let cmake = "cmake -S project -B built -DCMAKE_BUILD_TYPE=Release > log && \
                 make -C built VERBOSE=1 && built/work";
    commands_have(&bench.sh(cmake).0);
}

#[test]
fn sources_can_be_named_and_all_of_them_are_as_without() {
    let bench = bench();
    fs::write(bench.file("project/src/cold.c"), COLD.replace("#error", "//")).unwrap();
    let ratio = |more: &[&str]| {
        let (code, output, error) = tune(&bench, MAKE, more);
        assert_eq!(code, 0, "{output}{error}");
        let json = bench.json("project/out.json");
        (json["minimal"].clone(), json["history"].clone(), json)
    };
    let all = ratio(&["--hot", "100%"]);
    let whole = ratio(&[]);
    assert_eq!((&all.0, &all.1), (&whole.0, &whole.1));
    assert_eq!(sources(&all.2).0, ["src/hot.c", "src/cold.c"]);
    assert!(whole.2.get("hot").is_none());
    for name in ["fitness_ratio", "bytes_ratio"] {
        assert_eq!(all.2["hot"]["all_objects"][name], whole.0[name], "{:#}", all.2);
    }
    let cold = ratio(&["--hot", "cold.c"]);
    assert_eq!(sources(&cold.2), (vec!["src/cold.c"], vec!["src/hot.c"]));
    assert!(cold.0["fitness_ratio"].as_f64().unwrap() > 0.99, "{:#}", cold.2);
    assert!(cold.2["hot"]["all_objects"]["fitness_ratio"].is_number(), "{:#}", cold.2);
    // What is tried is known by which objects it is for.
    assert!(cold.2["evaluations"]["built"].as_u64().unwrap() > 0, "{:#}", cold.2);
}

#[test]
fn profiles_and_link_time_optimisation_of_the_hot_objects_alone_work() {
    let bench = bench();
    fs::write(bench.file("project/flags.txt"), "-fprofile-use\n-flto\n-O3\n").unwrap();
    let (code, output, error) = tune(&bench, MAKE, &["--hot", "hot.c"]);
    assert_eq!(code, 0, "{output}{error}");
    let json = bench.json("project/out.json");
    for arm in json["arms"].as_array().unwrap() {
        assert!(arm["ratio"].is_number(), "{arm:#}");
    }
}

#[test]
fn hot_objects_are_found_by_a_trace_of_another_run() {
    let bench = bench();
    let project = bench.file("project");
    fs::write(project.join("src/idle.c"), "int idle(void) { return 3; }\n").unwrap();
    fs::write(project.join("GNUmakefile"), MAKEFILE.replace("src/hot.o", "src/hot.o src/idle.o"))
        .unwrap();
    fs::write(project.join("src/cold.c"), COLD.replace("#error", "//")).unwrap();
    let trace = "cd project && make CFLAGS=-O1 && trimtab trace program -o ../ran.trace -- ./work && \
                 rm work src/*.o";
    bench.sh(trace);
    fs::write(bench.file("names"), "hot\n").unwrap();
    fs::write(bench.file("stale"), "other\nanother\nhot\n").unwrap();
    for (share, file, hot, cold, by) in [
        (
            "100%",
            "../ran.trace",
            &["src/cold.c", "src/hot.c"][..],
            &["src/idle.c"][..],
            "breakpoints",
        ),
        ("90%", "../names", &["src/hot.c"], &["src/cold.c", "src/idle.c"], "list"),
    ] {
        let (code, output, error) = tune(&bench, MAKE, &["--hot", share, "--hot-trace", file]);
        assert_eq!(code, 0, "{output}{error}");
        let json = bench.json("project/out.json");
        assert_eq!(sources(&json), (hot.to_vec(), cold.to_vec()), "{json:#}");
        assert_eq!(json["hot"]["found_by"], by);
        assert!(json["take"]["flags"].as_str().unwrap().contains("-DFEWER"), "{json:#}");
    }
    let (code, _, error) = tune(&bench, MAKE, &["--hot", "90%", "--hot-trace", "../stale"]);
    assert!(code == 1 && error.contains("other") && error.contains("another"), "{error}");
    let (code, _, error) = tune(&bench, MAKE, &["--hot-trace", "../stale"]);
    assert!(code == 2 && error.contains("--hot"), "{error}");
}

/// Does most of the work, in assembly.
#[cfg(target_arch = "x86_64")]
const FAST: &str = "\t.text\n\t.globl fast\n\t.type fast, @function\nfast:\n\tmov $900000, %eax\n\
                    1:\tdec %eax\n\tjnz 1b\n\tret\n\t.section .note.GNU-stack,\"\",@progbits\n";

#[cfg(target_arch = "x86_64")]
#[test]
fn what_assembly_executes_counts_and_paths_may_be_mapped() {
    let bench = bench();
    let project = bench.file("project");
    fs::write(project.join("src/fast.S"), FAST).unwrap();
    let cold = COLD.replace("int main", "unsigned fast(void);\nint main");
    fs::write(project.join("src/cold.c"), cold.replace("hot(20000)", "hot(20000) + fast()"))
        .unwrap();
    fs::write(project.join("GNUmakefile"), MAKEFILE.replace("src/hot.o", "src/hot.o src/fast.o"))
        .unwrap();
    // As the flags of Debian's packages do.
    let mapped = MAKE.replace("$CFLAGS", "$CFLAGS -ffile-prefix-map=$(pwd -P)=.");
    let (code, output, error) = tune(&bench, &mapped, &["--hot", "90%"]);
    assert_eq!(code, 0, "{output}{error}");
    let json = bench.json("project/out.json");
    assert_eq!(sources(&json).0, ["src/hot.c", "src/cold.c"], "{json:#}");
    let share = |value: &Value| value.as_f64().unwrap();
    let own: f64 =
        json["hot"]["files"].as_array().unwrap().iter().map(|file| share(&file["share"])).sum();
    let other = share(&json["hot"]["other"]["share"]);
    assert!(other > 0.5 && (own + other - 1.0).abs() < 1e-9, "{json:#}");
    assert_eq!(json["hot"]["wanted"], 0.9);
}

#[test]
fn what_cannot_be_told_apart_is_said() {
    let bench = bench();
    let said = |build: &str, hot: &str, expected: &str, code: i32| {
        let (found, output, error) = tune(&bench, build, &["--hot", hot]);
        assert!(error.contains(expected), "{expected}: {output}{error}");
        assert_eq!(found, code, "{error}");
    };
    said(MAKE, "0%", "expected a share above 0 % and up to 100 %", 2);
    said(MAKE, "101%", "expected a share above 0 % and up to 100 %", 2);
    said(MAKE, ",", "expected a share, as 90%, or names of sources", 2);
    said(MAKE, "no.c", "no source called no.c; expected one of src/hot.c, src/cold.c", 2);
    let once = "$CC $CFLAGS -o work src/hot.c src/cold.c";
    said(once, "90%", "one command compiles 2 sources to work, of which 1 are hot", 1);
    let stripped = format!("{MAKE} && strip work");
    said(&stripped, "90%", "it has no debug information", 1);
    let own = "/usr/bin/gcc -g1 -O2 -o work src/hot.c src/cold.c";
    said(own, "90%", "compiled by a compiler that can be given flags", 1);
    said("exit 3", "90%", "the build failed", 1);
}

#[test]
fn programs_of_the_catalogue_are_built_object_by_object() {
    let bench = Bench::new();
    fs::write(bench.file("flags.txt"), "-O1\n-O3\n-funroll-loops\n").unwrap();
    let run = ["tune", "program", "-q", "fib", "--hot", "90%", "--flags", "flags.txt"];
    let run = [&run[..], &["--rounds", "0", "--budget", "4", "--json", "out.json"]].concat();
    let (code, output, error) = bench.trimtab(&run);
    assert_eq!(code, 0, "{output}{error}");
    let json = bench.json("out.json");
    assert_eq!(sources(&json).0.len(), 1, "{json:#}");
    assert!(json["best"]["held_out_ratio"].is_number(), "{json:#}");
}
