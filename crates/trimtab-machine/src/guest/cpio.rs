//! Writes the archive format that the kernel unpacks as its first root: `newc` cpio, as
//! `Documentation/driver-api/early-userspace/buffer-format.rst` of Linux describes it.

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive under way. Entries belong to root and have no time.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    pub(super) fn new() -> Self {
        Archive::default()
    }

    pub(super) fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER | 0o755, (0, 0), b"");
    }

    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, FILE | mode, (0, 0), content);
    }

    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.entry(path, LINK | 0o777, (0, 0), target.as_bytes());
    }

    pub(super) fn character_device(&mut self, path: &str, mode: u32, major: u32, minor: u32) {
        self.entry(path, CHARACTER_DEVICE | mode, (major, minor), b"");
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.header("TRAILER!!!", 0, (0, 0), 0);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        self.header(path, mode, device, content.len());
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn header(&mut self, path: &str, mode: u32, device: (u32, u32), size: usize) {
        let links = if mode & FOLDER == FOLDER { 2 } else { 1 };
        let fields = [
            self.entries, // inode
            mode,
            0, // user
            0, // group
            links,
            0,           // time
            size as u32, // the format has no room for more; a busybox is far smaller
            0,           // device that held it
            0,
            device.0,
            device.1,
            path.len() as u32 + 1, // with the NUL
            0,                     // checksum: none in this variant
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
    }

    /// Names and contents end at a multiple of four.
    fn pad(&mut self) {
        let end = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(end, 0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn another_program_reads_it() {
        let mut archive = Archive::new();
        archive.folder("a");
        archive.file("a/odd", 0o755, b"12345");
        archive.link("l", "a/odd");
        archive.character_device("null", 0o666, 1, 3);
        let bytes = archive.finish();

        let mut cpio = Command::new("busybox")
            .args(["cpio", "-tv"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let found: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(found.len(), 4, "{text}");
        assert_eq!((found[0][0], *found[0].last().unwrap()), ("drwxr-xr-x", "a"));
        assert_eq!((found[1][0], found[1][2]), ("-rwxr-xr-x", "5"));
        assert_eq!((found[2][0], *found[2].last().unwrap()), ("lrwxrwxrwx", "a/odd"));
        assert_eq!((found[3][0], *found[3].last().unwrap()), ("crw-rw-rw-", "null"));
    }
}
