//! Translates many programs, for tests with thousands of them: the run time is compiled only once, and written as a jar to the
//! file that the argument names. Reads a program's file a line, writes its jar beside it, and prints `ok`, or why there is
//! none. An empty line only waits for the run time.

use anyhow::Context;
use std::fs;
use std::io::{BufRead, Write};
use trimtab_jar::Entry;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("expected the file for the run time")?;
    let run_time = trimtab_jar::run::run_time()?;
    fs::write(path, trimtab_jar::archive(None, &run_time)?)?;
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let said = match jar(&line?, &run_time) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        writeln!(out, "{said}")?;
        out.flush()?;
    }
    Ok(())
}

fn jar(program: &str, run_time: &[Entry]) -> anyhow::Result<()> {
    if program.is_empty() {
        return Ok(());
    }
    let mut entries = trimtab_jar::translate(&fs::read(program)?)?.entries;
    entries.extend_from_slice(run_time);
    fs::write(format!("{program}.jar"), trimtab_jar::archive(Some("trimtab.Main"), &entries)?)?;
    Ok(())
}
