//! `trimtab probe` from end to end: objects, builds and recordings; and what it refuses.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;
use std::process::Command;

use app::Bench;

#[test]
fn objects_are_instrumented_linked_and_run() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c more.c && gcc -o plain main.o more.o");
    bench.sh("trimtab probe instrument main.o more.o -o out --hook order --json out.json");
    let result = bench.json("out.json");
    assert_eq!(result["schema"], "trimtab.probe.instrument/1");
    let functions = &result["functions"];
    let seen = functions["seen"].as_u64().unwrap();
    let left = functions["left"].as_array().unwrap();
    assert_eq!(functions["instrumented"].as_u64().unwrap() + left.len() as u64, seen);
    assert!(left.iter().all(|left| left["reason"].is_string()), "{left:?}");
    assert!(result["bytes"]["after"].as_u64() > result["bytes"]["before"].as_u64());

    bench.sh("gcc -o app out/*.o");
    assert_eq!(bench.sh("./app"), bench.sh("./plain"));
    bench.sh("trimtab probe report trimtab-probe.out --native run.trace --json report.json");
    let report = bench.json("report.json");
    assert_eq!(report["schema"], "trimtab.probe.report/1");
    let main = report["functions"].as_array().unwrap().iter().find(|row| row["name"] == "main");
    assert_eq!(main.unwrap()["calls"], 1);
    assert_eq!(main.unwrap()["first"], 1);
    // What was recorded orders the program that is not instrumented.
    let (order, _) = bench.sh("trimtab order plain --trace run.trace -o - 2>/dev/null");
    assert_eq!(order.lines().find(|line| !line.starts_with('#')), Some("main"), "{order}");
}

#[test]
fn a_build_is_instrumented_on_its_way_to_the_linker() {
    let bench = Bench::new();
    fs::write(
        bench.file("Makefile"),
        "app: main.o libmore.a\n\t$(CC) -o $@ main.o -L. -lmore\nlibmore.a: more.o\n\tar rcs $@ $^\n",
    )
    .unwrap();
    bench.sh("trimtab probe build --hook trace --json build.json -- make -s CFLAGS=-O1");
    let result = bench.json("build.json");
    assert_eq!(result["files"], 2, "{result}");
    bench.sh("./app && trimtab probe report trimtab-probe.out --chrome c.json --folded stacks");
    let events = bench.json("c.json");
    let events = events["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "main" && event["ph"] == "X"));
    let stacks = fs::read_to_string(bench.file("stacks")).unwrap();
    assert!(stacks.lines().all(|line| line.starts_with("main")), "{stacks}");
    assert!(stacks.lines().any(|line| line.contains(';')), "{stacks}");
    // The objects of the build stay as they were.
    bench.sh("gcc -o plain main.o libmore.a && ! nm plain | grep trimtab");
}

#[test]
fn a_recording_chooses_what_the_next_build_instruments() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c more.c && trimtab probe instrument main.o more.o -o all");
    bench.sh("gcc -o app all/*.o && ./app");
    bench.sh(
        "trimtab probe instrument main.o more.o -o hot --profile trimtab-probe.out --share 0.5 \
         --json hot.json",
    );
    let hot = bench.json("hot.json");
    let count = hot["functions"]["instrumented"].as_u64().unwrap();
    assert!(count >= 1 && count < hot["functions"]["seen"].as_u64().unwrap() / 2, "{count}");
    let left = hot["functions"]["left"].as_array().unwrap();
    assert!(left.iter().any(|left| left["reason"] == "not selected"));
}

#[test]
fn probes_are_turned_off_and_on() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c more.c && trimtab probe instrument main.o more.o -o all");
    bench.sh("gcc -o app all/*.o && TRIMTAB_PROBE=off ./app");
    let (text, _) = bench.sh("trimtab probe report trimtab-probe.out");
    assert!(text.contains(": 0 calls of 0 functions"), "{text}");
    bench.sh("TRIMTAB_PROBE_FILE=r.%p ./app && ls r.*");
}

