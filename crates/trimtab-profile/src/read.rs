//! Readers: one for each source of traces, all give a [`Trace`].

mod native;

use crate::trace::Trace;
use thiserror::Error;

pub use native::write as write_native;

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Our own: first line `trimtab-trace 1`.
    Native,
}

/// Why a text is not a trace.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// Nothing in it.
    #[error("the trace is empty: {expected}")]
    Empty {
        /// What should be there, and how it comes there.
        expected: &'static str,
    },
    /// A line that the format does not allow.
    #[error("line {line} of the {format} trace: found `{found}`, expected {expected}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Name of the format.
        format: &'static str,
        /// The line, cut to 80 characters.
        found: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// None of the known formats.
    #[error(
        "not a trace in any known format; expected a trimtab trace, ftrace `trace` text, \
         `trace-cmd report`, `perf script`, or a list of names or addresses, one a line"
    )]
    UnknownFormat,
}

/// Reads a trace, in whichever of the known formats it is.
///
/// # Errors
/// Whatever [`TraceError`] lists. Never panics, whatever the text is.
pub fn read(text: &str) -> Result<Trace, TraceError> {
    match detect(text)? {
        Format::Native => native::read(text),
    }
}

/// Tells the format of a trace by its first lines.
///
/// # Errors
/// [`TraceError::Empty`] and [`TraceError::UnknownFormat`].
pub fn detect(text: &str) -> Result<Format, TraceError> {
    if text.trim().is_empty() {
        return Err(TraceError::Empty { expected: "expected at least one event; was tracing on?" });
    }
    if text.starts_with(native::MAGIC) {
        return Ok(Format::Native);
    }
    Err(TraceError::UnknownFormat)
}

fn bad_line(line: usize, format: &'static str, found: &str, expected: &'static str) -> TraceError {
    TraceError::Line { line, format, found: found.chars().take(80).collect(), expected }
}
