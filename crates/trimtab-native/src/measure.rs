//! What a run of a program costs: processor time, and what the simulator of valgrind counts.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;
use trimtab_lab::process::{Job, ProcessError};

/// Why a run could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// There is no program to run.
    #[error("there is nothing to run: the command is empty, where a program was expected")]
    Empty,
    /// It was to say how long it took.
    #[error("{program} ended without printing seconds, where a number above zero was expected")]
    NoSeconds {
        /// The program.
        program: String,
    },
    /// It, or valgrind, could not be run, failed, or took too long.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// valgrind wrote something else than expected.
    #[error("valgrind wrote no line `summary:` to its file; expected version 3.15 or newer")]
    NoSummary,
}

/// How long a measured run may take: many times what any program takes that is worth measuring again
/// and again.
pub const LIMIT: Duration = Duration::from_secs(600);

/// Runs a command in a folder, without output, and gives the seconds that it and what it started
/// took of processors.
///
/// # Errors
/// That it cannot be started, fails, or takes longer than [`LIMIT`].
pub fn processor_seconds(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<f64, MeasureError> {
    let finished = job(command, folder, environment, LIMIT)?.run_silently()?;
    Ok(finished.processor.as_secs_f64())
}

/// Runs a command in a folder that measures something by itself, and gives the number of seconds
/// that it prints as its last word.
///
/// # Errors
/// That it cannot be started, fails, takes longer than [`LIMIT`], or prints no number above zero.
pub fn reported_seconds(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<f64, MeasureError> {
    let output = output(command, folder, environment)?;
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
/// That it cannot be started, fails, or takes longer than [`LIMIT`].
pub fn output(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
) -> Result<Vec<u8>, MeasureError> {
    Ok(job(command, folder, environment, LIMIT)?.capture()?.output)
}

fn name(command: &[OsString]) -> String {
    command.first().map(|name| name.display().to_string()).unwrap_or_default()
}

/// A run that is measured. It has the language of its user: what is measured is what they run.
fn job(
    command: &[OsString],
    folder: &Path,
    environment: &[(String, OsString)],
    limit: Duration,
) -> Result<Job, MeasureError> {
    let [program, arguments @ ..] = command else { return Err(MeasureError::Empty) };
    let language = std::env::var_os("LC_ALL");
    let job = Job::new(format!("running {}", name(command)), program).args(arguments);
    let job = match language {
        Some(language) => job.env("LC_ALL", language),
        None => job.env_remove("LC_ALL"),
    };
    let variables = environment.iter().map(|(key, value)| (key, value));
    Ok(job.envs(variables).dir(folder).limit(limit))
}

/// What valgrind's cachegrind counts in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulatedCosts {
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
) -> Result<SimulatedCosts, MeasureError> {
    let crashed = |error: &ProcessError| match error {
        ProcessError::Failed { status, .. } => status.signal().is_some(),
        _ => false,
    };
    let [program, arguments @ ..] = command else {
        return Err(MeasureError::Empty);
    };
    let without = |what: &[&str]| {
        let copy = folder.join("simulated.bin");
        Job::new("making a copy for valgrind", "objcopy")
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
) -> Result<SimulatedCosts, MeasureError> {
    let file = folder.join("cachegrind.out");
    Job::new("simulating a program", "valgrind")
        .dir(folder)
        .args(["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", "--smc-check=all"])
        .args(["--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"])
        .arg("--cachegrind-out-file=cachegrind.out")
        .args(command)
        .envs(environment.iter().map(|(key, value)| (key, value)))
        .run()?;
    parse(&fs::read_to_string(&file).unwrap_or_default()).ok_or(MeasureError::NoSummary)
}

fn parse(text: &str) -> Option<SimulatedCosts> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let names: Vec<&str> = line("events:")?.split_whitespace().collect();
    let counts: Vec<u64> =
        line("summary:")?.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let of = |name: &str| {
        names.iter().position(|found| *found == name).and_then(|place| counts.get(place).copied())
    };
    Some(SimulatedCosts {
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
            Some(SimulatedCosts {
                instructions: 100,
                l1i_misses: 2,
                l1d_misses: 9,
                branch_misses: 13
            })
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
    fn a_program_that_hangs_is_ended() {
        let command = ["sh", "-c", "echo begun; echo waiting >&2; sleep 100"].map(OsString::from);
        let limit = Duration::from_millis(200);
        let start = std::time::Instant::now();
        let error = job(&command, Path::new("."), &[], limit).unwrap().capture().unwrap_err();
        assert!(matches!(error, ProcessError::TimeLimit { .. }), "{error}");
        assert!(error.to_string().starts_with("running sh took longer than"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(matches!(output(&[], Path::new("."), &[]), Err(MeasureError::Empty)));
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
