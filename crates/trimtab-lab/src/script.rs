//! Scripts that can be started as soon as they are written.

use std::io;
use std::path::Path;

use crate::process::{Job, ProcessError};

/// Writes the script whose name is its first argument.
const WRITE: &str = "cat > \"$0\" && chmod 755 \"$0\"";

/// Writes an executable script, in place of what is at `path`.
///
/// Another process does it. The system refuses to start a file that anybody has open for writing
/// (`ETXTBSY`); were it this process, so would have each child that another thread starts
/// meanwhile, until it runs its own program.
///
/// # Errors
/// That it cannot be written or made executable.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let job = Job::new("writing a script", "/bin/sh").args(["-c", WRITE]).arg(path).input(text);
    job.run().map(drop).map_err(|error| match error {
        ProcessError::Failed { tail, .. } => io::Error::other(tail.lines.join(" ")),
        error => io::Error::other(error),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_stands_in_the_way_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("none/script"), "text").unwrap_err().to_string();
        assert!(error.contains("none/script"), "{error}");
    }

    #[test]
    fn a_script_starts_while_other_threads_start_programs() {
        let folder = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        // With something to do before it runs, as the lab's own children have.
                        Command::new("true").current_dir("/").process_group(0).status().unwrap();
                    }
                });
            }
            let path = folder.path().join("script");
            let failure = (0..150).find_map(|number| {
                write(&path, &format!("#!/bin/sh\nexit {}\n", number % 2)).unwrap();
                let status = Command::new(&path).status();
                (!status.as_ref().is_ok_and(|status| status.code() == Some(number % 2)))
                    .then_some((number, status))
            });
            done.store(true, Ordering::Relaxed);
            assert!(failure.is_none(), "{failure:?}");
        });
    }
}
