//! A linked program on disk.

use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::bytes::Bytes;
use trimtab_program::Program;

use crate::unreadable;

/// Where a program comes from.
const HINT: &str = "give the linked file with its symbols; for a kernel: vmlinux from the build \
                    directory";

/// A linked file, mapped into memory rather than read: of a kernel with debug information only a
/// small part is looked at.
#[derive(Debug)]
pub struct Elf {
    path: PathBuf,
    bytes: Bytes,
}

impl Elf {
    /// Maps the file.
    ///
    /// # Errors
    /// That it is not there, is no file, or may not be read.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let bytes = Bytes::open(path).map_err(|error| unreadable("program", path, &error, HINT))?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's content.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Reads its sections and functions.
    ///
    /// # Errors
    /// Whatever [`trimtab_program::ReadError`] lists, with the file's name.
    pub fn program(&self) -> anyhow::Result<Program<'_>> {
        Program::parse(self.bytes()).with_context(|| self.path.display().to_string())
    }
}
