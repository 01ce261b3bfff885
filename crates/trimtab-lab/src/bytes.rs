//! The bytes of an input, whatever it is: never more of them than memory has room for.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use memmap2::Mmap;
use nix::libc;

/// The longest file that is mapped. The largest programs with all their debug information have a few
/// gigabytes; of what is longer somebody only says so, as of a file with holes.
const LONGEST_FILE: u64 = 8 << 30;

/// The most that is read from what cannot be mapped, such as a pipe.
const LONGEST_PIPE: u64 = 256 << 20;

/// The name that means standard input.
pub const STANDARD_INPUT: &str = "-";

/// The content of a file, mapped into memory rather than read, or of a pipe.
#[derive(Debug)]
pub struct Bytes(Content);

#[derive(Debug)]
enum Content {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Bytes {
    /// Maps a file. A pipe is none, unless this process was given it already open, as a shell does with
    /// `<(command)`: the other end of a named one may never be opened.
    ///
    /// # Errors
    /// That it is not there, is no file, may not be read, or is longer than 8 GiB; a pipe that holds more
    /// than 256 MiB.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_at_once(path)?;
        let data = file.metadata()?;
        if data.file_type().is_fifo() && is_given(path) {
            // Opened anew, so that reading waits for what is to come.
            return Self::read(File::open(path)?);
        }
        check(&data)?;
        if data.len() == 0 {
            // What cannot be mapped; files of /proc have no length, but content.
            return Self::read(file);
        }
        // SAFETY: the mapping is private and never written to. Should another program change the file
        // meanwhile, what is read may be of either version; linkers do not do so, they write a new file.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Bytes(Content::Mapped(map)))
    }

    /// Reads all of standard input.
    ///
    /// # Errors
    /// That it cannot be read, or holds more than 256 MiB.
    pub fn standard_input() -> io::Result<Self> {
        Self::read(io::stdin().lock())
    }

    fn read(from: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        from.take(LONGEST_PIPE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST_PIPE {
            return Err(io::Error::other(format!(
                "it holds more than {} MiB; write it to a file first",
                LONGEST_PIPE >> 20
            )));
        }
        Ok(Bytes(Content::Read(bytes)))
    }

    /// The content as text.
    ///
    /// # Errors
    /// That it is no UTF-8.
    pub fn to_text(&self) -> io::Result<&str> {
        str::from_utf8(self).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// The content.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Content::Mapped(map) => map,
            Content::Read(bytes) => bytes,
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// Opens a file that is to be read piece by piece.
///
/// # Errors
/// As [`Bytes::open`]; any pipe is refused.
pub fn open(path: &Path) -> io::Result<File> {
    let file = open_at_once(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file; a named pipe without waiting for who writes to it.
fn open_at_once(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Refuses what is no file, and what is longer than any file can be.
fn check(data: &Metadata) -> io::Result<()> {
    let kind = data.file_type();
    if !kind.is_file() {
        let what = match () {
            () if kind.is_dir() => "a folder",
            () if kind.is_fifo() => "a named pipe",
            () if kind.is_socket() => "a socket",
            () => "a device",
        };
        return Err(io::Error::other(format!("it is not a file, but {what}")));
    }
    if data.len() > LONGEST_FILE {
        return Err(io::Error::other(format!(
            "it has {} GiB, expected at most {}",
            data.len() >> 30,
            LONGEST_FILE >> 30
        )));
    }
    Ok(())
}

/// Whether a path names what this process has open.
fn is_given(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd", "/dev/stdin"].iter().any(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn error(path: &Path) -> String {
        Bytes::open(path).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_file_or_has_no_end_is_one_message() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(error(Path::new("/dev/zero")), "it is not a file, but a device");
        assert_eq!(error(folder.path()), "it is not a file, but a folder");
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(error(&pipe), "it is not a file, but a named pipe");
        let holes = folder.path().join("holes");
        File::create(&holes).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(error(&holes), "it has 1024 GiB, expected at most 8");
        for path in [Path::new("/dev/zero"), folder.path(), &pipe, &holes] {
            assert_eq!(open(path).unwrap_err().to_string(), error(path));
        }
    }

    #[test]
    fn files_and_pipes_give_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for content in ["", "content"] {
            std::fs::write(&file, content).unwrap();
            assert_eq!(Bytes::open(&file).unwrap().as_slice(), content.as_bytes());
        }
        assert!(!Bytes::open(Path::new("/proc/self/maps")).unwrap().as_slice().is_empty());
        assert_eq!(Bytes::read(&b"piped"[..]).unwrap().as_slice(), b"piped");
        let endless = Bytes::read(io::repeat(b'x')).unwrap_err().to_string();
        assert_eq!(endless, "it holds more than 256 MiB; write it to a file first");
    }
}
