//! What a run of a program costs: processor time, and what the simulator of valgrind counts.

use crate::process::{Job, ProcessError};
use nix::sys::resource::{UsageWho, getrusage};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};
use thiserror::Error;

/// Why a run could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// It could not be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It failed.
    #[error("{program} failed with {status}, where it was expected to succeed")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
    },
    /// valgrind failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// valgrind wrote something else than expected.
    #[error("valgrind wrote no line `summary:` to its file; expected version 3.15 or newer")]
    NoSummary,
}

/// Runs a command in a folder, without output, and gives the seconds that it and what it started
/// took of processors.
///
/// # Errors
/// That it cannot be started, or fails.
pub fn processor_seconds(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<f64, MeasureError> {
    let name = command.first().map(|name| name.display().to_string()).unwrap_or_default();
    let start = |source| MeasureError::Start { program: name.clone(), source };
    let (program, arguments) =
        command.split_first().ok_or_else(|| start(io::ErrorKind::InvalidInput.into()))?;
    let before = used().map_err(start)?;
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().map(|(key, value)| (key, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(start)?;
    if !status.success() {
        return Err(MeasureError::Failed { program: name, status: status.to_string() });
    }
    Ok(used().map_err(start)? - before)
}

fn used() -> io::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(io::Error::from)?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// What valgrind's cachegrind counts in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Instructions.
    pub instructions: u64,
    /// Misses of the first-level instruction cache.
    pub l1i_misses: u64,
    /// Misses of the first-level data cache.
    pub l1d_misses: u64,
    /// Branches that were predicted wrongly. Returns are not among them.
    pub branch_misses: u64,
}

/// Runs a command under cachegrind, with caches of 32 KiB and 8 ways.
///
/// # Errors
/// That valgrind is not there or fails, or the program fails.
pub fn simulate(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<Simulated, MeasureError> {
    let file = folder.join("cachegrind.out");
    let mut job = Job::new("simulating a program", "valgrind")
        .package("valgrind")
        .dir(folder)
        .args(["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", "--smc-check=all"])
        .args(["--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"])
        .arg("--cachegrind-out-file=cachegrind.out")
        .args(command);
    for (key, value) in environment {
        job = job.env(key, value);
    }
    job.run()?;
    parse(&fs::read_to_string(&file).unwrap_or_default()).ok_or(MeasureError::NoSummary)
}

fn parse(text: &str) -> Option<Simulated> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let names: Vec<&str> = line("events:")?.split_whitespace().collect();
    let counts: Vec<u64> =
        line("summary:")?.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let of = |name: &str| {
        names.iter().position(|found| *found == name).and_then(|place| counts.get(place).copied())
    };
    Some(Simulated {
        instructions: of("Ir")?,
        l1i_misses: of("I1mr")?,
        l1d_misses: of("D1mr")? + of("D1mw")?,
        branch_misses: of("Bcm")? + of("Bim")?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_cachegrind_writes() {
        let text = "desc: x\ncmd: ls\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim\n\
                    fn=(1)\n1 2 3\nsummary: 100 2 1 30 4 1 20 5 1 10 6 9 7\n";
        assert_eq!(
            parse(text),
            Some(Simulated { instructions: 100, l1i_misses: 2, l1d_misses: 9, branch_misses: 13 })
        );
        assert_eq!(parse("events: Ir\nsummary: 5\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn work_takes_processor_time_and_sleep_does_not() {
        let run = |script: &str| {
            let command = ["sh", "-c", script].map(OsString::from);
            processor_seconds(&command, Path::new("."), &[]).unwrap()
        };
        let work = run("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
        let sleep = run("sleep 0.1");
        assert!(work > sleep, "{work} {sleep}");
        let failing = ["false"].map(OsString::from);
        assert!(processor_seconds(&failing, Path::new("."), &[]).is_err());
    }
}
