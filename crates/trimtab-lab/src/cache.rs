//! What a step of a job depends on, as one hash: a step whose hash was seen before is not done
//! again.

mod hashes;
mod key;

pub use hashes::Hashes;
pub use key::Key;

use std::path::Path;

use crate::workdir::error::WorkError;

/// An error of reading `path` for its hash.
fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> WorkError + '_ {
    |source| WorkError::Io { action: "read", path: path.to_owned(), source }
}
