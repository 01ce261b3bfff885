//! Counting the lines that a reader could make nothing of.

use super::TraceError;
use crate::trace::Trace;

/// The largest share of lines that may be unreadable. A trace is often saved with what else a terminal
/// or a log shows; a file with more of it is something else.
const MOST_UNREADABLE: f64 = 0.05;

/// The kind under which such lines are counted.
const UNREADABLE: &str = "unreadable lines";

/// The lines of one text.
pub(super) struct Tally {
    format: &'static str,
    expected: &'static str,
    lines: u64,
    unreadable: u64,
    /// Number and text of the first that is unreadable.
    first: Option<(usize, String)>,
}

impl Tally {
    /// Of a text in this format, whose lines should look as `expected` says.
    pub(super) fn new(format: &'static str, expected: &'static str) -> Self {
        Tally { format, expected, lines: 0, unreadable: 0, first: None }
    }

    /// A line that the format allows.
    pub(super) fn good(&mut self) {
        self.lines += 1;
    }

    /// The line of this number, from 1, that the format does not allow.
    pub(super) fn unreadable(&mut self, number: usize, line: &str) {
        self.lines += 1;
        self.unreadable += 1;
        self.first.get_or_insert_with(|| (number, super::cut(line)));
    }

    /// Counts what was unreadable as passed over.
    ///
    /// # Errors
    /// [`TraceError::Lines`] where that is more than a twentieth of the lines.
    pub(super) fn finish(self, trace: &mut Trace) -> Result<(), TraceError> {
        let Some((line, found)) = self.first else { return Ok(()) };
        if self.unreadable as f64 > self.lines as f64 * MOST_UNREADABLE {
            return Err(TraceError::Lines {
                line,
                format: self.format,
                found,
                expected: self.expected,
                unreadable: self.unreadable,
                lines: self.lines,
                allowed: MOST_UNREADABLE * 100.0,
            });
        }
        trace.pass_over(UNREADABLE, self.unreadable);
        Ok(())
    }
}
