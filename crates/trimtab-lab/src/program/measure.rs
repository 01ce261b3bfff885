//! One run of a command, measured: faults and times.
//!
//! A small process of our own starts the command and waits for it, so that what the system counts
//! for its children is the command's alone.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::command::{ended_with, killed_by};
use super::error::io;
use super::{Command, Limits, ProgramError, cold};

/// What one run cost. Counts are of all its processes that it waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds from its start to its end.
    pub wall: f64,
    /// Seconds from its start to the first byte on its standard output, where it wrote one.
    pub first_output: Option<f64>,
    /// Page faults that found their page in memory.
    pub minor: u64,
    /// Page faults that waited for the disk.
    pub major: u64,
    /// SHA-256 of its standard output.
    pub output: String,
    /// Exit code; none where a signal killed it.
    code: Option<i32>,
    signal: Option<i32>,
}

/// Runs a command. `helper` starts a process that calls [`child`]: the program and its first
/// arguments. Where `cold` names files, they have no page in memory when it starts.
///
/// # Errors
/// [`ProgramError::Ended`] where the command does not end with 0, [`ProgramError::StaysWarm`], and
/// whatever keeps it from running.
pub fn run(
    command: &Command,
    limits: Limits,
    helper: &[OsString],
    cold: &[&Path],
    folder: &Path,
) -> Result<Sample, ProgramError> {
    let result = folder.join("sample.json");
    let mut words = helper.to_vec();
    words.push(result.clone().into_os_string());
    words.push("--".into());
    words.extend(command.words());
    for path in cold {
        cold::evict(path)?;
    }
    let log = folder.join("run.log");
    command.run(&format!("running `{}`", command.text), &words, limits, &log, |job| job)?;
    let text = fs::read(&result).map_err(io("read", &result))?;
    let sample: Sample = serde_json::from_slice(&text).map_err(|error| {
        ProgramError::Unreadable { path: result, what: "sample", found: error.to_string() }
    })?;
    let how = match (sample.code, sample.signal) {
        (Some(0), _) => return Ok(sample),
        (Some(code), _) => ended_with(code),
        (None, Some(signal)) => killed_by(signal),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    let last: Vec<&str> = said.lines().rev().take(10).collect();
    let said = last.iter().rev().map(|line| format!("\n    {line}")).collect();
    Err(ProgramError::Ended { command: command.text.clone(), how, said })
}

/// What the process does that [`run`] starts: runs `words`, and writes a [`Sample`] to `result`.
///
/// # Errors
/// A message for the log.
pub fn child(result: &Path, words: &[OsString]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("there is no command to run")?;
    let start = Instant::now();
    let mut child = std::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", program.to_string_lossy()))?;
    let (sender, receiver) = channel();
    if let Some(mut output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut digest = Sha256::new();
            let mut first = None;
            let mut buffer = [0; 64 << 10];
            loop {
                match output.read(&mut buffer) {
                    Ok(count) if count > 0 => {
                        first.get_or_insert_with(|| start.elapsed());
                        digest.update(&buffer[..count]);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    _ => break,
                }
            }
            let _ = sender.send((first, format!("{:x}", digest.finalize())));
        });
    }
    let status = child.wait().map_err(|error| format!("cannot wait: {error}"))?;
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    // Something left in the background may hold the output open.
    let (first, output) =
        receiver.recv_timeout(Duration::from_secs(1)).unwrap_or((None, String::new()));
    let sample = Sample {
        wall: wall.as_secs_f64(),
        first_output: first.map(|time| time.as_secs_f64()),
        minor: usage.minor_page_faults().cast_unsigned(),
        major: usage.major_page_faults().cast_unsigned(),
        output,
        code: status.code(),
        signal: status.signal(),
    };
    let text = serde_json::to_vec(&sample).map_err(|error| error.to_string())?;
    fs::write(result, text).map_err(|error| format!("cannot write {}: {error}", result.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_measured_by_its_own_process() {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("sample");
        let words = ["/bin/sh", "-c", "echo early; sleep 0.05; echo late; exit 4"];
        child(&result, &words.map(OsString::from)).unwrap();
        let sample: Sample = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
        assert_eq!((sample.code, sample.signal), (Some(4), None));
        assert!(sample.first_output.unwrap() < sample.wall && sample.wall >= 0.05, "{sample:?}");
        assert!(sample.minor > 0);
        assert_eq!(sample.output, format!("{:x}", Sha256::digest("early\nlate\n")));
        let error = child(&result, &[OsString::from("/no/such")]).unwrap_err();
        assert!(error.starts_with("cannot start /no/such"), "{error}");
    }
}
