//! What the verbs of `trimtab probe` share: the choice of functions, and objects in files.

pub mod bench;
mod choice;
mod files;
mod recordings;
mod summary;

pub use choice::{Choice, Plan};
pub use files::{Instrumented, instrument_file, instrument_files};
pub use recordings::Recordings;
pub use summary::{InstrumentReport, Left};
