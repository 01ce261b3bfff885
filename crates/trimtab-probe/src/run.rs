//! The engine of instrumented programs: objects in files, builds whose programs are instrumented as
//! they are linked, and files that were recorded. All else of this crate reads and starts nothing.

mod build;
mod choice;
mod files;
mod instrument;
mod link;
mod recordings;
mod runtime;
mod summary;

pub use build::{BuildRequest, BuildSummary, build};
pub use choice::{Choice, Plan};
pub use files::{InstrumentedFile, instrument_files};
pub use instrument::{InstrumentRequest, instrument};
pub use link::link;
pub use recordings::Recordings;
pub use runtime::{build_runtime, compile_hooks};
pub use summary::{FunctionCounts, InstrumentReport, Sizes, SkippedFunction, UserHooks};
