//! A trace on disk: text with first executions, a binary stream of all of them, or what a program with
//! probes recorded.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_profile::{Stream, Trace, read, stream};

use super::unreadable;
use crate::probe::Recordings;

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

    /// First executions.
    ///
    /// # Errors
    /// That it is in none of the formats, with the file's name.
    pub fn trace(&self) -> anyhow::Result<Trace> {
        if let Some(stream) = self.stream()? {
            return Ok(stream.trace());
        }
        let text = match Recordings::trace(&self.path, &self.bytes)? {
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
