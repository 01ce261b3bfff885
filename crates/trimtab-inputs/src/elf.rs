//! A linked program on disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use memmap2::Mmap;
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
    /// None where the file is empty, which cannot be mapped.
    bytes: Option<Mmap>,
}

impl Elf {
    /// Maps the file.
    ///
    /// # Errors
    /// That it is not there, is no file, or may not be read.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let map = || {
            let file = File::open(path)?;
            let data = file.metadata()?;
            if !data.is_file() {
                return Err(io::Error::other("it is not a file"));
            }
            if data.len() == 0 {
                return Ok(None);
            }
            // SAFETY: the mapping is private and never written to. Should another program change
            // the file meanwhile, what is read may be of either version; linkers do not do so, they
            // write a new file.
            unsafe { Mmap::map(&file) }.map(Some)
        };
        let bytes = map().map_err(|error| unreadable("program", path, &error, HINT))?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's content.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// Reads its sections and functions.
    ///
    /// # Errors
    /// Whatever [`trimtab_program::ReadError`] lists, with the file's name.
    pub fn program(&self) -> anyhow::Result<Program<'_>> {
        Program::parse(self.bytes()).with_context(|| self.path.display().to_string())
    }
}
