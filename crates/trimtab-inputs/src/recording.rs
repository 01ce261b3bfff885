//! A trace on disk: text with first executions, a binary stream of all of them, or another format that
//! whoever opens it can read.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;
use trimtab_lab::bytes::{Bytes, STANDARD_INPUT};
use trimtab_profile::{Stream, Trace, read, stream};

use crate::raw::Raw;
use crate::{RECORD_ONE, readable, unreadable};

/// Reads one more format of traces, which `trimtab-profile` does not know: gives a trace in our own
/// form of a file's path and content, or none where it is no such file.
pub type Format = fn(&Path, &[u8]) -> anyhow::Result<Option<String>>;

/// A trace file.
#[derive(Debug, Clone)]
pub struct Recording {
    path: PathBuf,
    bytes: Rc<Bytes>,
}

impl Recording {
    /// Reads the file; `-` is standard input. Of what a tracer recorded, and its tool has made no text of
    /// yet, the tool that is installed makes it now.
    ///
    /// # Errors
    /// That it cannot be read, that the tool is not there or fails, or that there is no such tool.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let failed = |error: io::Error| unreadable("trace", path, &error, RECORD_ONE);
        let bytes = if path.as_os_str() == STANDARD_INPUT {
            text_of(path, Bytes::standard_input().map_err(failed)?)?
        } else if path.is_dir() {
            match Raw::of(path, None) {
                Some(raw) => raw.text(path)?,
                None => {
                    return Err(failed(io::Error::other("it is not a file, but a folder")).into());
                }
            }
        } else {
            text_of(path, Bytes::open(path).map_err(failed)?)?
        };
        Ok(Self { path: path.to_owned(), bytes: Rc::new(bytes) })
    }

    /// The file's content.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
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
            converted = format(&self.path, self.bytes())?;
            if converted.is_some() {
                break;
            }
        }
        let text = match converted {
            Some(text) => text.into(),
            // Names of commands in a trace can hold any byte.
            None => readable(self.bytes())
                .map_err(|error| unreadable("trace", &self.path, &error, ""))?,
        };
        read::read(&text).with_context(|| self.path.display().to_string())
    }

    /// All executions, where it has them.
    ///
    /// # Errors
    /// That it is a damaged stream, with the file's name.
    pub fn stream(&self) -> anyhow::Result<Option<Stream<'_>>> {
        if !stream::is_stream(self.bytes()) {
            return Ok(None);
        }
        Stream::parse(self.bytes()).map(Some).with_context(|| self.path.display().to_string())
    }
}

/// What was read, or the text that its tool makes of it.
fn text_of(path: &Path, bytes: Bytes) -> anyhow::Result<Bytes> {
    match Raw::of(path, Some(bytes.as_slice())) {
        Some(raw) if path.is_file() => raw.text(path),
        // A pipe is empty by now.
        Some(raw) => raw.text_of_pipe(path, bytes.as_slice()),
        None => Ok(bytes),
    }
}
