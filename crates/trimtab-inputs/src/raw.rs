//! What tracers write before their own tool has made text of it. The tool that is installed is called.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use tempfile::NamedTempFile;
use trimtab_lab::bytes::{self, Bytes};
use trimtab_lab::failure::Failure;
use trimtab_lab::process::Job;

/// A kind of raw trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raw {
    /// `perf record`.
    Perf,
    /// `trace-cmd record`.
    TraceCmd,
    /// The folder of `uftrace record`.
    Uftrace,
    /// A folder in the Common Trace Format: LTTng, barectf, `perf data convert`.
    Ctf,
    /// Event Tracing for Windows.
    Etl,
}

/// How the data of perf begins, in either order of bytes, as `struct perf_file_header` has it.
const PERF: [&[u8]; 3] = [b"PERFILE2", b"2ELIFREP", b"PERFFILE"];
/// How a file of trace-cmd begins, as trace-cmd.dat(5) says.
const TRACE_CMD: &[u8] = b"\x17\x08\x44tracing";

/// Whether a folder is that of `perf record --threads` or `perf record -o FOLDER`.
fn has_perf_data(folder: &Path) -> bool {
    let mut magic = [0; 8];
    let file = bytes::open(&folder.join("data"));
    file.is_ok_and(|mut file| file.read_exact(&mut magic).is_ok() && PERF.contains(&&magic[..]))
}

/// Folders within each other in which LTTng puts the traces of a session: `ust/uid/1000/64-bit`.
const MOST_DEEP: u32 = 4;

/// Whether a folder holds traces in the Common Trace Format.
fn has_metadata(folder: &Path, depth: u32) -> bool {
    if folder.join("metadata").is_file() {
        return true;
    }
    if depth == MOST_DEEP {
        return false;
    }
    let Ok(entries) = fs::read_dir(folder) else { return false };
    // A session has few folders; links lead elsewhere.
    let folders = entries.take(100).flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
    folders.take(10).any(|folder| has_metadata(&folder.path(), depth + 1))
}

impl Raw {
    /// What the file or folder at `path` is; nothing where it is no raw trace. `bytes` are those of the
    /// file.
    pub(crate) fn of(path: &Path, bytes: Option<&[u8]>) -> Option<Self> {
        let Some(bytes) = bytes else {
            let has = |name: &str| path.join(name).is_file();
            return match () {
                () if has("info") && has("task.txt") => Some(Raw::Uftrace),
                () if has_perf_data(path) => Some(Raw::Perf),
                () if has_metadata(path, 0) => Some(Raw::Ctf),
                () => None,
            };
        };
        if PERF.iter().any(|magic| bytes.starts_with(magic)) {
            return Some(Raw::Perf);
        }
        if bytes.starts_with(TRACE_CMD) {
            return Some(Raw::TraceCmd);
        }
        let etl = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("etl"));
        etl.then_some(Raw::Etl)
    }

    /// What it is, and the command that makes text of it.
    fn tool(self, path: &Path) -> Option<(&'static str, Vec<OsString>)> {
        let (program, before, behind): (_, &[&str], &[&str]) = match self {
            // Data that was copied from a board is somebody else's.
            Raw::Perf => ("perf", &["script", "--force", "--input"], &[]),
            Raw::TraceCmd => ("trace-cmd", &["report", "-i"], &[]),
            Raw::Uftrace => ("uftrace", &["replay", "--data"], &["--demangle=no", "--no-pager"]),
            Raw::Ctf | Raw::Etl => return None,
        };
        let mut arguments: Vec<OsString> = before.iter().map(OsString::from).collect();
        arguments.push(path.into());
        arguments.extend(behind.iter().map(OsString::from));
        Some((program, arguments))
    }

    /// Calls the tool on what came by a pipe, and gives what it printed.
    pub(crate) fn text_of_pipe(self, path: &Path, bytes: &[u8]) -> anyhow::Result<Bytes> {
        let mut file = temporary()?;
        file.write_all(bytes).and_then(|()| file.flush()).with_context(|| {
            format!("cannot copy the trace {} to {}", path.display(), file.path().display())
        })?;
        self.text_of(file.path(), path)
    }

    /// Calls the tool, and gives what it printed.
    pub(crate) fn text(self, path: &Path) -> anyhow::Result<Bytes> {
        self.text_of(path, path)
    }

    /// The same of what is at `path` and is called `name` in messages.
    fn text_of(self, path: &Path, name: &Path) -> anyhow::Result<Bytes> {
        let Some((program, arguments)) = self.tool(path) else {
            return Err(self.refused(name).into());
        };
        let output = temporary()?;
        let job = Job::new(format!("making text of {}", name.display()), program).args(arguments);
        // Not its log: warnings of the tool are no lines of the trace.
        job.run_into(output.path())?;
        let bytes = Bytes::open(output.path());
        bytes.with_context(|| format!("cannot read what {program} printed of {}", name.display()))
    }

    fn refused(self, path: &Path) -> Failure {
        let path = path.display();
        match self {
            Raw::Etl => Failure::new(format!("{path} is a trace of Windows, which has no program of Linux in it"))
                .hint("record the program on Linux: perf record, uftrace record, or trimtab trace program"),
            _ => Failure::new(format!("{path} is a trace in the Common Trace Format, which trimtab does not read"))
                .hint(format!(
                    "babeltrace2 {path} prints it; make a list of the functions or addresses in it, one a line"
                )),
        }
    }
}

fn temporary() -> anyhow::Result<NamedTempFile> {
    let folder = std::env::temp_dir();
    tempfile::Builder::new()
        .prefix("trimtab-trace-")
        .tempfile_in(&folder)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn raw_traces_are_known_by_how_they_begin() {
        let file = Path::new("file");
        assert_eq!(Raw::of(file, Some(b"PERFILE2\x68\0\0\0")), Some(Raw::Perf));
        assert_eq!(Raw::of(file, Some(b"\x17\x08\x44tracing6\0")), Some(Raw::TraceCmd));
        assert_eq!(Raw::of(Path::new("a.ETL"), Some(b"\0\0\x01\0")), Some(Raw::Etl));
        assert_eq!(Raw::of(file, Some(b"main\n")), None);
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(Raw::of(at, None), None);
        // As LTTng lays out a session.
        fs::create_dir_all(at.join("ust/uid/1000/64-bit")).unwrap();
        assert_eq!(Raw::of(at, None), None);
        fs::write(at.join("ust/uid/1000/64-bit/metadata"), "/* CTF 1.8 */").unwrap();
        assert_eq!(Raw::of(at, None), Some(Raw::Ctf));
        assert_eq!(Raw::of(&at.join("ust/uid/1000/64-bit"), None), Some(Raw::Ctf));
        // As `perf record --threads` does.
        fs::write(at.join("data"), b"PERFILE2\x68\0\0\0").unwrap();
        assert_eq!(Raw::of(at, None), Some(Raw::Perf));
    }
}