#[test]
fn what_the_system_counted_is_shown_and_chooses_functions() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c more.c");
    bench.sh("trimtab probe instrument main.o more.o -o all --hook event");
    bench.sh("gcc -o app all/*.o && TRIMTAB_PROBE_EVENT=page-faults ./app");
    let (text, _) = bench.sh("trimtab probe report trimtab-probe.out --json report.json");
    assert!(text.contains("\nevent: page-faults\n"), "{text}");
    let header = text.lines().find(|line| line.trim_start().starts_with("calls")).unwrap();
    let columns: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(columns, ["calls", "self", "share", "total", "function"]);
    let report = bench.json("report.json");
    assert_eq!((&report["hook"], &report["event"]), (&"event".into(), &"page-faults".into()));
    let main = report["functions"].as_array().unwrap().iter().find(|row| row["name"] == "main");
    let (own, total) = (&main.unwrap()["event_self"], &main.unwrap()["event_total"]);
    assert!(total.as_u64() >= own.as_u64() && total.as_u64() > Some(0), "{own} {total}");
    assert_eq!(main.unwrap()["total_cycles"], 0);

    bench.sh("trimtab probe instrument main.o -o hot --profile trimtab-probe.out --json hot.json");
    assert!(bench.json("hot.json")["functions"]["instrumented"].as_u64().unwrap() < 10);

    // Events of two kinds cannot be added up.
    bench.sh("TRIMTAB_PROBE_EVENT=task-clock TRIMTAB_PROBE_FILE=time.out ./app");
    let (text, _) = bench.sh("trimtab probe report time.out");
    assert!(text.contains("event: task-clock") && text.contains(" ns "), "{text}");
    let (code, _, error) = bench.trimtab(&["probe", "report", "trimtab-probe.out", "time.out"]);
    assert_eq!(code, 1);
    assert!(
        error.contains("(event task-clock)") && error.contains("(event page-faults)"),
        "{error}"
    );

    let (output, error) = bench.sh("TRIMTAB_PROBE_EVENT=nothing TRIMTAB_PROBE_FILE=no.out ./app");
    assert!(
        output.starts_with("started: ") && error.contains("expected instructions, "),
        "{error}"
    );
    assert!(!bench.file("no.out").exists());
}

#[test]
fn hooks_of_the_users_are_called() {
    let bench = Bench::new();
    fs::write(
        bench.file("hooks.c"),
        "#include <stdio.h>\n#include <string.h>\n#include \"all/trimtab_probe.h\"\n\
         static int entered, left;\n\
         void trimtab_probe_user_enter(const struct trimtab_probe_function *f, uint64_t time) {\n\
         double x = (double)time; entered += x > 0 && strlen(f->name) > 0 && f->size; }\n\
         void trimtab_probe_user_leave(const struct trimtab_probe_function *f, uint64_t time) {\n\
         left += f->start && time; }\n\
         __attribute__((destructor)) static void end(void) {\n\
         printf(\"%s %d\\n\", entered == left ? \"same\" : \"other\", entered > 10); }\n",
    )
    .unwrap();
    bench.sh("gcc -O1 -c main.c more.c");
    bench.sh("trimtab probe instrument main.o more.o -o all --hook user");
    let (output, _) = bench.sh("gcc -O2 -o app all/*.o hooks.c && ./app");
    assert!(output.ends_with("same 1\n"), "{output}");
}

