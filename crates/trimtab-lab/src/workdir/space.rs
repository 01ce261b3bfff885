//! Free space, asked for before a step that takes much of it.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::error::{WorkError, io};

/// Bytes that a user without privileges can still write where `path` is, or would be.
///
/// # Errors
/// [`WorkError::Io`].
pub fn available(path: &Path) -> Result<u64, WorkError> {
    // A directory that is yet to be made lands in the nearest one that exists.
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or_else(|| Path::new("."));
    let data =
        statvfs(existing).map_err(|errno| io("ask the free space of", path)(errno.into()))?;
    Ok(data.blocks_available().saturating_mul(data.fragment_size()))
}

/// Fails where less than `needed` bytes are free; `what` completes "not enough space to ...".
///
/// # Errors
/// [`WorkError::NoSpace`], [`WorkError::Io`].
pub fn require(path: &Path, needed: u64, what: &str) -> Result<(), WorkError> {
    let available = available(path)?;
    if available >= needed {
        return Ok(());
    }
    Err(WorkError::NoSpace { what: what.to_owned(), path: path.to_owned(), available, needed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Hint;

    #[test]
    fn says_how_much_is_there_and_how_much_is_needed() {
        let root = tempfile::tempdir().unwrap();
        require(root.path(), 1, "write a byte").unwrap();
        let error = require(&root.path().join("new"), u64::MAX, "build the kernel").unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("not enough space to build the kernel: "), "{message}");
        assert!(message.ends_with("expected at least 17179869184.0 GiB"), "{message}");
        assert!(error.hint().unwrap().contains("--work"));
    }
}
