//! Our QEMU plugin that watches a kernel's locks.

use super::BootError;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use trimtab_lab::cache::Key;

/// What it writes, in the folder of a boot.
pub(super) const LOCKS: &str = "locks.trace";
/// The last line of what it writes.
const END: &[u8] = b"\nend\n";

/// Writes down which locks a kernel for x86-64 takes and gives back, while the guest says so; the format is described
/// in `qemu/trimtab_locks.c`. CPUs must run in turn: [`Clock::Parallel`](super::Clock::Parallel).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockTracer {
    /// The plugin; see [`plugin::kept_locks`](crate::plugin::kept_locks).
    pub plugin: PathBuf,
    /// What that depends on.
    pub key: Key,
    /// The functions that take and give back locks, where the kernel has them.
    pub functions: Vec<LockFunction>,
}

/// A function that takes or gives back a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockFunction {
    /// Its first address.
    pub start: u64,
    /// The address behind its last.
    pub end: u64,
    /// What it does.
    pub does: LockOperation,
}

/// What is done with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOperation {
    /// It is taken, and nobody else may have it.
    Take,
    /// The same, if it is free.
    Try,
    /// It is taken, and other readers may have it.
    Share,
    /// It is given back.
    Release,
}

impl LockTracer {
    /// The plugin's argument that names the functions.
    pub(super) fn functions(&self) -> String {
        let all = self.functions.iter().map(|function| {
            let kind = match function.does {
                LockOperation::Take => 'x',
                LockOperation::Try => 't',
                LockOperation::Share => 's',
                LockOperation::Release => 'r',
            };
            format!("{:x}-{:x}-{kind}", function.start, function.end)
        });
        all.collect::<Vec<_>>().join("+")
    }
}

/// That what the plugin wrote is there and whole.
pub(super) fn check(path: &Path, log: &Path) -> Result<(), BootError> {
    let missing = |reason: &str| BootError::NoTrace {
        path: path.to_owned(),
        reason: reason.to_owned(),
        log: log.to_owned(),
    };
    let file_error = |source| BootError::File { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => missing("the plugin did not write it, and says why on the console"),
        _ => file_error(source),
    })?;
    let length = file.metadata().map_err(file_error)?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(END.len() as u64))).map_err(file_error)?;
    file.read_to_end(&mut end).map_err(file_error)?;
    match end == END {
        true => Ok(()),
        false => Err(missing("it does not end with a line `end`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_by_their_addresses() {
        let function = |start, does| LockFunction { start, end: start + 16, does };
        let functions = vec![
            function(0xffff_ffff_8100_0000, LockOperation::Take),
            function(0x10, LockOperation::Try),
            function(0x20, LockOperation::Share),
            function(0x30, LockOperation::Release),
        ];
        let tracer = LockTracer { plugin: PathBuf::new(), key: Key::new("plugin"), functions };
        assert_eq!(
            tracer.functions(),
            "ffffffff81000000-ffffffff81000010-x+10-20-t+20-30-s+30-40-r"
        );
    }

    #[test]
    fn what_was_cut_short_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCKS);
        let found = |text: Option<&str>| {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            check(&path, Path::new("console.log")).map_err(|error| error.to_string())
        };
        assert!(found(None).unwrap_err().contains("did not write it"));
        for text in ["", "en", "mark 1\nend", "mark 1\n0 5 r 10\n"] {
            assert!(found(Some(text)).unwrap_err().contains("line `end`"), "{text}");
        }
        assert_eq!(found(Some("mark 1\nend\n")), Ok(()));
    }
}
