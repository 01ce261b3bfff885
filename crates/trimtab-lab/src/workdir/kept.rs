//! Steps whose result is a record, once for all.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{WorkError, io};
use super::files::write_whole;
use super::{Step, WorkDir, step};
use crate::cache::Key;

/// Kept in a step: its record, where there is more to know of it than its files.
const RECORD: &str = "record.json";

/// A record that is not written down, as there is nothing in it.
const NOTHING: &[u8] = b"null";

/// Something that is made once and found again as long as all that it depends on is the same.
pub trait KeptStep {
    /// What it is called in the work directory: lower-case letters, digits and dashes.
    const KIND: &'static str;
    /// Another number when the code makes something else of the same inputs.
    const VERSION: u32;
    /// Whether it is built in its place, and what a killed run left of it is still there for the next one.
    /// Otherwise it is there as a whole or not at all.
    const RESUMABLE: bool = false;
    /// What is known of it beside its files: `()` where there is nothing.
    type Record: Serialize + DeserializeOwned;
    /// Why it cannot be made.
    type Error: From<WorkError>;

    /// Adds all that it depends on to a key of its kind.
    ///
    /// # Errors
    /// If a file that it depends on cannot be read.
    fn key(&self, key: Key) -> Result<Key, WorkError>;

    /// Makes it in the folder `at`.
    ///
    /// # Errors
    /// Whatever keeps it from being made; nothing is kept then, unless it is resumable.
    fn make(&self, at: &Path) -> Result<Self::Record, Self::Error>;
}

/// Something that was made, now or before.
#[derive(Debug, Clone)]
pub struct Found<Record> {
    /// What is known of it.
    pub record: Record,
    /// Where its files are.
    pub folder: PathBuf,
    /// What it depends on.
    pub key: Key,
    /// Whether an earlier run made it.
    pub cached: bool,
}

impl WorkDir {
    /// Finds something that was made before, or makes it.
    ///
    /// # Errors
    /// As [`KeptStep::make`]; [`WorkError::Record`] where what was kept is damaged.
    pub fn get<K: KeptStep>(&self, kept: &K) -> Result<Found<K::Record>, K::Error> {
        let key = key(kept)?;
        let step = match K::RESUMABLE {
            true => self.resumable(K::KIND, &key)?,
            false => self.step(K::KIND, &key)?,
        };
        let (folder, cached) = match step {
            Step::Done(folder) => (folder, true),
            Step::Todo(building) => {
                let record = kept.make(building.path())?;
                write(&building.path().join(RECORD), &record)?;
                (building.finish()?, false)
            }
        };
        // Also where it was just made: what a later run will read is what this one sees.
        let record = read(&folder.join(RECORD))?;
        Ok(Found { record, folder, key, cached })
    }

    /// Where something is that was made before; none where it was not.
    ///
    /// # Errors
    /// As [`KeptStep::key`].
    pub fn find<K: KeptStep>(&self, kept: &K) -> Result<Option<PathBuf>, WorkError> {
        step::find(&self.root, K::KIND, &key(kept)?)
    }
}

fn key<K: KeptStep>(kept: &K) -> Result<Key, WorkError> {
    kept.key(Key::new(&format!("{}/{}", K::KIND, K::VERSION)))
}

fn write(path: &Path, record: &impl Serialize) -> Result<(), WorkError> {
    let text = serde_json::to_vec_pretty(record)
        .map_err(|error| io("write", path)(std::io::Error::other(error)))?;
    if text == NOTHING {
        return Ok(());
    }
    write_whole(path, &text)
}

