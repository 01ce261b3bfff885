//! Jars that count their blocks, and jars that were cut by what these counted.
#![allow(clippy::unwrap_used)]

mod common;

use common::{output, verify};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trimtab_jar::run::{Request, Summary, run};

/// A program of the tests in `folder`.
fn compile(folder: &Path, name: &str, level: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    let program = folder.join(name);
    let mut compiler = Command::new("mipsel-linux-gnu-gcc");
    let compiled =
        output(compiler.args([level, "-static", "-o"]).arg(&program).arg(source).arg("-lm"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn translate(
    program: &Path,
    jar: &str,
    generate: bool,
    profiles: &[PathBuf],
) -> (PathBuf, Summary) {
    let request = Request {
        program: program.to_owned(),
        output: program.with_file_name(jar),
        profile_generate: generate,
        profile_use: profiles.to_vec(),
        ..Request::default()
    };
    (request.output.clone(), run(&request).unwrap())
}

/// What a jar prints and says; it writes its profile to `profile`.
fn java(jar: &Path, profile: &Path) -> (String, String) {
    let mut java = Command::new("java");
    let profile = format!("-Dtrimtab.profile={}", profile.display());
    let found = output(java.arg("-Xverify:all").arg(profile).arg("-jar").arg(jar));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&found.stdout), text(&found.stderr))
}

fn sum(profile: &Path) -> u64 {
    let text = fs::read_to_string(profile).unwrap();
    let counts = text.lines().skip(2).map(|line| line.rsplit(' ').next().unwrap().parse::<u64>());
    counts.map(Result::unwrap).sum()
}

#[test]
fn large_functions_are_cut_by_what_ran() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "interpreter", "-O2");
    let (plain, before) = translate(&program, "plain.jar", false, &[]);
    let (counting, _) = translate(&program, "counting.jar", true, &[]);
    let profile = folder.path().join("profile");
    let (printed, said) = java(&counting, &profile);
    assert_eq!((printed.as_str(), said.as_str()), (java(&plain, &profile).0.as_str(), ""));
    let once = sum(&profile);
    assert!(once > 400_000, "{once}");
    // Another run is added; threads and time of the run time may differ a little.
    assert_eq!(java(&counting, &profile).1, "");
    let twice = sum(&profile);
    assert!(twice.abs_diff(2 * once) < once / 100, "{once} and {twice}");

    let (cut, after) = translate(&program, "cut.jar", false, std::slice::from_ref(&profile));
    verify(&[counting, cut.clone()]);
    assert_eq!(java(&cut, &profile), (printed, String::new()));
    assert_eq!(sum(&profile), twice, "a jar without counters leaves the profile alone");
    let part = |summary: &Summary| {
        let found = summary.split.iter().find(|split| split.name == "interpret").unwrap();
        found.parts.iter().max_by_key(|part| part.bytes).unwrap().clone()
    };
    // The large part is what ran: it is entered, and knows where the function goes on.
    let hot = part(&after);
    assert!(hot.runs.unwrap() > 400_000 && hot.blocks > 24 && hot.entries > 0, "{hot:?}");
    assert!(hot.takes.iter().any(|register| register == "sp"), "{hot:?}");
    assert!(!hot.puts_back.is_empty() && !hot.goes_to.contains(&hot.method), "{hot:?}");
    assert_eq!(part(&before).runs, None);
    let of = |summary: &Summary| {
        let found = summary.split.iter().find(|split| split.name == "interpret").unwrap();
        found.methods.clone()
    };
    let (before, after) = (of(&before), of(&after));
    assert!(after.iter().all(|bytes| *bytes <= 8000), "{after:?}");
    // What is hot is together in one part that is larger than others.
    let large = |sizes: &[usize]| sizes.iter().filter(|bytes| **bytes > 3000).count();
    assert_eq!((large(&before), large(&after)), (0, 1), "{before:?} {after:?}");
}

#[test]
fn a_profile_of_another_program_is_neither_used_nor_overwritten() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "last", "-O1");
    let other = compile(folder.path(), "loops", "-O1");
    let profile = folder.path().join("profile");
    java(&translate(&program, "counting.jar", true, &[]).0, &profile);
    let before = sum(&profile);
    let (_, said) = java(&translate(&other, "other.jar", true, &[]).0, &profile);
    assert!(said.contains("no profile of this program: remove it"), "{said}");
    assert_eq!(sum(&profile), before);
    let request = Request {
        program: other,
        output: folder.path().join("cut.jar"),
        profile_use: vec![profile],
        ..Request::default()
    };
    let why = run(&request).unwrap_err().to_string();
    assert!(why.contains("of another program"), "{why}");
}
