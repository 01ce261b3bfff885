//! The parts of a testbed that are made once and kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use trimtab_lab::cache::{Hashes, Key};
use trimtab_lab::tools::FoundTool;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};

use super::Testbed;
use crate::boot::{Accelerator, accelerator_that_works};
use crate::kernel::KernelImage;
use crate::{Isa, Platform, guest};

/// The guest's root.
pub(super) struct Guest<'a> {
    pub isa: Isa,
    /// The compiler of its init.
    pub gcc: &'a FoundTool,
    pub busybox: &'a Path,
    pub workloads: &'a [guest::Workload],
    /// Other files, by their paths in the guest.
    pub files: &'a BTreeMap<String, PathBuf>,
    pub hashes: &'a Hashes,
}

impl KeptStep for Guest<'_> {
    const KIND: &'static str = "guest";
    const VERSION: u32 = 3;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let mut key = key
            .field("arch", self.isa.kbuild())
            .file("busybox", self.busybox, self.hashes)?
            .field("gcc", self.gcc.version_text());
        for (name, text) in guest::init_sources() {
            key = key.bytes(name, text.as_bytes());
        }
        for workload in self.workloads {
            key = key.bytes(&workload.name, workload.script.as_bytes());
        }
        self.files.iter().try_fold(key, |key, (name, path)| key.file(name, path, self.hashes))
    }

    fn make(&self, at: &Path) -> Result<()> {
        let Guest { isa, gcc, busybox, workloads, files, .. } = self;
        guest::build(*isa, &gcc.path, busybox, workloads, files, at)?;
        Ok(())
    }
}

/// What runs a kernel where nobody watches it: found out by trying.
pub(super) struct WorkingAccelerator<'a> {
    pub testbed: &'a Testbed<'a>,
    pub kernel: &'a KernelImage,
}

impl KeptStep for WorkingAccelerator<'_> {
    const KIND: &'static str = "accelerator";
    const VERSION: u32 = 2;
    type Record = Accelerator;
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(key.after(&self.kernel.key).after(self.testbed.key()))
    }

    fn make(&self, at: &Path) -> Result<Accelerator> {
        Ok(accelerator_that_works(&self.testbed.request(self.kernel, at))?)
    }
}

/// What the guest's shell and commands are.
pub(super) struct Busybox {
    pub path: PathBuf,
    pub version: String,
}

impl Busybox {
    /// The one that is installed, or where that is for another architecture the one in Debian's
    /// package, which is kept.
    pub fn find(work: &WorkDir, isa: Isa) -> Result<Self> {
        if let Some(found) = guest::busybox::installed(isa)? {
            return Ok(Busybox { version: found.version_text(), path: found.path });
        }
        let found = work.get(&PackagedBusybox { isa })?;
        Ok(Busybox { path: found.folder.join("busybox"), version: found.record })
    }
}

/// The busybox in Debian's package for an architecture; its record is the package's version.
struct PackagedBusybox {
    isa: Isa,
}

impl KeptStep for PackagedBusybox {
    const KIND: &'static str = "busybox";
    const VERSION: u32 = 2;
    type Record = String;
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(key.field("arch", self.isa.kbuild()))
    }

    fn make(&self, at: &Path) -> Result<String> {
        Ok(guest::busybox::fetch(self.isa, at)?.1)
    }
}