fn read<Record: DeserializeOwned>(path: &Path) -> Result<Record, WorkError> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => NOTHING.to_vec(),
        read => read.map_err(io("read", path))?,
    };
    serde_json::from_slice(&text)
        .map_err(|source| WorkError::Record { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::Cell;

    use super::*;

    struct Sum {
        parts: Vec<u32>,
        made: Cell<u32>,
        fails: bool,
    }

    impl KeptStep for Sum {
        const KIND: &'static str = "sum";
        const VERSION: u32 = 2;
        type Record = u32;
        type Error = WorkError;

        fn key(&self, key: Key) -> Result<Key, WorkError> {
            Ok(self
                .parts
                .iter()
                .fold(key, |key, part| key.after(&Key::new("part").field("number", part))))
        }

        fn make(&self, at: &Path) -> Result<u32, WorkError> {
            self.made.set(self.made.get() + 1);
            fs::write(at.join("parts"), format!("{:?}", self.parts)).map_err(io("write", at))?;
            match self.fails {
                true => Err(WorkError::Name { name: "it fails".to_owned() }),
                false => Ok(self.parts.iter().sum()),
            }
        }
    }

    fn sum(parts: &[u32]) -> Sum {
        Sum { parts: parts.to_vec(), made: Cell::new(0), fails: false }
    }

    #[test]
    fn what_was_made_is_found_with_its_record_and_files() {
        let root = tempfile::tempdir().unwrap();
        let work = WorkDir::open(root.path()).unwrap();
        let kept = sum(&[1, 2]);
        let first = work.get(&kept).unwrap();
        assert_eq!((first.record, first.cached), (3, false));
        let again = work.get(&kept).unwrap();
        assert_eq!((again.record, again.cached, kept.made.get()), (3, true, 1));
        assert_eq!((&again.folder, &again.key), (&first.folder, &first.key));
        assert_eq!(fs::read_to_string(again.folder.join("parts")).unwrap(), "[1, 2]");
        // Which parts it has, how often and in which order are all part of it.
        for other in [&[1][..], &[2, 1], &[1, 2, 2], &[1, 1]] {
            assert!(!work.get(&sum(other)).unwrap().cached, "{other:?}");
        }
    }

    #[test]
    fn what_was_made_is_found_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let work = WorkDir::open(root.path()).unwrap();
        assert_eq!(work.find(&sum(&[1])).unwrap(), None);
        let made = work.get(&sum(&[1])).unwrap();
        assert_eq!(work.find(&sum(&[1])).unwrap(), Some(made.folder));
        assert_eq!(work.find(&sum(&[2])).unwrap(), None);
    }

    struct Files;

    impl KeptStep for Files {
        const KIND: &'static str = "files";
        const VERSION: u32 = 1;
        type Record = ();
        type Error = WorkError;

        fn key(&self, key: Key) -> Result<Key, WorkError> {
            Ok(key)
        }

        fn make(&self, at: &Path) -> Result<(), WorkError> {
            fs::write(at.join("file"), "").map_err(io("write", at))
        }
    }

    #[test]
    fn files_of_which_nothing_else_is_known_have_no_record() {
        let root = tempfile::tempdir().unwrap();
        let work = WorkDir::open(root.path()).unwrap();
        let found = work.get(&Files).unwrap();
        assert!(found.folder.join("file").exists() && !found.folder.join(RECORD).exists());
        assert!(work.get(&Files).unwrap().cached);
        // Where there must be one, its absence is damage.
        let sum = sum(&[1]);
        fs::remove_file(work.get(&sum).unwrap().folder.join(RECORD)).unwrap();
        let error = work.get(&sum).unwrap_err().to_string();
        assert!(error.contains("record.json") && error.contains("remove the folder"), "{error}");
    }

    #[test]
    fn what_failed_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let work = WorkDir::open(root.path()).unwrap();
        let kept = Sum { fails: true, ..sum(&[1]) };
        assert!(work.get(&kept).is_err());
        assert!(!work.get(&sum(&[1])).unwrap().cached);
    }

    #[test]
    fn a_damaged_record_is_named() {
        let root = tempfile::tempdir().unwrap();
        let work = WorkDir::open(root.path()).unwrap();
        let found = work.get(&sum(&[1])).unwrap();
        fs::write(found.folder.join(RECORD), "\"text\"").unwrap();
        let error = work.get(&sum(&[1])).unwrap_err().to_string();
        assert!(error.contains("record.json") && error.contains("remove the folder"), "{error}");
    }
}
