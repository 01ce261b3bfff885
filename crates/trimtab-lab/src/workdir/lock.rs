//! One process at a time in a work directory.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::error::{WorkError, io};
use crate::place;

pub(super) const FILE: &str = ".trimtab-lock";

/// Held as long as it lives. The system lets go of it when the process ends, however it ends, so
/// that a lock never outlives its owner. The file stays: to remove it would let two in.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not read")] Flock<File>);

impl Lock {
    pub(super) fn take(root: &Path) -> Result<Self, WorkError> {
        let path = root.join(FILE);
        // Not truncated on opening: until the lock is ours the file is someone else's.
        let file = place::open(&path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut lock) => {
                // Who it is only serves the message; failing to say so is not worth failing for.
                let _ = lock
                    .set_len(0)
                    .and_then(|()| lock.rewind())
                    .and_then(|()| writeln!(lock, "{}", std::process::id()));
                Ok(Self(lock))
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut text = String::new();
                let process =
                    file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                Err(WorkError::Busy { path: root.to_owned(), process })
            }
            Err((_, errno)) => Err(io("lock", &path)(errno.into())),
        }
    }
}

/// Refuses a directory that has things in it but was never a work directory: `--work ~` must not
/// fill someone's home, nor remove a folder that happens to be called like one of ours.
pub(super) fn refuse_foreign(root: &Path) -> Result<(), WorkError> {
    if root.join(FILE).exists() {
        return Ok(());
    }
    let mut entries = fs::read_dir(root).map_err(io("read", root))?;
    match entries.next() {
        None => Ok(()),
        Some(entry) => {
            let found = entry.map_err(io("read", root))?.file_name().to_string_lossy().into_owned();
            // Another process may have made the lock since.
            if root.join(FILE).exists() {
                return Ok(());
            }
            Err(WorkError::Foreign { path: root.to_owned(), found })
        }
    }
}