#[test]
fn hooks_of_the_users_are_inside_where_they_are_simple() {
    let bench = Bench::new();
    let simple = "#include <trimtab_probe.h>\n#include <stdio.h>\n\
         static uint64_t entered, left;\n\
         void trimtab_probe_user_enter(const struct trimtab_probe_function *f, uint64_t time) {\n\
         entered++; }\n\
         void trimtab_probe_user_leave(const struct trimtab_probe_function *f, uint64_t time) {\n\
         LEAVE; }\n\
         __attribute__((destructor)) static void end(void) {\n\
         printf(\"%s %d\\n\", entered == left ? \"same\" : \"other\", entered > 10); }\n";
    fs::write(bench.file("simple.c"), simple.replace("LEAVE", "left++")).unwrap();
    fs::write(bench.file("calls.c"), simple.replace("LEAVE", "left += puts(\"\") > 0")).unwrap();
    bench.sh("gcc -O1 -c main.c more.c");
    let (text, _) =
        bench.sh("trimtab probe instrument main.o more.o -o all --hooks simple.c --json all.json");
    assert!(text.contains("Inside the probes: trimtab_probe_user_enter, "), "{text}");
    let hooks = &bench.json("all.json")["hooks"];
    assert_eq!(hooks["inside"].as_array().unwrap().len(), 2);
    let (output, _) = bench.sh("gcc -O2 -o app all/*.o && ./app");
    assert!(output.ends_with("same 1\n"), "{output}");

    let (text, _) = bench.sh(
        "trimtab probe build --hooks calls.c --json built.json -- gcc -O1 -o built main.c more.c",
    );
    assert!(text.contains("Called by the probes: trimtab_probe_user_leave (it calls"), "{text}");
    let hooks = &bench.json("built.json")["hooks"];
    assert_eq!(hooks["called"][0]["name"], "trimtab_probe_user_leave");
    let (output, _) = bench.sh("./built");
    assert!(output.ends_with("same 1\n"), "{output}");

    let refused = |arguments: &str, code: i32, message: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let (found, _, error) = bench.trimtab(&arguments);
        assert_eq!(found, code, "{error}");
        assert!(error.contains(message), "{error}");
    };
    fs::write(bench.file("wrong.c"), "int trimtab_probe_user_entre;\n").unwrap();
    fs::write(bench.file("broken.c"), "not C\n").unwrap();
    let instrument = "probe instrument main.o -o no";
    refused(&format!("{instrument} --hooks wrong.c"), 1, "defines neither");
    refused(&format!("{instrument} --hooks broken.c"), 1, "broken.c:1");
    refused(&format!("{instrument} --hooks absent.o"), 1, "cannot read absent.o");
    refused(&format!("{instrument} --hooks simple.c --hook time"), 2, "is for --hook user");
    assert!(!bench.file("no").exists());
}

#[test]
fn what_is_no_object_is_refused_in_one_line_and_nothing_is_written() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c && mkdir out && echo old > out/main.o");
    bench.sh("trimtab probe instrument main.o -o done && cp done/main.o already.o");
    bench.sh("strip -s main.o -o stripped.o && gcc -o linked main.c more.c");
    bench.sh("head -c 700 main.o > cut.o && echo text > text.o && : > empty.o");
    bench.sh("gcc -flto -c main.c -o slim.o");
    let mut other = fs::read(bench.file("main.o")).unwrap();
    other[18] = 243;
    fs::write(bench.file("other.o"), &other).unwrap();
    other[4] = 1;
    fs::write(bench.file("narrow.o"), &other).unwrap();
    for (file, message) in [
        ("already.o", "the object is instrumented already"),
        ("stripped.o", "the object is stripped"),
        ("linked", "the ELF file is no relocatable object: e_type is 3"),
        ("cut.o", "the object is truncated or damaged"),
        ("text.o", "not an ELF file: it starts with 74 65 78 74"),
        ("empty.o", "not an ELF file: it starts with nothing at all"),
        ("slim.o", "this holds GCC code for link-time optimisation"),
        ("other.o", "the object is for another machine: e_machine is 243"),
        ("narrow.o", "this is a 32-bit ELF file"),
        ("absent.o", "No such file"),
    ] {
        let (code, output, error) =
            bench.trimtab(&["probe", "instrument", "main.o", file, "-o", "out"]);
        assert_eq!((code, output.as_str()), (1, ""), "{file}: {error}");
        let lines: Vec<&str> = error.lines().filter(|line| line.contains(message)).collect();
        assert_eq!(lines.len(), 1, "{file}: {error}");
        assert!(lines[0].starts_with("trimtab: ") && lines[0].contains(file), "{error}");
        assert_eq!(fs::read_to_string(bench.file("out/main.o")).unwrap(), "old\n");
        assert_eq!(fs::read_dir(bench.file("out")).unwrap().count(), 1, "{file}");
    }
    let (code, ..) = bench.trimtab(&["probe", "instrument", "main.o", "text.o", "-o", "new"]);
    assert_eq!(code, 1);
    assert!(!bench.file("new").exists());
}

