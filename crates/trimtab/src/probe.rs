//! What the verbs of `trimtab probe` share: the choice of functions, and objects in files.

pub mod bench;
mod choice;
mod files;
mod recordings;
mod summary;

pub use choice::{Choice, Plan};
pub use files::{Instrumented, check_machines, instrument_file, instrument_files, machine_of};
pub use recordings::Recordings;
pub use summary::{InstrumentReport, Left};
