//! Jars of programs, and how they are run.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;
use trimtab_jar::{Entry, Options, Translation, archive, run, translate, translate_with};

const INPUT: &[u8] = b"some lines\nfor the program\n";

/// The classes of the run time, compiled once.
fn run_time() -> &'static [Entry] {
    static CLASSES: OnceLock<Vec<Entry>> = OnceLock::new();
    CLASSES.get_or_init(|| run::run_time().unwrap())
}

/// Runs a command, with two lines of standard input.
pub fn output(command: &mut Command) -> Output {
    let text = format!("{command:?}");
    let missing = |error| panic!("{text}: {error}; run ./setup --for jar");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(missing);
    // A program that does not read has closed the pipe.
    let _ = child.stdin.take().unwrap().write_all(INPUT);
    child.wait_with_output().unwrap()
}

/// Writes the jar of a program.
pub fn jar(program: &Path) -> (PathBuf, Translation) {
    written(program, translate(&fs::read(program).unwrap()).unwrap())
}

/// Writes one that counts instructions.
pub fn metered_jar(program: &Path) -> PathBuf {
    let options = Options { metered: true, ..Options::default() };
    written(program, translate_with(&fs::read(program).unwrap(), &options).unwrap()).0
}

/// Writes one that is translated so.
pub fn jar_with(program: &Path, options: &Options) -> (PathBuf, Translation) {
    written(program, translate_with(&fs::read(program).unwrap(), options).unwrap())
}

fn written(program: &Path, translation: Translation) -> (PathBuf, Translation) {
    let entries = [translation.entries.as_slice(), run_time()].concat();
    let jar = program.with_extension("jar");
    fs::write(&jar, archive(Some("trimtab.Main"), &entries).unwrap()).unwrap();
    (jar, translation)
}

/// Has the JVM verify all classes of jars, also those that no run of the program needs.
pub fn verify(jars: &[PathBuf]) {
    static COMPILED: OnceLock<TempDir> = OnceLock::new();
    let classes = COMPILED.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Verify.java");
        let compiled = output(Command::new("javac").arg("-d").arg(folder.path()).arg(source));
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        folder
    });
    let mut command = Command::new("java");
    let verified = output(command.arg("-cp").arg(classes.path()).arg("Verify").args(jars));
    let text = String::from_utf8_lossy(&verified.stdout);
    let classes = text.lines().filter(|line| line.starts_with("verified ")).count();
    assert_eq!(classes, jars.len(), "{}", String::from_utf8_lossy(&verified.stderr));
    assert!(!text.contains("verified 0"), "{text}");
}
