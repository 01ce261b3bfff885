//! The work directory of a job: what its steps built, kept for the next run.
//!
//! A process can be killed at any point. So a step builds in a temporary directory that is renamed
//! when it is complete, and what was left behind by the killed is removed by the next one. One
//! process at a time works in a directory.

pub(crate) mod error;
pub(crate) mod files;
mod kept;
mod lock;
mod space;
mod step;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub use error::WorkError;
pub use error::no_space_hint;
pub use files::{copy_whole, write_at_once, write_whole};
pub use kept::{Found, KeptStep};
pub use space::{available, require};
pub use step::{OpenStep, Step};

use crate::cache::{Hashes, Key};
use crate::place;
use error::io;
use step::{BUILDING, STEPS};

/// Hashes of files.
const HASHES: &str = "hashes.json";

/// Whether a folder is somebody's work directory, whose files come and go.
pub fn is_one(folder: &Path) -> bool {
    folder.join(lock::FILE).is_file()
}

/// A work directory that this process has for itself.
#[derive(Debug)]
pub struct WorkDir {
    root: PathBuf,
    hashes: Hashes,
    _lock: lock::Lock,
}

impl WorkDir {
    /// Opens a work directory, makes it where there is none, and removes what steps that were cut
    /// short left behind.
    ///
    /// # Errors
    /// [`WorkError::Busy`] where another process works in it, [`WorkError::Foreign`] where the
    /// directory holds something else, [`WorkError::Place`] where others could have it
    /// write elsewhere or builds cannot be told its name, [`WorkError::Io`].
    pub fn open(root: &Path) -> Result<Self, WorkError> {
        place::require_name(root)?;
        place::make(root)?;
        // Absolute, because steps start processes in other directories.
        let root = root.canonicalize().map_err(io("find", root))?;
        place::refuse_shared(&root)?;
        for name in [lock::FILE, STEPS, BUILDING, HASHES] {
            place::refuse_link(&root.join(name))?;
        }
        lock::refuse_foreign(&root)?;
        place::refuse_entries_out(&root)?;
        let lock = lock::Lock::take(&root)?;
        let building = root.join(BUILDING);
        files::remove(&building)?;
        for directory in [&building, &root.join(STEPS)] {
            place::make_own(directory)?;
        }
        let hashes = Hashes::open(root.join(HASHES));
        Ok(Self { root, hashes, _lock: lock })
    }

    /// The directory, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The hashes of files, for [`Key::file`].
    pub fn hashes(&self) -> &Hashes {
        &self.hashes
    }

    /// A step that is built as a whole: into a temporary directory, which takes its place when it
    /// is complete. Its path while it is built is not its path when it is done.
    ///
    /// `name` is for people who look into the directory: lower-case letters, digits and dashes.
    ///
    /// # Errors
    /// [`WorkError::Io`].
    pub fn step(&self, name: &str, key: &Key) -> Result<Step, WorkError> {
        step::whole(&self.root, name, key)
    }

    /// A step whose directory may be re-entered: what it has built so far is still there in the
    /// next run, at the same path. For jobs that can take up their own work again, such as a kernel
    /// build, whose files moreover name the directory that they are in.
    ///
    /// # Errors
    /// [`WorkError::Io`].
    pub fn resumable(&self, name: &str, key: &Key) -> Result<Step, WorkError> {
        step::resumable(&self.root, name, key)
    }

    /// A folder for what is not kept, which goes with what this gives; where the process does not come to that, as on
    /// Ctrl-C, the next one that opens the work directory removes it.
    ///
    /// # Errors
    /// [`WorkError::Io`].
    pub fn scratch(&self) -> Result<TempDir, WorkError> {
        let building = self.root.join(BUILDING);
        tempfile::tempdir_in(&building).map_err(io("make a folder in", &building))
    }

    /// Fails where less than `bytes` are free here; `what` completes "not enough space to ...".
    ///
    /// # Errors
    /// [`WorkError::NoSpace`], [`WorkError::Io`].
    pub fn require_space(&self, bytes: u64, what: &str) -> Result<(), WorkError> {
        require(&self.root, bytes, what)
    }
}
