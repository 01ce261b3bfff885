//! Starts workers, and starts another one behind each input that killed the last.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::readers::Reader;
use crate::worker::{self, FINDINGS, Finding, MOST_FINDINGS, STATE, SUMMARY, Summary};

/// Signals that say more than that a process died.
const SIGABRT: i32 = 6;
const SIGALRM: i32 = 14;

/// Has `count` inputs read; prints what was found, and how much that is.
pub fn run(reader: &Reader, seed: u64, count: u64) -> anyhow::Result<u64> {
    // Long: one loop, whose state is in these variables.
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory)?,
        false => tempfile::tempdir()?,
    };
    let began = Instant::now();
    let mut findings: Vec<Finding> = Vec::new();
    let (mut read, mut resident, mut first) = (0, 0, 0);
    while first < count && findings.len() < MOST_FINDINGS {
        let log = folder.path().join("log");
        let status = Command::new(std::env::current_exe()?)
            .args([reader.name, &count.to_string(), "--seed", &seed.to_string(), "--worker"])
            .arg(folder.path())
            .arg(first.to_string())
            // Which takes longer than reading.
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .status()?;
        findings.extend(take_findings(&folder.path().join(FINDINGS))?);
        if status.success() {
            let text = fs::read(folder.path().join(SUMMARY))?;
            let summary: Summary = serde_json::from_slice(&text)?;
            read += summary.read;
            resident = resident.max(summary.resident);
            break;
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        let at = fs::read(folder.path().join(STATE)).context("a worker died before it began")?;
        let number = |part: &[u8]| u64::from_le_bytes(part.try_into().unwrap_or_default());
        let (index, read_before) = at.split_at_checked(8).unwrap_or_default();
        let index = number(index);
        read += number(read_before);
        let said = said.trim();
        let what = match (status.signal(), status.code()) {
            (Some(SIGALRM), _) => format!("hangs: no end after {} s", worker::TIME),
            (Some(SIGABRT), _) => format!("aborts: {said}"),
            (Some(signal), _) => format!("dies of signal {signal}: {said}"),
            (None, Some(worker::GREEDY)) => format!("takes too much memory: {said}"),
            (None, _) => bail!("a worker failed: {said}"),
        };
        findings.push(Finding { index, what });
        first = index + 1;
    }
    for finding in &findings {
        let path = worker::write_artifact(reader, seed, finding.index)?;
        println!("{}: input {}: {}", reader.name, finding.index, finding.what);
        println!("    {}", path.display());
    }
    let seconds = began.elapsed().as_secs_f64();
    let done = findings.last().filter(|_| findings.len() >= MOST_FINDINGS);
    let done = done.map_or(count, |last| last.index + 1);
    println!(
        "{}: {done} inputs of seed {seed} in {seconds:.0} s, {read} were read, at most {} MiB resident: {} findings",
        reader.name,
        resident >> 20,
        findings.len()
    );
    Ok(findings.len() as u64)
}

/// What workers found so far; the file is empty afterwards.
fn take_findings(file: &Path) -> anyhow::Result<Vec<Finding>> {
    let text = fs::read_to_string(file).unwrap_or_default();
    fs::write(file, "")?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
