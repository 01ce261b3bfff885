//! A trace on disk: text with first executions, a binary stream of all of them, or another format that
//! whoever opens it can read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_profile::{Stream, Trace, read, stream};

use crate::unreadable;

/// Reads one more format of traces, which `trimtab-profile` does not know: gives a trace in our own
/// form of a file's path and content, or none where it is no such file.
pub type Format = fn(&Path, &[u8]) -> anyhow::Result<Option<String>>;

/// A trace file.
#[derive(Debug, Clone)]
pub struct Recording {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Recording {
    /// Reads the file.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let hint = "record one with trimtab trace, ftrace or perf";
        let bytes = fs::read(path).map_err(|error| unreadable("trace", path, &error, hint))?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// The file's content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// First executions. `formats` are tried before those that `trimtab-profile` reads.
    ///
    /// # Errors
    /// That it is in none of the formats, with the file's name.
    pub fn trace(&self, formats: &[Format]) -> anyhow::Result<Trace> {
        if let Some(stream) = self.stream()? {
            return Ok(stream.trace());
        }
        let mut converted = None;
        for format in formats {
            converted = format(&self.path, &self.bytes)?;
            if converted.is_some() {
                break;
            }
        }
        let text = match converted {
            Some(text) => text.into(),
            // Names of commands in a trace can hold any byte.
            None => String::from_utf8_lossy(&self.bytes),
        };
        read::read(&text).with_context(|| self.path.display().to_string())
    }

    /// All executions, where it has them.
    ///
    /// # Errors
    /// That it is a damaged stream, with the file's name.
    pub fn stream(&self) -> anyhow::Result<Option<Stream<'_>>> {
        if !stream::is_stream(&self.bytes) {
            return Ok(None);
        }
        Stream::parse(&self.bytes).map(Some).with_context(|| self.path.display().to_string())
    }
}
