//! `trimtab probe` with what builds bring: archives of each kind, hooks in archives, Rust.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;

const MANUAL: &str = include_str!("../../../docs/probe.md");

/// Runs a shell command that must succeed; both outputs.
fn sh(bench: &Bench, command: &str) -> (String, String) {
    let (code, output, error) = bench.run("sh", &["-c", command]);
    assert_eq!(code, 0, "{command}\n{output}{error}");
    (output, error)
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
    sh(&bench, "gcc -O1 -c main.c more.c");
    sh(&bench, "trimtab probe instrument main.o more.o -o all --hook user");
    sh(&bench, "gcc -O1 -c enter.c leave.c && ar rcs libhooks.a enter.o leave.o");
    for linker in ["bfd", "lld"] {
        let link = format!("gcc -fuse-ld={linker} -o app all/*.o");
        let (output, _) = sh(&bench, &format!("{link} -L. -lhooks && ./app && nm app"));
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
    sh(&bench, "rustc -O -C panic=abort --crate-type staticlib hooks.rs");
    let (output, _) = sh(&bench, "gcc -o app all/*.o libhooks.a && ./app");
    assert!(output.lines().any(|line| line.ends_with(" calls")), "{output}");
    let counted = output.lines().find_map(|line| line.strip_suffix(" calls")).unwrap();
    assert!(counted.parse::<u64>().unwrap() > 10, "{output}");

    // With another hook there are none.
    sh(&bench, "trimtab probe instrument main.o more.o -o other --hook edges");
    sh(&bench, "gcc -o app other/*.o && ./app");
}
