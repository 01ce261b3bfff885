//! A line on standard error at the start and one at the end of each stage: what a log can hold.

use super::{Observe, View};

/// Shows stages as lines. Parts and notes would fill a log, and are left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines;

impl Observe for Lines {
    fn begin(&self, name: &str) -> Box<dyn View> {
        eprintln!("trimtab: {name} ...");
        Box::new(Lines)
    }
}

impl View for Lines {
    fn end(&self, line: &str) {
        eprintln!("trimtab: {line}");
    }
}
