//! A text on disk: a linker's map, a trace or an order.

use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::bytes::Bytes;
use trimtab_link::OrderFile;
use trimtab_profile::{Trace, read};
use trimtab_program::LinkMap;

use crate::{RECORD_ONE, readable, unreadable};

/// A text file.
#[derive(Debug)]
pub struct Text {
    path: PathBuf,
    text: String,
}

impl Text {
    /// Reads the file; `what` and `hint` say in a failure what it should be and where it comes
    /// from. Bytes that are not UTF-8 are replaced: tools write names of any kind.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn read(path: &Path, what: &str, hint: &str) -> anyhow::Result<Self> {
        let bytes = Bytes::open(path).map_err(|error| unreadable(what, path, &error, hint))?;
        let text = readable(bytes.as_slice())
            .map_err(|error| unreadable(what, path, &error, hint))?
            .into_owned();
        Ok(Self { path: path.to_owned(), text })
    }

    /// Reads the file of a linker's map.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn of_map(path: &Path) -> anyhow::Result<Self> {
        Self::read(
            path,
            "linker's map",
            "have the linker write it: -Wl,-Map=FILE; for a kernel with trimtab's patch: vmlinux.map",
        )
    }

    /// Reads the file of an order.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn of_order(path: &Path) -> anyhow::Result<Self> {
        Self::read(path, "order", "write one with trimtab order")
    }

    /// Reads the file of a trace.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn of_trace(path: &Path) -> anyhow::Result<Self> {
        Self::read(path, "trace", RECORD_ONE)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its content.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text as a linker's map.
    ///
    /// # Errors
    /// Whatever [`trimtab_program::LinkMapError`] lists, with the file's name.
    pub fn link_map(&self) -> anyhow::Result<LinkMap<'_>> {
        LinkMap::parse(&self.text).with_context(|| self.path.display().to_string())
    }

    /// The text as a trace.
    ///
    /// # Errors
    /// Whatever [`trimtab_profile::TraceError`] lists, with the file's name.
    pub fn trace(&self) -> anyhow::Result<Trace> {
        read::read(&self.text).with_context(|| self.path.display().to_string())
    }

    /// The text as an order.
    ///
    /// # Errors
    /// Whatever [`trimtab_link::OrderFileError`] lists, with the file's name.
    pub fn order(&self) -> anyhow::Result<OrderFile> {
        OrderFile::parse(&self.text).with_context(|| self.path.display().to_string())
    }
}
