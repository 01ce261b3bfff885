//! What flags are tried on: something that they build, and that costs something when it runs.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::process::ProcessError;

use super::request::Limits;

/// What is tuned. Evaluations, their table, searches and reports know nothing else of it.
pub trait Subject: Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// All that evaluations depend on beside the flags and limits of time.
    fn key(&self) -> Key;

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
}

/// What a subject costs, in instructions: by what it was that it did.
pub type Costs = BTreeMap<String, f64>;

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
        let hint = "free memory, or end what else runs, and try again";
        Fault::Other(Failure::new(error.to_string()).hint(hint).into())
    }

    /// Sorts a failure of a process.
    pub fn of_process(error: ProcessError) -> Self {
        match error {
            ProcessError::Failed { ref tail, .. }
                if tail.lines.iter().any(|line| says_killed(line)) =>
            {
                Fault::killed(&error)
            }
            // A shell passes a signal on as 128 and more.
            ProcessError::Failed { status, .. } if status.code() == Some(ILLEGAL) => {
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

/// Whether gcc says that its compiler proper was ended from outside.
fn says_killed(line: &str) -> bool {
    line.contains("Killed signal terminated program")
}

/// What a shell ends with where a program was killed by SIGILL.
const ILLEGAL: i32 = 128 + 4;
/// Most letters of a reason.
const REASON: usize = 600;

fn short(text: &str) -> String {
    text.chars().take(REASON).collect()
}
