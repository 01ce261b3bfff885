//! The jar.

use crate::error::JarError;
use crate::translate::Entry;
use std::io::{Cursor, Write};
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

/// A jar of these files that begins with the class `main`, if any. The same files give the same bytes: all
/// have the date 1980-01-01, the first that an archive can name.
///
/// # Errors
/// Where two files have one path, or what they hold is too large for an archive.
pub fn archive(main: Option<&str>, entries: &[Entry]) -> Result<Vec<u8>, JarError> {
    let fail = |error: &dyn std::fmt::Display| JarError::Archive(error.to_string());
    let main = main.map(|main| format!("Main-Class: {main}\r\n")).unwrap_or_default();
    let manifest = format!("Manifest-Version: 1.0\r\n{main}Created-By: trimtab\r\n\r\n");
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .unix_permissions(0o644)
        .last_modified_time(DateTime::default());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let first = ("META-INF/MANIFEST.MF", manifest.as_bytes());
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let rest = sorted.iter().map(|entry| (entry.path.as_str(), entry.bytes.as_slice()));
    for (path, bytes) in std::iter::once(first).chain(rest) {
        writer.start_file(path, options).map_err(|error| fail(&error))?;
        writer.write_all(bytes).map_err(|error| fail(&error))?;
    }
    let cursor = writer.finish().map_err(|error| fail(&error))?;
    Ok(cursor.into_inner())
}
