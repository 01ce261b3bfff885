//! What `/proc` says of a process: what it has mapped as code, and who started it.

use nix::libc::pid_t;
use nix::unistd::{SysconfVar, sysconf};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A part of a file that is mapped as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Where it is in memory.
    pub(super) range: Range<u64>,
    /// Where it begins in the file.
    pub(super) offset: u64,
    /// The file.
    pub(super) path: PathBuf,
}

impl Part {
    /// Where the file is found from here, whatever root folder the process has.
    pub(super) fn seen_by(&self, process: pid_t) -> PathBuf {
        let inner = self.path.strip_prefix("/").unwrap_or(&self.path);
        PathBuf::from(format!("/proc/{process}/root")).join(inner)
    }

    /// Reads a line such as `5581e000-5581f000 r-xp 00001000 fe:00 1837 /usr/bin/app`.
    fn parse(line: &[u8]) -> Option<Self> {
        let slash = line.iter().position(|byte| *byte == b'/')?;
        let (numbers, path) = line.split_at(slash);
        let mut words = std::str::from_utf8(numbers).ok()?.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let executable = words.next()?.as_bytes().get(2) == Some(&b'x');
        let offset = hex(words.next()?)?;
        let _device = words.next()?;
        // What the kernel brings along, such as the vDSO, is no file.
        let is_file = words.next()? != "0";
        let part = Part { range: hex(start)?..hex(end)?, offset, path: named(path) };
        (executable && is_file).then_some(part)
    }
}

/// The path that a line names: Linux writes a line feed in it as `\012`, and nothing else in another way.
fn named(path: &[u8]) -> PathBuf {
    const LINE_FEED: &[u8] = b"\\012";
    let mut name = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match rest.strip_prefix(LINE_FEED) {
            Some(behind) => {
                name.push(b'\n');
                rest = behind;
            }
            None => {
                name.push(*first);
                rest = others;
            }
        }
    }
    OsString::from_vec(name).into()
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// All parts of files that a process has mapped as code, by ascending address.
pub(super) fn executable(process: pid_t) -> io::Result<Vec<Part>> {
    let bytes = fs::read(format!("/proc/{process}/maps"))?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(Part::parse).collect())
}

/// The process that started a process, or of which a thread is one.
pub(super) fn parent(task: pid_t) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let number = |key| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    match number("Tgid:")? {
        process if process == task => number("PPid:"),
        process => Some(process),
    }
}

/// Bytes in a page of this machine's memory.
pub(super) fn page_size() -> u64 {
    let size = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    size.and_then(|size| u64::try_from(size).ok()).unwrap_or(trimtab_program::PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_counts() {
        let part = Part::parse(b"5581e000-55820000 r-xp 00001000 fe:00 1837      /opt/my app");
        let expected = Part {
            range: 0x5581_e000..0x5582_0000,
            offset: 0x1000,
            path: PathBuf::from("/opt/my app"),
        };
        assert_eq!(part, Some(expected));
        for line in [
            "5581e000-55820000 r--p 00001000 fe:00 1837 /usr/bin/app",
            "7ffd1000-7ffd3000 r-xp 00000000 00:00 0    [vdso]",
            "7f0000000000-7f0000001000 r-xp 00000000 00:00 0",
            "7f0000000000-7f0000001000 r-xp",
            "garbage",
            "",
        ] {
            assert_eq!(Part::parse(line.as_bytes()), None, "{line}");
        }
        // Names of any bytes.
        let part = Part::parse(b"1000-2000 r-xp 00000000 fe:00 1837 /a\\012b/\xff\\01").unwrap();
        assert_eq!(part.path.as_os_str().as_encoded_bytes(), b"/a\nb/\xff\\01");
    }

    #[test]
    fn this_process_has_code() {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let process = nix::unistd::getpid().as_raw();
        let parts = executable(process).unwrap();
        let part = parts.iter().find(|part| part.path == program).unwrap();
        let address = this_process_has_code as *const () as u64;
        assert!(part.range.contains(&address));
        assert!(part.seen_by(process).exists());
        assert_eq!(part.range.start % page_size(), 0);
        let parent_process = nix::unistd::getppid().as_raw();
        assert_eq!(parent(process), Some(parent_process));
        assert_eq!(parent(nix::unistd::gettid().as_raw()), Some(process), "of a thread");
    }
}
