//! Failures that say what to do: [`Failure`], which whatever does a job can end with, and [`Hint`],
//! which errors have that know a remedy.

use std::error::Error;

use thiserror::Error;

use crate::store::StoreError;
use crate::tools::ToolError;
use crate::workdir::WorkError;

/// An error that may know what the user can do about it.
pub trait Hint: Error {
    /// What to do, as a sentence without a full stop; none where the message says it or nothing can
    /// be done.
    fn hint(&self) -> Option<String>;
}

/// A failure that a job itself found.
#[derive(Debug, Clone, Error)]
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

/// The hint of an error, if it is an `E`: with it each crate says in one function what its own
/// errors know.
pub fn hint_of<E: Hint + 'static>(error: &(dyn Error + 'static)) -> Option<String> {
    error.downcast_ref::<E>().and_then(Hint::hint)
}

/// What errors of this crate know, less [`Failure`], which may know more than one thing.
pub fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    hint_of::<ToolError>(error)
        .or_else(|| hint_of::<WorkError>(error))
        .or_else(|| hint_of::<StoreError>(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_this_crate_is_asked_for_its_hint() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = WorkError::Io { action: "write", path: "x".into(), source: full };
        assert!(hint(&error).is_some_and(|hint| hint.starts_with("free some space")));
        assert_eq!(hint(&std::fmt::Error), None);
        assert_eq!(hint(&Failure::new("no").hint("do")), None);
    }
}
