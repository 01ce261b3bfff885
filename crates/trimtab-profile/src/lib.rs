//! What ran: a [`Trace`] as some tracer recorded it, and the [`Profile`] that it is for a program.
//!
//! Sans-I/O: text in, values out. One reader for each source of traces lives in [`read`]; all give
//! the same [`Trace`]. A [`Stream`] knows more: every execution, not only the first. [`Profile::resolve`] then finds each event in a program, counts what it
//! could not find ([`Coverage`]), and so catches the trace of another build. [`ftrace`] reads the lines of the kernel's
//! event traces.

mod coverage;
mod early;
pub mod ftrace;
mod moved;
mod names;
mod process;
mod profile;
pub mod read;
mod readable;
mod stale;
pub mod stream;
mod trace;

pub use coverage::Coverage;
pub use process::{Process, Transition};
pub use profile::{ExecutedFunction, Precision, Profile};
pub use read::{Format, TraceError};
pub use stale::{OF_ANOTHER_BUILD, StaleProfile, only_without_suffix};
pub use stream::{Stream, StreamBlock, StreamError};
pub use trace::{Event, NameId, Place, Source, Trace};
