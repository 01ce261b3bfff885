//! One step: done before, or to be built.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{WorkError, io};
use super::files::{remove, rename, sync, write_whole};
use crate::cache::Key;
use crate::place;

/// Steps that are done, or (resumable ones) begun.
pub(super) const STEPS: &str = "steps";
/// Steps that are being built.
pub(super) const BUILDING: &str = "building";

/// In a step that is done: what it depended on. Its being there is what makes a resumable step
/// done, so it is written last.
const DONE: &str = ".trimtab-step.json";

/// Whether a step has to be done.
#[derive(Debug)]
#[must_use]
pub enum Step {
    /// It was done before, with all that it depends on the same; its directory.
    Done(PathBuf),
    /// It is to be built.
    Todo(OpenStep),
}

/// A step that is being built. Dropped without [`OpenStep::finish`] it does not count: what was
/// built is removed, unless the step is resumable.
#[derive(Debug)]
#[must_use]
pub struct OpenStep {
    directory: PathBuf,
    done: PathBuf,
    key: Key,
    resumed: bool,
}

impl OpenStep {
    /// Where to build; a directory that exists.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Whether an earlier run has begun this step and left its work here.
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// Makes the step done, and gives the directory where it is from now on.
    ///
    /// # Errors
    /// [`WorkError::Io`]; the step is not done then.
    pub fn finish(self) -> Result<PathBuf, WorkError> {
        let mark = serde_json::to_vec_pretty(&self.key)
            .map_err(|error| io("write", &self.directory)(std::io::Error::other(error)))?;
        if self.in_place() {
            // First all that was built, then the mark: it must not be on the disk before the rest.
            sync(&self.directory)?;
            write_whole(&self.directory.join(DONE), &mark)?;
        } else {
            write_whole(&self.directory.join(DONE), &mark)?;
            sync(&self.directory)?;
            rename(&self.directory, &self.done)?;
        }
        Ok(self.done.clone())
    }

    fn in_place(&self) -> bool {
        self.directory == self.done
    }
}

impl Drop for OpenStep {
    fn drop(&mut self) {
        if !self.in_place() {
            // After `finish` it is gone already; otherwise the next start tries again.
            let _ = remove(&self.directory);
        }
    }
}

pub(super) fn find(root: &Path, name: &str, key: &Key) -> Result<Option<PathBuf>, WorkError> {
    let done = root.join(STEPS).join(directory_name(name, key)?);
    Ok(is_done(&done)?.then_some(done))
}

/// Whether a step is done; refuses a link in its place, or in that of its mark.
fn is_done(done: &Path) -> Result<bool, WorkError> {
    let mark = done.join(DONE);
    place::refuse_link(done)?;
    place::refuse_link(&mark)?;
    Ok(mark.exists())
}

pub(super) fn whole(root: &Path, name: &str, key: &Key) -> Result<Step, WorkError> {
    let name = directory_name(name, key)?;
    let done = root.join(STEPS).join(&name);
    if is_done(&done)? {
        return Ok(Step::Done(done));
    }
    let directory = root.join(BUILDING).join(&name);
    // A directory without the mark was damaged by hand; one that is in our way would make the
    // rename fail after all the work.
    remove(&done)?;
    remove(&directory)?;
    fs::create_dir(&directory).map_err(io("make", &directory))?;
    Ok(Step::Todo(OpenStep { directory, done, key: key.clone(), resumed: false }))
}

pub(super) fn resumable(root: &Path, name: &str, key: &Key) -> Result<Step, WorkError> {
    let done = root.join(STEPS).join(directory_name(name, key)?);
    if is_done(&done)? {
        // Whoever uses it goes on writing into it: make builds there for each kernel.
        place::refuse_links_out(root, &done)?;
        return Ok(Step::Done(done));
    }
    let resumed = done.exists();
    place::make(&done)?;
    place::refuse_links_out(root, &done)?;
    Ok(Step::Todo(OpenStep { directory: done.clone(), done, key: key.clone(), resumed }))
}

/// The name with enough of the hash to tell steps apart.
fn directory_name(name: &str, key: &Key) -> Result<String, WorkError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(WorkError::Name { name: name.to_owned() });
    }
    let hash = key.hash();
    Ok(format!("{name}-{}", hash.get(..16).unwrap_or(&hash)))
}
