//! What boots kernels: the emulator, a guest and the tracing plugin.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::boot::{Accelerator, BootRequest, accelerator_that_works};
use crate::kernel::KernelImage;
use crate::qemu::Qemu;
use crate::{Isa, Platform, guest, plugin};
use anyhow::{Context, Result};
use trimtab_lab::cache::Key;
use trimtab_lab::tools;
use trimtab_lab::workdir::{Step, WorkDir};

/// Kept where it was tried what runs a guest: its name.
const ACCELERATOR: &str = "accelerator";

/// Kept beside a busybox that was downloaded: its package's version.
const VERSION: &str = "version";

/// What boots kernels: the emulator, the guest and the tracing plugin.
#[derive(Debug)]
pub struct Testbed<'work> {
    work: &'work WorkDir,
    qemu: Qemu,
    guest: PathBuf,
    plugin: PathBuf,
    versions: BTreeMap<String, String>,
    key: Key,
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

    /// The same with other workloads than the guest's own, and the tools that they need.
    ///
    /// # Errors
    /// As [`Testbed::prepare`].
    pub fn prepare_with(
        work: &'work WorkDir,
        isa: Isa,
        busybox: Option<&Path>,
        workloads: Vec<guest::Workload>,
        programs: &[&str],
    ) -> Result<Self> {
        let qemu_tool = tools::find(isa.qemu())?;
        let qemu = Qemu::probe(&qemu_tool.path, isa)?;
        let gcc = tools::find("gcc")?;
        let guest_gcc = tools::find(isa.gcc())?;
        let busybox = match busybox {
            Some(path) => Busybox { path: path.to_owned(), version: "given".to_owned() },
            None => Busybox::find(work, isa)?,
        };

        let mut guest_key = Key::new("guest/3")
            .field("arch", isa.kbuild())
            .file("busybox", &busybox.path, work.hashes())?
            .field("gcc", guest_gcc.version_text());
        for (name, text) in guest::init_sources() {
            guest_key = guest_key.bytes(name, text.as_bytes());
        }
        for workload in &workloads {
            guest_key = guest_key.bytes(&workload.name, workload.script.as_bytes());
        }
        let programs = programs.iter().map(|name| Ok(tools::find(name)?.path));
        let programs = programs.collect::<Result<Vec<PathBuf>>>()?;
        let files = guest::programs::files(&programs)?;
        for (name, path) in &files {
            guest_key = guest_key.file(name, path, work.hashes())?;
        }
        let mut cached = true;
        let guest = match work.step("guest", &guest_key)? {
            Step::Done(path) => path,
            Step::Todo(building) => {
                cached = false;
                let folder = building.path();
                guest::build(isa, &guest_gcc.path, &busybox.path, &workloads, &files, folder)?;
                building.finish()?
            }
        };
        let plugin = plugin::kept(work, &gcc)?;
        cached &= plugin.cached;
        let key = Key::new("bench/1")
            .after(&guest_key)
            .after(&plugin.key)
            .field("qemu", qemu_tool.version_text());
        let mut versions: BTreeMap<String, String> =
            [(isa.qemu(), &qemu_tool), ("gcc", &gcc), (isa.gcc(), &guest_gcc)]
                .map(|(name, tool)| (name.to_owned(), tool.version_text()))
                .into();
        versions.insert("busybox".to_owned(), busybox.version);
        Ok(Testbed {
            work,
            qemu,
            guest: guest.join("guest.cpio.gz"),
            plugin: plugin.path,
            versions,
            key,
            cached,
            accelerator: OnceLock::new(),
        })
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
        let key = Key::new("accelerator/1").after(&kernel.key).after(&self.key);
        let folder = match self.work.step("accelerator", &key)? {
            Step::Done(folder) => folder,
            Step::Todo(building) => {
                let request = BootRequest::new(
                    self.qemu.clone(),
                    &kernel.image,
                    &self.guest,
                    building.path(),
                );
                let found = match accelerator_that_works(&request)? {
                    Accelerator::Kvm => "kvm",
                    Accelerator::Tcg => "tcg",
                };
                let path = building.path().join(ACCELERATOR);
                fs::write(&path, found)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                building.finish()?
            }
        };
        let path = folder.join(ACCELERATOR);
        let found =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let accelerator = if found == "kvm" { Accelerator::Kvm } else { Accelerator::Tcg };
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

    /// A boot of `kernel`, of which all else is still to be said.
    pub fn request(&self, kernel: &KernelImage, folder: &Path) -> BootRequest {
        BootRequest::new(self.qemu.clone(), &kernel.image, &self.guest, folder)
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
/// The first tool that is missing.
pub fn require_tools(isa: Isa, busybox: Option<&Path>) -> Result<()> {
    for tool in TOOLS {
        tools::find(tool)?;
    }
    tools::find(isa.qemu())?;
    if busybox.is_none() && isa.is_here() {
        tools::find(BUSYBOX)?;
    }
    tools::find(isa.gcc())?;
    Ok(())
}

/// What the guest's shell and commands are.
struct Busybox {
    path: PathBuf,
    version: String,
}

impl Busybox {
    /// The one that is installed, or where that is for another architecture the one in Debian's
    /// package, which is kept.
    fn find(work: &WorkDir, isa: Isa) -> Result<Self> {
        if let Some(found) = guest::busybox::installed(isa)? {
            return Ok(Busybox { version: found.version_text(), path: found.path });
        }
        let key = Key::new("busybox/1").field("arch", isa.kbuild());
        let folder = match work.step("busybox", &key)? {
            Step::Done(folder) => folder,
            Step::Todo(building) => {
                let (_, version) = guest::busybox::fetch(isa, building.path())?;
                let path = building.path().join(VERSION);
                fs::write(&path, version)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                building.finish()?
            }
        };
        let path = folder.join(VERSION);
        let version =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Busybox { path: folder.join("busybox"), version })
    }
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
            .filter(|name| !name.starts_with("linux-source"))
            .collect();
        assert_eq!(needed, [&TOOLS[..], &[Isa::X86_64.qemu(), BUSYBOX]].concat());
    }
}
