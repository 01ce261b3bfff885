//! A line on standard error at the start and one at the end of each stage: what a log can hold.

use std::io::Write;

use super::{Observe, View};

/// Writes a line on standard error. Where nobody reads that any more, what is done goes on all the same.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Shows stages as lines. Parts and notes would fill a log, and are left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines;

impl Observe for Lines {
    fn begin(&self, name: &str) -> Box<dyn View> {
        say(&format!("trimtab: {name} ..."));
        Box::new(Lines)
    }
}

impl View for Lines {
    fn end(&self, line: &str) {
        say(&format!("trimtab: {line}"));
    }
}
