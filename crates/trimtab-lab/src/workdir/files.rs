//! Files and directories that are there whole or not at all.

use std::fs::{self, File};
use std::io::{self as std_io, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::{WorkError, io};

/// From this many files on, one sync of the whole file system is faster than one for each.
const MANY: usize = 64;

/// Writes a file so that after a crash it holds either what it held before or all of `bytes`.
/// A device or pipe (`/dev/null`) is written to as it is.
///
/// # Errors
/// [`WorkError::Io`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WorkError> {
    write_from(path, &mut &*bytes).map_err(io("write", path))
}

/// Writes a file of which nobody reads half, and does not wait for the disk: for what is of no use after a crash.
///
/// # Errors
/// [`WorkError::Io`].
pub fn write_at_once(path: &Path, bytes: &[u8]) -> Result<(), WorkError> {
    let written = written_beside(path, &mut &*bytes);
    let renamed = written.and_then(|file| file.persist(path).map_err(std_io::Error::from));
    renamed.map(drop).map_err(io("write", path))
}

/// Copies a file as [`write_whole`] writes one, piece by piece.
///
/// # Errors
/// [`WorkError::Io`].
pub fn copy_whole(from: &Path, path: &Path) -> Result<(), WorkError> {
    let mut from = File::open(from).map_err(io("open", from))?;
    write_from(path, &mut from).map_err(io("write", path))
}

fn write_from(path: &Path, from: &mut impl Read) -> std_io::Result<()> {
    if path.metadata().is_ok_and(|data| !data.is_file()) {
        let mut device = File::options().write(true).open(path)?;
        return std_io::copy(from, &mut device).map(|_| ());
    }
    let file = written_beside(path, from)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(parent(path))?.sync_all()
}

/// A new file with all that there is to read, in the directory of another.
fn written_beside(path: &Path, from: &mut impl Read) -> std_io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        // As any new file, less the umask; temporary files would be for their owner only.
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(parent(path))?;
    std_io::copy(from, &mut file)?;
    Ok(file)
}

/// Brings a directory with all that is in it to the disk.
pub(super) fn sync(directory: &Path) -> Result<(), WorkError> {
    let mut paths = Vec::new();
    if collect(directory, &mut paths).map_err(io("read", directory))? {
        for path in &paths {
            File::open(path).and_then(|file| file.sync_all()).map_err(io("sync", path))?;
        }
        return Ok(());
    }
    let file = File::open(directory).map_err(io("open", directory))?;
    nix::unistd::syncfs(&file).map_err(|errno| io("sync", directory)(errno.into()))
}

/// Collects what is in a directory, and itself; false as soon as that is [`MANY`].
fn collect(directory: &Path, paths: &mut Vec<PathBuf>) -> std_io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && !collect(&entry.path(), paths)? {
            return Ok(false);
        }
        if kind.is_file() {
            paths.push(entry.path());
        }
        if paths.len() >= MANY {
            return Ok(false);
        }
    }
    paths.push(directory.to_owned());
    Ok(true)
}

/// Renames, and brings the new name to the disk.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), WorkError> {
    fs::rename(from, to).map_err(io("rename", from))?;
    let directory = parent(to);
    File::open(directory).and_then(|file| file.sync_all()).map_err(io("sync", directory))
}

/// Removes a directory with all that is in it; fine where there is none.
pub(super) fn remove(directory: &Path) -> Result<(), WorkError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io("remove", directory)(error)),
        _ => Ok(()),
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_readable_by_others() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("result.json");
        write_whole(&path, b"a long first version").unwrap();
        write_whole(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        write_at_once(&path, b"other").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"other");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        fs::write(root.path().join("usual"), "").unwrap();
        assert_eq!(mode(&path), mode(&root.path().join("usual")));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn a_copy_is_whole_or_not_made() {
        let root = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| root.path().join(name));
        fs::write(&from, "what is copied").unwrap();
        copy_whole(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"what is copied");
        assert!(copy_whole(&root.path().join("none"), &to).is_err());
        assert_eq!(fs::read(&to).unwrap(), b"what is copied");
    }

    #[test]
    fn a_device_stays_a_device() {
        write_whole(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
        let error = write_whole(Path::new("/nonexistent/file"), b"").unwrap_err().to_string();
        assert!(error.starts_with("cannot write /nonexistent/file: "), "{error}");
    }
}
