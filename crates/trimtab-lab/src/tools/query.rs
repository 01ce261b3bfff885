//! Asks a tool for its version, with a time limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use nix::libc;

use crate::process::{Job, ProcessError};

/// How long a tool may take to say its version. Ten seconds is far more than any needs, even on a
/// loaded machine with a cold disk.
const LIMIT: Duration = Duration::from_secs(10);

/// What the tool prints on both outputs, at most 4 KiB. The exit status does not matter: some
/// tools fail when asked and yet say it.
///
/// # Errors
/// That it could not be started, or took too long.
pub(super) fn ask(path: &Path, arguments: &[&str]) -> io::Result<String> {
    ask_within(path, arguments, LIMIT)
}

fn ask_within(path: &Path, arguments: &[&str], limit: Duration) -> io::Result<String> {
    // A file rather than pipes: nothing blocks, not even where the tool leaves a child behind that
    // holds the output open.
    let log = tempfile::NamedTempFile::new()?;
    let job = Job::new("asking for a version", path).args(arguments).log(log.path());
    match job.any_status().limit(limit).run() {
        Ok(_) => read_start(log.path()),
        Err(ProcessError::TimeLimit { limit, .. }) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("nothing within {} s", limit.as_secs_f64()),
        )),
        Err(ProcessError::Start { source, .. }) => Err(source),
        Err(ProcessError::NotFound { .. }) => Err(io::Error::from_raw_os_error(libc::ENOENT)),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn read_start(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(4096).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn reads_both_outputs_and_forgives_failure() {
        let said = ask(Path::new("/bin/sh"), &["-c", "echo one; echo two >&2; exit 3"]);
        assert_eq!(said.unwrap(), "one\ntwo\n");
    }

    #[test]
    fn gives_up_on_a_tool_that_hangs() {
        let start = Instant::now();
        let limit = Duration::from_millis(50);
        let error = ask_within(Path::new("/bin/sh"), &["-c", "exec sleep 20"], limit).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn says_that_it_could_not_be_started() {
        assert!(ask(Path::new("/nonexistent/tool"), &[]).is_err());
    }
}
