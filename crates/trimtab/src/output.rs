//! Results on standard output and in files.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use trimtab_lab::workdir::write_whole;

use crate::cli::Outputs;
use crate::failure::Failure;

/// Width of tables in columns where nothing else is known, so that output can be compared.
pub const WIDTH: u16 = 80;

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
    self::text(&text, file)
}

/// Fails where a result could not be written in the end, before hours of work for it.
///
/// # Errors
/// That a file's folder is not there, or that its name is a folder's.
pub fn require_places(outputs: &Outputs) -> anyhow::Result<()> {
    for file in [&outputs.json, &outputs.html].into_iter().flatten() {
        if is_standard_output(file) {
            continue;
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Failure::usage(format!(
                "cannot write {}: its folder is not there; make it, or give another name",
                file.display()
            ))
            .into());
        }
        if file.is_dir() {
            return Err(Failure::usage(format!(
                "cannot write {}: it is a folder; give the name of a file",
                file.display()
            ))
            .into());
        }
    }
    Ok(())
}

/// Writes text to a file, whole or not at all; to standard output for `-`.
///
/// # Errors
/// That it cannot be written.
pub fn text(text: &str, file: &Path) -> anyhow::Result<()> {
    if is_standard_output(file) {
        return print(text);
    }
    Ok(write_whole(file, text.as_bytes())?)
}

/// Gives a result to whom it was asked for: `json` to the file of `--json`, and the table to the
/// terminal, unless standard output is taken by the JSON.
///
/// # Errors
/// That something cannot be written.
pub fn result(outputs: &Outputs, json: &str, table: impl FnOnce() -> String) -> anyhow::Result<()> {
    if let Some(file) = &outputs.json {
        text(json, file)?;
        if is_standard_output(file) {
            return Ok(());
        }
    }
    print(&table())
}

/// Columns for a table that is worth a wide terminal; [`WIDTH`] where there is none.
pub fn width() -> u16 {
    let (_, columns) = console::Term::stdout().size_checked().unwrap_or((0, WIDTH));
    columns.clamp(60, 132)
}

/// Whether a file name means standard output.
pub fn is_standard_output(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// A line broken between words to [`WIDTH`] columns, all but its start indented.
pub fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > usize::from(WIDTH) {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        assert_eq!(wrapped("short line"), "short line\n");
        let long = format!("{} {} tail", "a".repeat(50), "b".repeat(40));
        let expected = format!("{}\n  {} tail\n", "a".repeat(50), "b".repeat(40));
        assert_eq!(wrapped(&long), expected);
        let word = "x".repeat(100);
        assert_eq!(wrapped(&word), format!("{word}\n"));
    }
}
