//! Streams of jars: when output is seen, what happens when nobody reads it any more, and what the JVM is told that starts one.
#![allow(clippy::unwrap_used)]

mod common;

use common::{jar, output};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What such a program may take; the JVM starts in less than a second.
const LIMIT: Duration = Duration::from_secs(60);

fn translated(folder: &TempDir) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/streams.c");
    let program = folder.path().join("streams");
    let compiled = output(
        Command::new("mipsel-linux-gnu-gcc")
            .args(["-O2", "-static", "-o"])
            .arg(&program)
            .arg(source),
    );
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    jar(&program).0
}

/// A program that runs, and the first line that it writes.
fn begun(jar: &Path, way: &str) -> (Child, String) {
    let mut child = Command::new("java")
        .arg("-jar")
        .arg(jar)
        .arg(way)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let (to, line) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut first = String::new();
        let read = BufReader::new(stdout).read_line(&mut first);
        // With the thread ends who reads.
        let _ = to.send(read.map(|_| first));
    });
    match line.recv_timeout(LIMIT) {
        Ok(line) => (child, line.unwrap()),
        Err(late) => {
            child.kill().unwrap();
            panic!("no line of {way}: {late}");
        }
    }
}

/// Its status and what it says on standard error.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("it did not end, though nobody reads what it writes");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn a_line_is_seen_while_the_program_computes() {
    let folder = TempDir::new().unwrap();
    let (mut child, line) = begun(&translated(&folder), "computes");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(line, "before\n");
}

#[test]
fn a_program_ends_when_nobody_reads_what_it_writes() {
    let folder = TempDir::new().unwrap();
    let jar = translated(&folder);
    let (child, line) = begun(&jar, "writes");
    assert_eq!((line.as_str(), ended(child)), ("before\n", (Some(141), String::new())));
    let (child, line) = begun(&jar, "ignores");
    let said = "Broken pipe\n".to_owned();
    assert_eq!((line.as_str(), ended(child)), ("before\n", (Some(3), said)));
}

#[test]
fn a_pipe_that_nobody_reads_is_broken() {
    let folder = TempDir::new().unwrap();
    let found = output(Command::new("java").arg("-jar").arg(translated(&folder)).arg("pipe"));
    let text = String::from_utf8(found.stdout).unwrap();
    assert_eq!((text.as_str(), found.status.code()), ("-1 Broken pipe\n", Some(141)));
}

#[test]
fn what_the_jvm_cannot_give_is_said_in_one_line() {
    let folder = TempDir::new().unwrap();
    let jar = translated(&folder);
    let java = |options: &[&str]| {
        let found = output(Command::new("java").args(options).arg("-jar").arg(&jar).arg("pipe"));
        (found.status.code(), String::from_utf8(found.stderr).unwrap())
    };
    // By default it takes no more than there is.
    assert_eq!(java(&["-Xmx64m"]), (Some(141), String::new()));
    for (options, said) in [
        (
            &["-Xmx64m", "-Dtrimtab.memory=128"][..],
            "the program's memory of 128 MiB does not fit into Java's heap",
        ),
        (
            &["-Dtrimtab.memory=2048"],
            "-Dtrimtab.memory: a program's memory is from 24 to 2047 MiB, not 2048",
        ),
        (
            &["-Dtrimtab.memory=-1"],
            "-Dtrimtab.memory: a program's memory is from 24 to 2047 MiB, not -1",
        ),
        (
            &["-Dtrimtab.root=/not/there"],
            "-Dtrimtab.root=/not/there is no directory that can be read",
        ),
        (
            &["-Dtrimtab.root=/dev/null"],
            "-Dtrimtab.root=/dev/null is no directory that can be read",
        ),
        (&["-Dtrimtab.memory=1G"], "-Dtrimtab.memory=1G is no number"),
    ] {
        let (status, text) = java(options);
        assert_eq!(status, Some(125), "{options:?}: {text}");
        assert!(text.starts_with(said) && text.lines().count() == 1, "{text}");
    }
}
