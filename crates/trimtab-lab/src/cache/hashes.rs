//! Hashes of files, remembered: the tarball of a kernel takes a second to read.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::unreadable;
use crate::bytes;
use crate::workdir::error::WorkError;
use crate::workdir::files::write_whole;

/// Files below this many bytes are read each time: that is faster than looking them up is worth.
const WORTH_REMEMBERING: u64 = 1 << 20;
/// A file changed within this time may change again without its time of change telling.
const SETTLED: Duration = Duration::from_secs(2);

/// SHA-256 of files. Those of big files are remembered by path, size and time of change, in a file
/// of the work directory; losing that file costs only time.
#[derive(Debug)]
pub struct Hashes {
    file: PathBuf,
    known: Mutex<BTreeMap<PathBuf, HashRecord>>,
}

/// What a file was like when it was hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HashRecord {
    size: u64,
    /// Time of change, in nanoseconds since 1970.
    changed: i128,
    inode: u64,
    sha256: String,
}

impl HashRecord {
    fn new(data: &Metadata, sha256: String) -> Self {
        let changed = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
        Self { size: data.size(), changed, inode: data.ino(), sha256 }
    }
}

impl Hashes {
    /// The hashes remembered in `file`; none where it is missing or damaged.
    pub fn open(file: PathBuf) -> Self {
        let known = fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self { file, known: Mutex::new(known) }
    }

    /// SHA-256 of the content of `path`, in hexadecimal.
    ///
    /// # Errors
    /// [`WorkError::Io`] where it cannot be read.
    pub fn of(&self, path: &Path) -> Result<String, WorkError> {
        let path = path.canonicalize().map_err(unreadable(path))?;
        let mut input = bytes::open(&path).map_err(unreadable(&path))?;
        let data = input.metadata().map_err(unreadable(&path))?;
        if let Some(known) = self.lock().get(&path)
            && *known == HashRecord::new(&data, known.sha256.clone())
        {
            return Ok(known.sha256.clone());
        }
        let mut hasher = Sha256::new();
        io::copy(&mut input, &mut hasher).map_err(unreadable(&path))?;
        let hash = hex::encode(hasher.finalize());
        if data.size() >= WORTH_REMEMBERING && settled(&data) {
            self.lock().insert(path, HashRecord::new(&data, hash.clone()));
            self.save();
        }
        Ok(hash)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, HashRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Not being able to remember is no error: the next run reads the file again.
    fn save(&self) {
        if let Ok(text) = serde_json::to_string_pretty(&*self.lock()) {
            let _ = write_whole(&self.file, text.as_bytes());
        }
    }
}

fn settled(data: &Metadata) -> bool {
    data.modified()
        .ok()
        .and_then(|changed| SystemTime::now().duration_since(changed).ok())
        .is_some_and(|age| age >= SETTLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn hashes_content() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        fs::write(&path, "abc").unwrap();
        let hashes = Hashes::open(root.path().join("hashes.json"));
        assert_eq!(hashes.of(&path).unwrap(), ABC);
        assert!(hashes.of(&root.path().join("none")).is_err());
    }

    #[test]
    fn remembers_big_settled_files_until_they_change() {
        let root = tempfile::tempdir().unwrap();
        let (path, store) = (root.path().join("big"), root.path().join("hashes.json"));
        fs::write(&path, vec![1; WORTH_REMEMBERING as usize]).unwrap();
        let first = Hashes::open(store.clone()).of(&path).unwrap();
        assert!(!store.exists(), "too new to be remembered");

        let past = SystemTime::now() - Duration::from_secs(60);
        fs::File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
        assert_eq!(Hashes::open(store.clone()).of(&path).unwrap(), first);
        let text = fs::read_to_string(&store).unwrap();
        // Whether it is used shows in an answer that only the file can have given.
        fs::write(&store, text.replace(&first, "remembered")).unwrap();
        assert_eq!(Hashes::open(store.clone()).of(&path).unwrap(), "remembered");

        fs::write(&path, vec![2; WORTH_REMEMBERING as usize]).unwrap();
        let second = Hashes::open(store.clone()).of(&path).unwrap();
        assert!(second != first && second != "remembered");
    }

    #[test]
    fn a_damaged_memory_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        let store = root.path().join("hashes.json");
        fs::write(&store, "{\"half").unwrap();
        fs::write(root.path().join("file"), "abc").unwrap();
        assert_eq!(Hashes::open(store).of(&root.path().join("file")).unwrap(), ABC);
    }
}
