//! Linked files at their places, in the versions that are run in turn.
//!
//! A program finds its libraries and data from where it lies, so each version runs at the very place
//! where the build put it: the file there is replaced. What a version has in memory belongs to its
//! own file, which is linked into place and not copied.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::ProgramError;
use super::error::io;
use trimtab_lab::script;

/// A linked file's place. Dropped, the version last named by [`Place::settle`] is there, as a file
/// of its own.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    settled: Option<PathBuf>,
}

impl Place {
    /// The place of `path`, which must be there; links are followed.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn of(path: &Path) -> Result<Self, ProgramError> {
        let path = path.canonicalize().map_err(io("find", path))?;
        Ok(Place { path, settled: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's mode bits.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn mode(&self) -> Result<u32, ProgramError> {
        let data = fs::metadata(&self.path).map_err(io("read", &self.path))?;
        Ok(data.permissions().mode())
    }

    /// Keeps a copy of what is there now as `to`, and leaves that version at the place in the end.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn keep(&mut self, to: &Path) -> Result<(), ProgramError> {
        copy(&self.path, to)?;
        self.settled = Some(to.to_owned());
        Ok(())
    }

    /// Which version lies at the place in the end.
    pub fn settle(&mut self, version: &Path) {
        self.settled = Some(version.to_owned());
    }

    /// Puts a version in place: the very file, so that its pages in memory are known.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn put(&self, version: &Path) -> Result<(), ProgramError> {
        let same = |a: &Path, b: &Path| {
            let [a, b] = [a, b].map(|path| fs::metadata(path).map(|data| (data.dev(), data.ino())));
            a.is_ok_and(|a| b.is_ok_and(|b| a == b))
        };
        if same(version, &self.path) {
            return Ok(());
        }
        let new = self.beside("new");
        remove(&new)?;
        fs::hard_link(version, &new).map_err(io("link", version))?;
        fs::rename(&new, &self.path).map_err(io("replace", &self.path))
    }

    /// A path beside the place, in the same folder, for a moment.
    pub fn beside(&self, what: &str) -> PathBuf {
        let mut name = std::ffi::OsString::from(".");
        name.push(self.path.file_name().unwrap_or_default());
        name.push(format!(".trimtab-{what}"));
        self.path.with_file_name(name)
    }

    /// Puts a script in place that starts what is beside it; `text` is the script's.
    pub(super) fn put_script(&self, text: &str) -> Result<(), ProgramError> {
        let new = self.beside("new");
        script::write(&new, text).map_err(io("write", &new))?;
        fs::rename(&new, &self.path).map_err(io("replace", &self.path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(version) = self.settled.take() else { return };
        // A copy: the next build may write into the file that it finds.
        let new = self.beside("new");
        let _ = remove(&new);
        if copy(&version, &new)
            .and_then(|()| fs::rename(&new, &self.path).map_err(io("replace", &self.path)))
            .is_err()
        {
            let _ = remove(&new);
        }
    }
}

/// The folder for the versions of a file: beside it, since a file can be linked only within one
/// file system.
pub fn folder_for(path: &Path, work: &Path) -> PathBuf {
    let device = |path: &Path| fs::metadata(path).map(|data| data.dev()).ok();
    match path.parent() {
        Some(parent) if device(parent) != device(work) => parent.join(".trimtab-versions"),
        _ => work.to_owned(),
    }
}

/// Copies a file with the time at which it was written: by that builds and trimtab know whether it is
/// still what was linked.
fn copy(from: &Path, to: &Path) -> Result<(), ProgramError> {
    remove(to)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(io("make", folder))?;
    }
    // Through what was opened: the path may be another file's by now, and the copy one that may not be written.
    let mut source = fs::File::open(from).map_err(io("read", from))?;
    let data = source.metadata().map_err(io("read", from))?;
    let written = data.modified().map_err(io("read", from))?;
    let mut target = fs::File::create_new(to).map_err(io("write", to))?;
    std::io::copy(&mut source, &mut target).map_err(io("copy", from))?;
    target.set_permissions(data.permissions()).map_err(io("write", to))?;
    target.set_modified(written).map_err(io("write", to))
}

fn remove(path: &Path) -> Result<(), ProgramError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_time_and_the_mode_of_what_was_read() {
        let root = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| root.path().join(name));
        fs::write(&from, "one").unwrap();
        let time =
            std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1_234_567_890_123_456_789);
        let file = fs::OpenOptions::new().write(true).open(&from).unwrap();
        file.set_modified(time).unwrap();
        // Also where nobody may write it.
        file.set_permissions(fs::Permissions::from_mode(0o555)).unwrap();
        copy(&from, &to).unwrap();
        let data = fs::metadata(&to).unwrap();
        assert_eq!((data.modified().unwrap(), data.mode() & 0o777), (time, 0o555));
        assert_eq!(fs::read(&to).unwrap(), b"one");
    }

    #[test]
    fn versions_take_turns_and_the_last_one_settles_as_a_file_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("app");
        let [first, second] = ["first", "second"].map(|name| root.path().join(name));
        fs::write(&path, "one").unwrap();
        let mut place = Place::of(&path).unwrap();
        place.keep(&first).unwrap();
        fs::write(&path, "two").unwrap();
        place.keep(&second).unwrap();
        for _ in 0..2 {
            place.put(&first).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "one");
            place.put(&second).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        }
        place.settle(&first);
        drop(place);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        fs::write(&path, "three").unwrap();
        assert_eq!(fs::read_to_string(&first).unwrap(), "one");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
    }
}
