//! Traces of a running kernel: [`event`] reads the lines of one, [`Timeline`] says what each thread did.

pub mod event;
mod lock_name;
mod timeline;

pub use timeline::{Activity, Reading, Span, Taking, ThreadTrace, Timeline, TraceError, Warnings};
