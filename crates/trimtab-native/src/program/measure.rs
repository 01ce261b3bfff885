//! One run of a command, measured: faults and times.
//!
//! A small process of our own starts the command and waits for it, so that what the system counts
//! for its children is the command's alone.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use trimtab_lab::process::Invocation;

use super::command::{ended_with, killed_by};
use super::disk::Disk;
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

/// How a command is run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunSetup {
    /// Files on a disk of our own.
    disk: Vec<(PathBuf, PathBuf)>,
    /// The words of the command.
    words: Vec<Vec<u8>>,
}

impl RunSetup {
    /// With these files on a [disk](super::disk) of our own: for each its content, and the place
    /// where it is seen.
    pub fn with_disk(disk: Vec<(PathBuf, PathBuf)>) -> Self {
        RunSetup { disk, ..RunSetup::default() }
    }
}

/// What one run gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// It ran. Of each file on the disk of our own, the pages that are in memory, first to last.
    Ran {
        /// What it cost.
        sample: Sample,
        /// The pages.
        resident: Vec<Vec<bool>>,
    },
    /// The system does not let us have a disk of our own, and why.
    NoDisk(String),
}

/// Runs a command. `helper` starts a process that calls [`child`]: the program and its first
/// arguments. Files of the setting's disk begin without a page in memory.
///
/// # Errors
/// [`ProgramError::Ended`] where the command does not end with 0, and whatever keeps it from running.
pub fn run(
    command: &Command,
    limits: Limits,
    helper: &[OsString],
    mut setting: RunSetup,
    folder: &Path,
) -> Result<Outcome, ProgramError> {
    let words = command.words();
    setting.words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let unreadable = |path: &Path, what, found: serde_json::Error| ProgramError::Unreadable {
        path: path.to_owned(),
        what,
        found: found.to_string(),
    };
    let task = folder.join("start");
    fs::create_dir_all(&task).map_err(io("make", &task))?;
    let input = task.join("setting.json");
    let text = serde_json::to_vec(&setting).map_err(|e| unreadable(&input, "setting", e))?;
    fs::write(&input, text).map_err(io("write", &input))?;
    let mut helper = helper.to_vec();
    helper.push(task.clone().into_os_string());
    let log = task.join("run.log");
    command.run(&format!("running `{}`", command.text), &helper, limits, &log, |job| job)?;
    let result = task.join("outcome.json");
    let text = fs::read(&result).map_err(io("read", &result))?;
    let outcome: Outcome =
        serde_json::from_slice(&text).map_err(|e| unreadable(&result, "outcome of a run", e))?;
    let Outcome::Ran { sample, .. } = &outcome else { return Ok(outcome) };
    let how = match (sample.code, sample.signal) {
        (Some(0), _) => return Ok(outcome),
        (Some(code), _) => ended_with(code),
        (None, Some(signal)) => killed_by(signal),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    let last: Vec<&str> = said.lines().rev().take(10).collect();
    let said = last.iter().rev().map(|line| format!("\n    {line}")).collect();
    Err(ProgramError::Ended { command: command.text.clone(), how, said })
}

/// What the process does that [`run`] starts: reads the setting in `task`, runs the command, and
/// writes the outcome there. Must be called before the process has a second thread.
///
/// # Errors
/// A message for the log.
pub fn child(task: &Path) -> Result<(), String> {
    let input = task.join("setting.json");
    let text = fs::read(&input).map_err(|e| format!("cannot read {}: {e}", input.display()))?;
    let setting: RunSetup = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let words: Vec<OsString> =
        setting.words.iter().map(|word| OsStr::from_bytes(word).to_owned()).collect();
    let outcome = match mounted(&setting, task) {
        Err(error) => Outcome::NoDisk(error.to_string()),
        Ok(disk) => {
            let sample = sample(&words)?;
            let files = disk.as_ref().map_or(&[][..], |disk| disk.files());
            let resident: Result<_, _> = files.iter().map(|file| cold::resident(file)).collect();
            Outcome::Ran { sample, resident: resident.map_err(|error| error.to_string())? }
        }
    };
    let result = task.join("outcome.json");
    let text = serde_json::to_vec(&outcome).map_err(|error| error.to_string())?;
    fs::write(&result, text).map_err(|e| format!("cannot write {}: {e}", result.display()))
}

fn mounted(setting: &RunSetup, task: &Path) -> std::io::Result<Option<Disk>> {
    if setting.disk.is_empty() {
        return Ok(None);
    }
    let folder = task.join("disk");
    fs::create_dir_all(&folder)?;
    Disk::mount(&setting.disk, &folder).map(Some)
}

/// Runs the command of these words and measures it.
fn sample(words: &[OsString]) -> Result<Sample, String> {
    // This process is part of a job, and has one thing to run: its limit and leash are the job's, and
    // all that its children cost is what the command costs.
    let invocation = Invocation::of_words(words).ok_or("there is no command to run")?;
    let program = invocation.program().display();
    let start = Instant::now();
    let mut child = invocation
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
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
            let _ = sender.send((first, hex::encode(digest.finalize())));
        });
    }
    let status = child.wait().map_err(|error| format!("cannot wait: {error}"))?;
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    // Something left in the background may hold the output open.
    let (first, output) =
        receiver.recv_timeout(Duration::from_secs(1)).unwrap_or((None, String::new()));
    Ok(Sample {
        wall: wall.as_secs_f64(),
        first_output: first.map(|time| time.as_secs_f64()),
        minor: usage.minor_page_faults().cast_unsigned(),
        major: usage.major_page_faults().cast_unsigned(),
        output,
        code: status.code(),
        signal: status.signal(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_measured() {
        let words = ["/bin/sh", "-c", "echo early; sleep 0.05; echo late; exit 4"];
        let sample = sample(&words.map(OsString::from)).unwrap();
        assert_eq!((sample.code, sample.signal), (Some(4), None));
        assert!(sample.first_output.unwrap() < sample.wall && sample.wall >= 0.05, "{sample:?}");
        assert!(sample.minor > 0);
        assert_eq!(sample.output, hex::encode(Sha256::digest("early\nlate\n")));
        let error = super::sample(&[OsString::from("/no/such")]).unwrap_err();
        assert!(error.starts_with("cannot start /no/such"), "{error}");
    }
}
