//! What a step of a job depends on, as one hash: a step whose hash was seen before is not done
//! again.

mod hashes;
mod key;

pub use hashes::Hashes;
pub use key::Key;

use std::path::Path;

use crate::workdir::WorkError;

/// SHA-256 in lower-case hexadecimal.
fn hex(digest: &[u8]) -> String {
    use std::fmt::Write;

    digest.iter().fold(String::with_capacity(2 * digest.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An error of reading `path` for its hash.
fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> WorkError + '_ {
    |source| WorkError::Io { action: "read", path: path.to_owned(), source }
}
