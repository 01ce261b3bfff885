//! Checks that a boot's trace is there and whole.

use super::{Blocks, BootError, Calls, Ftrace, Instructions, Report};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// Reads the numbers at the head of the plugin's trace.
pub(super) fn blocks(path: PathBuf, log: &Path) -> Result<Blocks, BootError> {
    let instructions = instructions(&path, log)?;
    Ok(Blocks { path, instructions })
}

fn instructions(path: &Path, log: &Path) -> Result<Instructions, BootError> {
    let missing = |reason: &str| BootError::NoTrace {
        path: path.to_owned(),
        reason: reason.to_owned(),
        log: log.to_owned(),
    };
    let file_error = |source| BootError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => missing("the plugin did not write it, and says why on the console"),
        _ => file_error(source),
    })?;
    let mut found = Instructions::default();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(file_error)?;
        if line == "events" {
            return Ok(found);
        }
        let Some((key, value)) = line.split_once(' ') else { continue };
        let number = match key {
            "instructions" => &mut found.total,
            "instructions-early" => &mut found.early,
            "instructions-kernel" => &mut found.kernel,
            "instructions-user" => &mut found.user,
            _ => continue,
        };
        *number = value.parse().map_err(|_| missing("its head has a number that is none"))?;
    }
    Err(missing("it has no line `events`"))
}

/// Compares the function tracer's trace with what the guest said of it.
pub(super) fn calls(
    path: PathBuf,
    report: &Report,
    tracer: Ftrace,
    log: &Path,
) -> Result<Calls, BootError> {
    let missing =
        |reason: String| BootError::NoTrace { path: path.clone(), reason, log: log.to_owned() };
    let Some(ftrace) = report.ftrace else {
        return Err(missing(match report.errors.as_slice() {
            [] => "the guest said nothing of it".to_owned(),
            errors => {
                format!("{} (does this kernel have CONFIG_FUNCTION_TRACER?)", errors.join("; "))
            }
        }));
    };
    if ftrace.calls == 0 {
        let reason = "the function tracer recorded no call (does this kernel have \
                      CONFIG_FUNCTION_TRACER?)";
        return Err(missing(reason.to_owned()));
    }
    if ftrace.lost > 0 {
        return Err(BootError::CallsLost {
            calls: ftrace.calls,
            lost: ftrace.lost,
            buffer_mib: tracer.buffer_mib,
        });
    }
    let file_error = |source| BootError::File { path: path.clone(), source };
    let mut events = 0;
    for line in BufReader::new(File::open(&path).map_err(file_error)?).split(b'\n') {
        let line = line.map_err(file_error)?;
        if !line.is_empty() && !line.starts_with(b"#") {
            events += 1;
        }
    }
    if events != ftrace.functions {
        return Err(missing(format!(
            "it has {events} events, and the guest sent {}",
            ftrace.functions
        )));
    }
    Ok(Calls { path, calls: ftrace.calls, functions: ftrace.functions })
}
