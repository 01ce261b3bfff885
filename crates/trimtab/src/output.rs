//! Results on standard output and in files.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use trimtab_lab::workdir::{copy_whole, write_whole};
use trimtab_report::Report;

use crate::arguments::Outputs;

/// Prints text. A reader that has seen enough (`trimtab ... | head`) is no error.
///
/// # Errors
/// That standard output cannot be written to.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Writes a value as JSON to a file, whole or not at all; to standard output for `-`.
///
/// # Errors
/// That it cannot be written.
pub fn json(value: &impl Serialize, file: &Path) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    text.push('\n');
    if is_standard_output(file) {
        return print(&text);
    }
    Ok(write_whole(file, text.as_bytes())?)
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// That it cannot be written.
pub fn whole(file: &Path, text: &str) -> anyhow::Result<()> {
    Ok(write_whole(file, text.as_bytes())?)
}

/// Copies a file that may not fit into memory, whole or not at all.
///
/// # Errors
/// That it cannot be read or written.
pub fn copy(from: &Path, file: &Path) -> anyhow::Result<()> {
    Ok(copy_whole(from, file)?)
}

/// Gives a result to whom it was asked for: `json` to the file of `--json`, and the table to the
/// terminal, unless standard output is taken by the JSON.
///
/// # Errors
/// That something cannot be written.
pub fn result(outputs: &Outputs, json: &str, table: impl FnOnce() -> String) -> anyhow::Result<()> {
    match &outputs.json {
        Some(file) if is_standard_output(file) => return print(json),
        Some(file) => whole(file, json)?,
        None => {}
    }
    print(&table())
}

/// Gives a report to whom it was asked for: the page to the file of `--html`, the rest as [`result`]
/// does.
///
/// # Errors
/// That something cannot be written.
pub fn report<R: Report>(outputs: &Outputs, report: &R) -> anyhow::Result<()> {
    if let Some(file) = &outputs.html {
        whole(file, &report.page())?;
    }
    result(outputs, &report.to_json(), || report.terminal(width()))
}

/// Columns of the terminal; 80 where there is none.
pub fn width() -> u16 {
    let (_, columns) = console::Term::stdout().size_checked().unwrap_or((0, 80));
    columns.clamp(60, 132)
}

/// Whether a file name means standard output.
pub fn is_standard_output(file: &Path) -> bool {
    file.as_os_str() == "-"
}
