//! What boots kernels: the emulator, a guest and the tracing plugin.

mod parts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::boot::{Accelerator, BootRequest};
use crate::kernel::KernelImage;
use crate::qemu::Qemu;
use crate::qemu::parallel::ParallelQemu;
use crate::{Isa, Platform, guest, plugin};
use anyhow::Result;
use parts::{Busybox, Guest, WorkingAccelerator};
use trimtab_lab::cache::Key;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;

/// What boots kernels: the emulator, the guest and the tracing plugin.
#[derive(Debug)]
pub struct Testbed<'work> {
    work: &'work WorkDir,
    qemu: Qemu,
    guest: PathBuf,
    plugin: PathBuf,
    versions: BTreeMap<String, String>,
    key: Key,
    guest_key: Key,
    cached: bool,
    /// What runs boots that nobody watches; found out when the first is wanted.
    accelerator: OnceLock<Accelerator>,
}

impl<'work> Testbed<'work> {
    /// Finds the emulator, and builds guest and plugin if they have not been built. The guest's
    /// busybox is `busybox`, or one is found or downloaded.
    ///
    /// # Errors
    /// Missing tools, a compiler that fails, a busybox that cannot be had.
    pub fn prepare(work: &'work WorkDir, isa: Isa, busybox: Option<&Path>) -> Result<Self> {
        Self::prepare_with(work, isa, busybox, guest::Workload::all()?, &[])
    }

    /// The same with other workloads than the guest's own, and the programs of this machine that they need.
    ///
    /// # Errors
    /// As [`Testbed::prepare`].
    pub fn prepare_with(
        work: &'work WorkDir,
        isa: Isa,
        busybox: Option<&Path>,
        workloads: Vec<guest::Workload>,
        programs: &[PathBuf],
    ) -> Result<Self> {
        let files = guest::programs::files(programs)?;
        Self::prepare_files(work, isa, busybox, workloads, &files)
    }

    /// The same with these files, by their paths in the guest.
    ///
    /// # Errors
    /// As [`Testbed::prepare`].
    pub fn prepare_files(
        work: &'work WorkDir,
        isa: Isa,
        busybox: Option<&Path>,
        workloads: Vec<guest::Workload>,
        files: &BTreeMap<String, PathBuf>,
    ) -> Result<Self> {
        let qemu_tool = tools::find(isa.qemu())?;
        let qemu = Qemu::probe(&qemu_tool.path, isa)?;
        let gcc = tools::find("gcc")?;
        let guest_gcc = tools::find(isa.gcc())?;
        let busybox = match busybox {
            Some(path) => Busybox { path: path.to_owned(), version: "given".to_owned() },
            None => Busybox::find(work, isa)?,
        };

        let guest = work.get(&Guest {
            isa,
            gcc: &guest_gcc,
            busybox: &busybox.path,
            workloads: &workloads,
            files,
            hashes: work.hashes(),
        })?;
        let plugin = plugin::kept(work, &gcc)?;
        let key = Key::new("bench/1")
            .after(&guest.key)
            .after(&plugin.key)
            .field("qemu", qemu_tool.version_text());
        let guest_key =
            Key::new("boot/1").after(&guest.key).field("qemu", qemu_tool.version_text());
        let mut versions: BTreeMap<String, String> =
            [(isa.qemu(), &qemu_tool), ("gcc", &gcc), (isa.gcc(), &guest_gcc)]
                .map(|(name, tool)| (name.to_owned(), tool.version_text()))
                .into();
        versions.insert("busybox".to_owned(), busybox.version);
        Ok(Testbed {
            work,
            qemu,
            guest: guest.folder.join("guest.cpio.gz"),
            plugin: plugin.path,
            versions,
            key,
            guest_key,
            cached: guest.cached && plugin.cached,
            accelerator: OnceLock::new(),
        })
    }

    /// The same with a QEMU whose CPUs have a clock each.
    #[must_use]
    pub fn with_parallel_clock(self, qemu: &ParallelQemu) -> Self {
        let mut versions = self.versions;
        versions.insert("qemu".to_owned(), format!("{}, a clock for each CPU", qemu.version));
        let (key, guest_key) = (self.key.after(&qemu.key), self.guest_key.after(&qemu.key));
        Testbed { qemu: qemu.qemu.clone(), key, guest_key, versions, ..self }
    }

    /// Tools that boots depend on, with their versions.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// Whether an earlier run had prepared all of it.
    pub fn cached(&self) -> bool {
        self.cached
    }

    /// Finds out whether KVM really runs `kernel` here, for boots that nobody watches. Until then
    /// QEMU translates all of them. What was found is kept.
    ///
    /// # Errors
    /// What keeps a boot from being tried.
    pub fn try_kvm(&self, kernel: &KernelImage) -> Result<()> {
        let accelerator = self.work.get(&WorkingAccelerator { testbed: self, kernel })?.record;
        self.accelerator.get_or_init(|| accelerator);
        Ok(())
    }

    /// What runs boots that nobody watches.
    pub fn accelerator(&self) -> Accelerator {
        self.accelerator.get().copied().unwrap_or_default()
    }

    /// Where results are kept.
    pub fn work(&self) -> &'work WorkDir {
        self.work
    }

    /// The tracing plugin.
    pub fn plugin(&self) -> &Path {
        &self.plugin
    }

    /// What boots depend on, beside the kernel.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// What boots without the plugin that traces depend on, beside the kernel.
    pub fn guest_key(&self) -> &Key {
        &self.guest_key
    }

    /// A boot of `kernel`, of which all else is still to be said.
    pub fn request(&self, kernel: &KernelImage, folder: &Path) -> BootRequest {
        self.request_of(&kernel.image, folder)
    }

    /// The same of a bootable image.
    pub fn request_of(&self, image: &Path, folder: &Path) -> BootRequest {
        BootRequest::new(self.qemu.clone(), image, &self.guest, folder)
    }

    /// The guest's root.
    pub fn guest(&self) -> &Path {
        &self.guest
    }
}

/// The tools, as [`tools::all`] names them, that building, booting and tracing a kernel need on any
/// machine, in the order in which they are looked for. The kernel source can also be given, and is
/// looked for by itself.
const TOOLS: [&str; 14] = [
    "llvm", "gcc", "make", "flex", "bison", "bc", "perl", "python3", "patch", "cpio", "xz", "tar",
    "libelf", "libssl",
];

/// The guest's shell.
const BUSYBOX: &str = "busybox";

/// Fails at once where a tool is missing that building, booting and tracing a kernel would need only
/// after minutes. Another architecture has an emulator of its own, and a busybox that is no tool of
/// this machine.
///
/// # Errors
/// The first tool that is missing; a busybox that cannot run in the guest.
pub fn require_tools(isa: Isa, busybox: Option<&Path>) -> Result<()> {
    for tool in TOOLS {
        tools::find(tool)?;
    }
    tools::find(isa.qemu())?;
    match busybox {
        Some(path) => drop(guest::busybox::read(path, isa)?),
        None if isa.is_here() => drop(tools::find(BUSYBOX)?),
        None => {}
    }
    tools::find(isa.gcc())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_tools_says_that_fit_kernel_needs_these() {
        let needed: Vec<&str> = tools::all()
            .iter()
            .filter(|tool| tool.needed_by.contains(&"fit kernel"))
            .map(|tool| tool.name)
            .collect();
        assert_eq!(needed, [&TOOLS[..], &[Isa::X86_64.qemu(), BUSYBOX]].concat());
    }
}
