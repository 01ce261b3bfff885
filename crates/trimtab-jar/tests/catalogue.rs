//! Real programs, those of the catalogue, on the JVM and in QEMU: both must print and write the same.
#![allow(clippy::unwrap_used)]

mod common;

use common::{jar, output};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use trimtab_lab::workload::programs::{Program, programs};

const WAYS: [&str; 3] = ["-O2", "-O0", "-Os"];

/// Compiles a program; false where it does not go for this machine.
fn compile(program: &Program, cache: &Path, folder: &Path, level: &str) -> bool {
    let sources = program.prepare(cache, folder).unwrap();
    let suffix = if program.is_cxx { "g++" } else { "gcc" };
    let compiled = output(
        Command::new(format!("mipsel-linux-gnu-{suffix}"))
            .current_dir(folder)
            .args([level, "-w", "-static", "-o", "program"])
            .args(&sources.flags)
            .args(&sources.files)
            .args(sources.libraries),
    );
    if !compiled.status.success() {
        println!("{}: {}", program.name, String::from_utf8_lossy(&compiled.stderr));
    }
    compiled.status.success()
}

/// What a run of it prints, writes and ends with.
fn ran(program: &Program, folder: &Path, command: &mut Command) -> (String, Option<i32>, Vec<u8>) {
    let found = output(command.current_dir(folder).args(program.small));
    let written = program.writes.map(|name| folder.join(name));
    let bytes = written.as_ref().map(|path| fs::read(path).unwrap_or_default());
    if let Some(path) = written {
        let _ = fs::remove_file(path);
    }
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let error = String::from_utf8_lossy(&found.stderr).into_owned();
    (text + &error, found.status.code(), bytes.unwrap_or_default())
}

#[test]
#[ignore = "fetches sources and compiles them, minutes: cargo test -p trimtab-jar --test catalogue -- --ignored --nocapture"]
fn real_programs_do_the_same_on_the_jvm() {
    let cache = TempDir::new().unwrap();
    let mut wrong = Vec::new();
    for program in programs().unwrap() {
        for level in WAYS {
            let folder = TempDir::new().unwrap();
            if !compile(program, cache.path(), folder.path(), level) {
                wrong.push(format!("{} {level}: not compiled", program.name));
                continue;
            }
            let native = folder.path().join("program");
            let expected = ran(program, folder.path(), Command::new("qemu-mipsel").arg(&native));
            let (jar, translation) = jar(&native);
            let found = ran(
                program,
                folder.path(),
                Command::new("java")
                    .arg(format!("-Dtrimtab.root={}", folder.path().display()))
                    .args(["-Dtrimtab.write=true", "-jar"])
                    .arg(&jar),
            );
            let split = translation.report.split.len();
            println!(
                "{} {level}: {} bytes, {split} split, {:?}",
                program.name,
                expected.0.len(),
                found.1
            );
            if found != expected {
                let cut = |text: &str| text.chars().take(600).collect::<String>();
                println!("expected: {}\nfound: {}", cut(&expected.0), cut(&found.0));
                wrong.push(format!("{} {level}", program.name));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}
