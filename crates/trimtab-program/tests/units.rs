//! Compile units of what gcc made, whole and damaged.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use trimtab_program::{Program, UnitsError, compile_units};

/// A program of two sources, compiled with these flags.
fn program(flags: &[&str]) -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.c"), "int b(void);\nint main(void) { return b(); }\n").unwrap();
    let more = "static int c(int x) { return x * 3; }\nint b(void) { return c(1) - 3; }\n";
    fs::write(folder.path().join("b.c"), more).unwrap();
    let mut gcc = Command::new("gcc");
    let gcc = gcc.current_dir(folder.path()).args(["-fno-inline", "-o", "app", "a.c", "b.c"]);
    assert!(gcc.args(flags).status().unwrap().success());
    let bytes = fs::read(folder.path().join("app")).unwrap();
    (folder, bytes)
}

#[test]
fn code_is_of_the_source_that_it_was_compiled_from() {
    for flags in [&["-g1", "-O1"][..], &["-g", "-O2", "-gdwarf-4", "-ffunction-sections"]] {
        let (folder, bytes) = program(flags);
        let parsed = Program::parse(&bytes).unwrap();
        let units = compile_units(&bytes).unwrap();
        let source_of = |name: &str| {
            let start = parsed.function(parsed.functions_named(name)[0]).range.start;
            let has = |unit: &&_| -> bool {
                let unit: &trimtab_program::CompileUnit = unit;
                unit.ranges.iter().any(|range| range.contains(start))
            };
            let unit = units.iter().find(has).unwrap();
            let at = folder.path().canonicalize().unwrap();
            assert_eq!(unit.folder.as_deref(), at.to_str());
            unit.source.as_str()
        };
        assert_eq!(["main", "b"].map(source_of), ["a.c", "b.c"], "{flags:?}");
    }
}

#[test]
fn what_cannot_be_read_is_said_and_never_a_panic() {
    let (_folder, bytes) = program(&["-g1"]);
    assert!(matches!(compile_units(&program(&["-g0"]).1), Err(UnitsError::Missing)));
    assert!(matches!(compile_units(&program(&["-g1", "-gz"]).1), Err(UnitsError::Compressed(_))));
    assert!(matches!(compile_units(b"no program"), Err(UnitsError::Elf(_))));
    let mut refused = 0;
    for seed in 1..=2000_u64 {
        let mut damaged = bytes.clone();
        for step in 0..4 {
            let hash = (seed * 4 + step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let place = (hash >> 20) as usize % damaged.len();
            damaged[place] = hash as u8;
        }
        damaged.truncate(damaged.len() - (seed % 7) as usize * 100);
        refused += usize::from(compile_units(&damaged).is_err());
    }
    assert!(refused > 0, "all of it was read");
}
