//! What a run of a program costs: processor time, and what the simulator of valgrind counts.

use nix::sys::resource::{UsageWho, getrusage};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};
use thiserror::Error;
use trimtab_lab::process::{Job, ProcessError};

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
    /// It was to say how long it took.
    #[error("{program} ended without printing seconds, where a number above zero was expected")]
    NoSeconds {
        /// The program.
        program: String,
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
    let cannot = |source| MeasureError::Start { program: name(command), source };
    let before = used().map_err(cannot)?;
    run(command, folder, environment, Stdio::null())?;
    Ok(used().map_err(cannot)? - before)
}

/// Runs a command in a folder that measures something by itself, and gives the number of seconds
/// that it prints as its last word.
///
/// # Errors
/// That it cannot be started, fails, or prints no number above zero.
pub fn reported_seconds(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<f64, MeasureError> {
    let output = run(command, folder, environment, Stdio::piped())?;
    let text = String::from_utf8_lossy(&output);
    text.split_whitespace()
        .next_back()
        .and_then(|word| word.parse().ok())
        .filter(|&seconds: &f64| seconds.is_finite() && seconds > 0.0)
        .ok_or_else(|| MeasureError::NoSeconds { program: name(command) })
}

/// Runs a command in a folder, and gives what it writes to its standard output.
///
/// # Errors
/// That it cannot be started, or fails.
pub fn output(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<Vec<u8>, MeasureError> {
    run(command, folder, environment, Stdio::piped())
}

fn name(command: &[OsString]) -> String {
    command.first().map(|name| name.display().to_string()).unwrap_or_default()
}

/// Runs a command to its end; gives its output where that is piped.
fn run(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
    output: Stdio,
) -> Result<Vec<u8>, MeasureError> {
    let start = |source| MeasureError::Start { program: name(command), source };
    let (program, arguments) =
        command.split_first().ok_or_else(|| start(io::ErrorKind::InvalidInput.into()))?;
    let output = Command::new(program)
        .args(arguments)
        .envs(environment.iter().map(|(key, value)| (key, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(start)?;
    if !output.status.success() {
        let status = output.status.to_string();
        return Err(MeasureError::Failed { program: name(command), status });
    }
    Ok(output.stdout)
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
/// It is given a copy of the program without information for debuggers, some of which valgrind does
/// not know and stops at. It crashes on some unwind information as well, as that of functions whose
/// return address a probe has in its frame; then it gets a copy without: a program that throws
/// exceptions fails there.
///
/// # Errors
/// That valgrind is not there or fails, or the program fails.
pub fn simulate(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<Simulated, MeasureError> {
    let crashed = |error: &ProcessError| match error {
        ProcessError::Failed { status, .. } => status.signal().is_some(),
        _ => false,
    };
    let [program, arguments @ ..] = command else {
        let source = io::ErrorKind::InvalidInput.into();
        return Err(MeasureError::Start { program: name(command), source });
    };
    let without = |what: &[&str]| {
        let copy = folder.join("simulated.bin");
        Job::new("making a copy for valgrind", "objcopy")
            .package("binutils")
            .dir(folder)
            .args(what)
            .args([program, copy.as_os_str()])
            .run()?;
        let command: Vec<_> =
            [copy.into_os_string()].into_iter().chain(arguments.iter().cloned()).collect();
        cachegrind(&command, folder, environment)
    };
    match without(&["--strip-debug"]) {
        Err(MeasureError::Process(error)) if crashed(&error) => without(&[
            "--strip-debug",
            "--remove-section=.eh_frame",
            "--remove-section=.eh_frame_hdr",
        ]),
        done => done,
    }
}

fn cachegrind(
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

    #[test]
    fn output_is_what_a_program_wrote_if_it_succeeds() {
        let run = |script: &str| {
            let command = ["sh", "-c", script].map(OsString::from);
            output(&command, Path::new("."), &[("WORD".to_owned(), "said".into())])
        };
        assert_eq!(run("printf '%s\\377' $WORD; echo not >&2").unwrap(), b"said\xff");
        assert!(run("echo said; exit 3").is_err());
    }

    #[test]
    fn programs_say_how_long_they_took() {
        let run = |script: &str| {
            let command = ["sh", "-c", script].map(OsString::from);
            reported_seconds(&command, Path::new("."), &[])
        };
        assert_eq!(run("echo result 5; echo 0.25").unwrap(), 0.25);
        for wrong in ["echo nothing", "true", "echo -1", "echo NaN", "echo 1; false"] {
            assert!(run(wrong).is_err(), "{wrong}");
        }
    }
}
