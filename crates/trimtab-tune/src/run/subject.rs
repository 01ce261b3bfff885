//! What flags are tried on: something that they build, and that costs something when it runs.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::process::{ProcessError, Tail};

use super::request::Limits;

/// What is tuned. Evaluations, their table, searches and reports know nothing else of it.
pub trait Subject: Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// All that evaluations depend on beside the flags and limits of time.
    fn key(&self) -> Key;

    /// What a trial of flags is called: all that it depends on beside the key.
    fn trial(&self, flags: &[String]) -> String {
        flags.join(" ")
    }

    /// What a run of an image in another state is called: all that it depends on beside the key and the image.
    fn state(&self, state: u32) -> String {
        format!("in state {state}")
    }

    /// What a build and a run may take.
    fn limits(&self) -> Limits;

    /// How many sets of flags can be evaluated at once.
    fn at_once(&self) -> usize;

    /// Builds it with flags.
    ///
    /// # Errors
    /// [`Fault`].
    fn build<'s>(&'s self, flags: &[String]) -> Result<Box<dyn Built + 's>, Fault>;
}

/// A subject that was built, in a place of its own.
pub trait Built {
    /// What was built.
    fn image(&self) -> &Image;

    /// Checks that it works, and gives what it costs.
    ///
    /// # Errors
    /// [`Fault::Flags`] where it does not work.
    fn measure(&self) -> Result<Costs, Fault>;

    /// The same, where what should not matter is different in each state, a number above 0.
    ///
    /// # Errors
    /// As [`Self::measure`].
    fn measure_in(&self, _state: u32) -> Result<Costs, Fault> {
        self.measure()
    }
}

/// What a subject costs, in instructions: by what it was that it did.
pub type Costs = BTreeMap<String, f64>;

/// Whether two runs cost the same: what starts a program may do a little more or less each time.
pub fn is_same_cost(one: f64, other: f64) -> bool {
    (one - other).abs() <= one / 1000.0
}

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// SHA-256 of it, without symbols and what debuggers need.
    pub image: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Why something could not be had: a fault of the flags, with its reason, or of anything else, which
/// ends the job.
#[derive(Debug)]
pub enum Fault {
    /// It does not build, run or work with these flags.
    Flags(String),
    /// Something else.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Fault::Other(error.into())
    }
}

impl Fault {
    /// A process that was ended from outside, as where memory runs out: with other flags it would have been
    /// the same.
    pub fn killed(error: &ProcessError) -> Self {
        let hint = "free memory, or end what else runs, and try again; a process may have less with --memory-limit";
        Fault::Other(Failure::new(error.to_string()).hint(hint).into())
    }

    /// Sorts a failure of a process.
    pub fn of_process(error: ProcessError) -> Self {
        match error {
            ProcessError::Failed { status, ref tail, .. } if was_killed(status, tail) => {
                Fault::killed(&error)
            }
            ProcessError::Failed { status, .. } if status.code() == Some(SIGNALS + ILLEGAL) => {
                let why = "it has an instruction that QEMU or this processor does not have";
                Fault::Flags(short(&format!("{why}: {error}")))
            }
            ProcessError::Failed { .. } | ProcessError::TimeLimit { .. } => {
                Fault::Flags(short(&error.to_string()))
            }
            error => Fault::Other(error.into()),
        }
    }
}

/// Whether a reason is that a limit of time was over: so say those of a process and of a boot.
pub fn is_limit(reason: &str) -> bool {
    reason.contains("took longer than its limit") || reason.contains("had not ended after")
}

/// What gcc, collect2 of its linker, clang and make say where what they started was ended from outside.
const SAY_KILLED: [&str; 4] = [
    "Killed signal terminated program",
    "terminated with signal 9 [Killed]",
    "unable to execute command: Killed",
    "] Killed",
];

/// Whether a process, or one that it started, was ended from outside: no flags make a program send itself this
/// signal.
fn was_killed(status: ExitStatus, tail: &Tail) -> bool {
    let says = |line: &String| SAY_KILLED.iter().any(|words| line.contains(words));
    status.signal() == Some(KILLED)
        || status.code() == Some(SIGNALS + KILLED)
        || tail.lines.iter().any(says)
}

/// What a shell ends with where a program was ended by a signal is its number and this.
const SIGNALS: i32 = 128;
/// The numbers of SIGKILL and SIGILL.
const KILLED: i32 = 9;
const ILLEGAL: i32 = 4;

/// Most letters of a reason.
const REASON: usize = 600;

fn short(text: &str) -> String {
    text.chars().take(REASON).collect()
}

#[cfg(test)]
mod tests {
    use trimtab_lab::process::Job;

    use super::*;

    fn fault(script: &str) -> Fault {
        let job = Job::new("the counted run", "/bin/sh").args(["-c", script]);
        Fault::of_process(job.capture().unwrap_err())
    }

    #[test]
    fn what_was_killed_from_outside_is_no_fault_of_the_flags() {
        for script in [
            "kill -9 $$",
            "sh -c 'kill -9 $$'; exit $?",
            "echo 'gcc: fatal error: Killed signal terminated program cc1' >&2; exit 1",
            "echo 'collect2: fatal error: ld terminated with signal 9 [Killed]' >&2; exit 1",
            "echo 'clang: error: unable to execute command: Killed' >&2; exit 1",
            "echo 'make: *** [Makefile:2: a.o] Killed' >&2; exit 2",
        ] {
            let Fault::Other(error) = fault(script) else { panic!("{script}") };
            let hint = Failure::of(&error, &[]).hints().join(" ");
            assert!(hint.contains("memory"), "{script}: {hint}");
        }
        for script in ["exit 1", "kill -11 $$", "exit 132", "echo Killed bugs; exit 2"] {
            assert!(matches!(fault(script), Fault::Flags(_)), "{script}");
        }
    }
}
