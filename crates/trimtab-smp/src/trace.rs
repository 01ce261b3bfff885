//! Traces of a running kernel: [`event`] reads the lines of one, [`Timeline`] says what each thread did.

pub mod event;
mod timeline;

pub use timeline::{Activity, Reading, Span, ThreadTrace, Timeline, TraceError, Warnings};
