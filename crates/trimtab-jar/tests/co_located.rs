//! Programs of which functions share methods: they say the same as in QEMU.
#![allow(clippy::unwrap_used)]

mod common;

use common::{jar_with, output, verify};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trimtab_jar::{CoLocatedFunctions, Options, translate_with};

/// Functions of the program by that name, as they are named for it.
const GROUPS: [&[&str]; 5] = [
    &["first", "second", "third", "passes_on", "more_arguments"],
    &["fibonacci", "is_even", "is_odd", "sum_of", "product_of", "number"],
    &["of_all", "store", "both", "wide", "shorter", "distance"],
    &["sorted", "before", "comes_back", "apply", "fill", "of_size", "sum_all"],
    &["around", "may_leave", "leaves", "may_fault", "reads", "ends_at", "ends"],
];

fn owned(groups: &[&[&str]]) -> Vec<Vec<String>> {
    groups.iter().map(|group| group.iter().map(|name| (*name).to_owned()).collect()).collect()
}

fn compile(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = folder.join(name.split('.').next().unwrap());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let plus = if name.ends_with(".cpp") { "g++" } else { "gcc" };
    let mut compiler = Command::new(format!("mipsel-linux-gnu-{plus}"));
    let compiled =
        output(compiler.args(options).args(["-static", "-o"]).arg(&program).arg(source).arg("-lm"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// Runs a program in QEMU and as a jar with these groups, in a JVM with each of these sets of options.
fn same(program: &Path, groups: Vec<Vec<String>>, ways: &[&[&str]]) -> Vec<CoLocatedFunctions> {
    let options = Options { co_located: groups, ..Options::default() };
    let (jar, translation) = jar_with(program, &options);
    verify(std::slice::from_ref(&jar));
    let expected = output(Command::new("qemu-mipsel").arg(program).arg("argument"));
    for way in ways {
        let mut java = Command::new("java");
        java.arg("-Xverify:all").args(*way).arg("-jar").arg(&jar).arg("argument");
        let found = output(&mut java);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            (text(&found.stdout), found.status.code()),
            (text(&expected.stdout), expected.status.code()),
            "{way:?}: {}",
            text(&found.stderr)
        );
    }
    assert!(!expected.stdout.is_empty());
    translation.report.co_located
}

#[test]
fn calls_of_all_kinds_are_the_same_as_jumps() {
    let folder = TempDir::new().unwrap();
    for level in ["-O0", "-O2"] {
        let program = compile(folder.path(), "co_located.c", &[level]);
        let found = same(&program, owned(&GROUPS), &[&[]]);
        let calls: Vec<(usize, usize)> =
            found.iter().map(|group| (group.jumps, group.calls)).collect();
        let jumps: usize = calls.iter().map(|(jumps, _)| jumps).sum();
        assert!(calls.len() == 5 && jumps > 25, "{calls:?}");
        let circles = found.iter().find(|group| group.names[0] == "fibonacci").unwrap();
        assert!(circles.calls >= 3 && circles.jumps >= 5, "{circles:?}");
    }
}

#[test]
fn all_functions_of_a_program_can_be_one_method() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "co_located.c", &["-Os"]);
    let mut names = vec!["main", "rounds"];
    // The later ones call the earlier ones: named in both orders.
    names.extend(GROUPS.iter().flat_map(|group| group.iter()));
    let ways: [&[&str]; 3] =
        [&[], &["-XX:TieredStopAtLevel=1"], &["-Xcomp", "-XX:-TieredCompilation"]];
    let found = same(&program, owned(&[&names]), &ways);
    assert_eq!(found.len(), 1);
    names.reverse();
    same(&program, owned(&[&names]), &[&[]]);
}

#[test]
fn exceptions_pass_functions_that_share_a_method() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "co_located_throws.cpp", &["-O2"]);
    let names = ["catches_all", "around", "catches", "cleans_up", "passes", "throws"];
    let found = same(&program, owned(&[&names]), &[&[]]);
    // Only what does not look at exceptions jumps.
    assert!(found[0].jumps >= 3 && found[0].calls >= 3, "{found:?}");
}

#[test]
fn a_fault_says_in_which_functions_it_may_be() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "fault.c", &["-O0", "-g"]);
    let options = Options { co_located: owned(&[&["main", "broken"]]), ..Options::default() };
    let (jar, _) = jar_with(&program, &options);
    let found = output(Command::new("java").arg("-jar").arg(jar));
    let text = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(text.contains("    in main or broken (fault.c:6)\n    in main\n"), "{text}");
}

#[test]
fn functions_that_are_too_large_together_are_refused_with_their_sizes() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "co_located.c", &["-O0"]);
    let names = ["__vfprintf_internal", "first", "second"];
    let options = Options { co_located: owned(&[&names]), ..Options::default() };
    let error = translate_with(&std::fs::read(program).unwrap(), &options).unwrap_err().to_string();
    assert!(error.starts_with("__vfprintf_internal ("), "{error}");
    assert!(error.ends_with("more than 8000: leave out __vfprintf_internal"), "{error}");
}
