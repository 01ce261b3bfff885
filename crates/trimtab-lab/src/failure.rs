//! Failures that say what to do: [`Failure`], which whatever does a job can end with, and [`Hint`],
//! which errors have that know a remedy.

use std::error::Error;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An error that may know what the user can do about it.
pub trait Hint: Error {
    /// What to do, as a sentence without a full stop; none where the message says it or nothing can
    /// be done.
    fn hint(&self) -> Option<String>;
}

/// A failure that a job itself found.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    message: String,
    hints: Vec<String>,
    usage: bool,
}

impl Failure {
    /// The job failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new(), usage: false }
    }

    /// The job was given something that it cannot work with.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(message) }
    }

    /// An error with its causes, and all that these and `hinters` know of what to do: what another process is told
    /// of it.
    pub fn of(error: &anyhow::Error, hinters: &[Hinter]) -> Self {
        let mut failure = Self::new(format!("{error:#}"));
        for cause in error.chain() {
            if let Some(known) = cause.downcast_ref::<Failure>() {
                failure.hints.extend_from_slice(&known.hints);
                failure.usage |= known.usage;
            }
            failure.hints.extend(hinters.iter().filter_map(|hinter| hinter(cause)));
        }
        failure
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What the user can do about it, in the order in which it was added.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Whether what was asked for was wrong, rather than what was done.
    pub fn is_usage(&self) -> bool {
        self.usage
    }
}

/// Asks an error for what the user can do about it: for errors of one crate.
pub type Hinter = fn(&(dyn Error + 'static)) -> Option<String>;

/// The hint of an error, if it is an `E`: with it each crate says in one function what its own
/// errors know.
pub fn hint_of<E: Hint + 'static>(error: &(dyn Error + 'static)) -> Option<String> {
    error.downcast_ref::<E>().and_then(Hint::hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_is_told_what_to_do_as_well() {
        use anyhow::Context;

        let failure = Failure::usage("no gcc").hint("install gcc").hint("or clang");
        let error = Err::<(), _>(failure).context("cannot build").unwrap_err();
        let other: Hinter = |_| Some("look again".to_owned());
        let sent = serde_json::to_string(&Failure::of(&error, &[other])).unwrap();
        let back: Failure = serde_json::from_str(&sent).unwrap();
        assert_eq!(back.to_string(), "cannot build: no gcc");
        assert!(back.is_usage());
        // Of each cause, and there are two.
        assert_eq!(back.hints(), ["look again", "install gcc", "or clang", "look again"]);
    }
}