#[test]
fn bad_usage_is_told_from_failure() {
    let bench = Bench::new();
    bench.sh("gcc -O1 -c main.c && mkdir other && cp main.o other");
    for arguments in [
        &["probe", "instrument", "main.o", "other/main.o", "-o", "out"][..],
        &["probe", "instrument", "main.o", "-o", "."],
        &["probe", "instrument", "main.o", "-o", "out", "--hook", "nothing"],
        &["probe", "instrument", "main.o", "-o", "out", "--only", "a[b"],
        &["probe", "instrument", "-o", "out"],
        &["probe", "build"],
    ] {
        let (code, _, error) = bench.trimtab(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(!bench.file("out").exists(), "{arguments:?}");
    }
    let (code, _, error) = bench.trimtab(&["probe", "report", "main.c"]);
    assert_eq!(code, 1);
    assert!(error.contains("main.c is no recording"), "{error}");
    let (code, _, error) = bench.trimtab(&["probe", "build", "--", "false"]);
    assert_eq!(code, 1);
    assert!(error.contains("false failed with exit code 1"), "{error}");
}

#[test]
fn assembly_by_hand_is_left_alone() {
    let bench = Bench::new();
    fs::write(
        bench.file("hand.s"),
        ".globl hand\n.type hand,@function\nhand: lea 1(%rdi),%rax\n nop\n ret\n.size hand,.-hand\n\
         .section .note.GNU-stack,\"\",@progbits\n",
    )
    .unwrap();
    bench.sh("gcc -c hand.s && trimtab probe instrument hand.o -o out --json out.json");
    let result = bench.json("out.json");
    assert_eq!(result["functions"]["instrumented"], 0);
    let reason = result["functions"]["left"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("no unwind information"), "{reason}");
    assert_eq!(
        fs::read(bench.file("out/hand.o")).unwrap(),
        fs::read(bench.file("hand.o")).unwrap()
    );
}

#[test]
fn objects_for_aarch64_are_instrumented_with_its_compiler() {
    let bench = Bench::new();
    bench.sh("aarch64-linux-gnu-gcc -O1 -c main.c more.c");
    let (code, _, error) = bench.trimtab(&["probe", "instrument", "main.o", "-o", "out"]);
    assert_eq!(code, 1);
    assert!(error.contains("main.o is for AArch64") && error.contains("--cc aarch64"), "{error}");
    assert!(!bench.file("out").exists());
    bench.sh(
        "trimtab probe instrument main.o more.o -o out --cc aarch64-linux-gnu-gcc --hook count",
    );
    bench.sh("aarch64-linux-gnu-gcc -static -o app out/*.o && qemu-aarch64 ./app");
    let (text, _) = bench.sh("trimtab probe report trimtab-probe.out");
    assert!(text.contains("main"), "{text}");

    bench.sh("head -c 700 main.o > cut.o && cp out/main.o already.o");
    bench.sh("aarch64-linux-gnu-gcc -flto -c main.c -o slim.o");
    bench.sh("aarch64-linux-gnu-strip -s main.o -o stripped.o");
    bench.sh("aarch64-linux-gnu-gcc -o linked main.c more.c");
    for (file, message) in [
        ("cut.o", "the object is truncated or damaged"),
        ("already.o", "the object is instrumented already"),
        ("slim.o", "this holds GCC code for link-time optimisation"),
        ("stripped.o", "the object is stripped"),
        ("linked", "the ELF file is no relocatable object"),
    ] {
        let (code, output, error) = bench.trimtab(&["probe", "instrument", file, "-o", "new"]);
        assert_eq!((code, output.as_str()), (1, ""), "{file}: {error}");
        assert_eq!(error.lines().filter(|line| line.contains(message)).count(), 1, "{error}");
        assert!(!bench.file("new").exists());
    }
}

#[test]
fn a_build_for_aarch64_is_instrumented() {
    let mut compilers = vec!["aarch64-linux-gnu-gcc -static"];
    let has_clang = |name: &str| Command::new(name).arg("--version").output().is_ok();
    if has_clang("clang-22") && has_clang("ld.lld-22") {
        compilers.push("clang-22 --target=aarch64-linux-gnu -static");
        compilers.push("clang-22 --target=aarch64-linux-gnu -fuse-ld=lld");
    } else {
        println!("there is no clang-22 with lld: only gcc is tested");
    }
    for compiler in compilers {
        let bench = Bench::new();
        bench.sh(&format!(
            "trimtab probe build --cc aarch64-linux-gnu-gcc --hook count --json build.json -- \
                 {compiler} -O1 -o app main.c more.c"
        ));
        // The C library is not the build's.
        assert_eq!(bench.json("build.json")["files"], 2, "{compiler}");
        bench.sh("qemu-aarch64 -L /usr/aarch64-linux-gnu ./app");
        bench.sh("trimtab probe report trimtab-probe.out | grep main");
    }
}
