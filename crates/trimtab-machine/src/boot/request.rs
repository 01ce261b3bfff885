//! What to boot, and how.

use super::command::{self, Files};
use super::{Device, DeviceTree, Disk, Hardware, LockTracer, Traces, device_tree, limits, locks};
use crate::qemu::Qemu;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trimtab_lab::cache::{Hashes, Key};
use trimtab_lab::workdir::WorkError;

/// The plugin's stream, in the folder of a boot.
pub(super) const STREAM: &str = "plugin.stream";
/// What the guest writes to its outlet, in the folder of a boot.
pub const OUTLET: &str = "outlet";

/// Who watches a boot. Both can, and then see the same boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tracers {
    /// Our QEMU plugin, at this path; see [`plugin::build`](crate::plugin::build). It also counts
    /// instructions.
    pub plugin: Option<PathBuf>,
    /// Whether the plugin also writes a stream of every block that runs.
    pub stream: bool,
    /// The kernel's function tracer.
    pub ftrace: Option<Ftrace>,
    /// Our plugin that watches locks.
    pub locks: Option<LockTracer>,
    /// Our plugin that has the model of a core.
    pub core: Option<CoreTracer>,
}

/// Our QEMU plugin that puts what the kernel executes through the model of a core; what it writes is described in
/// `qemu/trimtab_core.c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreTracer {
    /// The plugin; see [`plugin::kept_core`](crate::plugin::kept_core).
    pub plugin: PathBuf,
    /// What that depends on.
    pub key: Key,
    /// Its arguments, but for where it writes and where the kernel's half of addresses begins.
    pub arguments: String,
}

/// What it writes, in the folder of a boot.
pub(super) const CORE: &str = "core.counts";

/// The kernel's function tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ftrace {
    /// Size of the buffer of each CPU in MiB. The guest gets that much memory more.
    pub buffer_mib: u32,
}

impl Default for Ftrace {
    /// Room for about nine million calls on each CPU.
    fn default() -> Self {
        Ftrace { buffer_mib: 256 }
    }
}

/// What to boot, and how.
#[derive(Debug, Clone)]
pub struct BootRequest {
    /// The emulator.
    pub qemu: Qemu,
    /// The kernel image: a bzImage, or a vmlinux with PVH entry; for arm64 an Image or Image.gz.
    pub kernel: PathBuf,
    /// The guest's root; see [`guest::build`](crate::guest::build).
    pub initramfs: PathBuf,
    /// The hardware.
    pub hardware: Hardware,
    /// Its disks, in the order of their names in the guest: an image is `/dev/vda` and so on.
    pub disks: Vec<Disk>,
    /// What else is plugged in.
    pub devices: Vec<Device>,
    /// What its device tree has beside that which QEMU gives it; arm64 alone has one.
    pub device_tree: Option<DeviceTree>,
    /// Modules to load before the workload, in this order, by the names of their files without `.ko`. The
    /// guest's root has to [have them](crate::guest::modules).
    pub modules: Vec<String>,
    /// Name of the workload to run; none: the machine ends once it is up.
    pub workload: Option<String>,
    /// Kernel arguments to add; they come last, so they win.
    pub arguments: Vec<String>,
    /// Whether programs begin at the same addresses in each boot. Where a program's stack begins decides how many
    /// pages of it are touched: drawn by chance, that differs between boots that are compared.
    pub same_addresses: bool,
    /// Who watches.
    pub tracers: Tracers,
    /// Whether what the workload writes to [`Platform::outlet`](crate::Platform::outlet) is kept, in
    /// [`BootRequest::outlet_file`]. The function tracer's trace goes there otherwise: not both.
    pub outlet: bool,
    /// Folder for `console.log` and the traces; made if it is not there. One for each boot.
    pub folder: PathBuf,
    /// How long it may take, as [`limits`] has it for each kind of boot.
    pub limit: Duration,
}

impl BootRequest {
    /// Where the plugin writes its trace: there even if the guest does not end as ours does.
    pub fn plugin_trace(&self) -> PathBuf {
        self.folder.join("plugin.trace")
    }

    /// Where the plugin writes its stream, if it does.
    pub fn plugin_stream(&self) -> PathBuf {
        self.folder.join(STREAM)
    }

    /// Where the plugin writes that watches locks, if it does.
    pub fn locks_trace(&self) -> PathBuf {
        self.folder.join(locks::LOCKS)
    }

    /// Where the plugin writes that has the model of a core, if it does.
    pub fn core_counts(&self) -> PathBuf {
        self.folder.join(CORE)
    }

    /// Where what the guest writes to its outlet is, if it has one.
    pub fn outlet_file(&self) -> PathBuf {
        self.folder.join(OUTLET)
    }

    /// A boot of `kernel` with `initramfs` on the default machine, without a workload and untraced.
    pub fn new(
        qemu: Qemu,
        kernel: impl Into<PathBuf>,
        initramfs: impl Into<PathBuf>,
        folder: impl Into<PathBuf>,
    ) -> Self {
        BootRequest {
            qemu,
            kernel: kernel.into(),
            initramfs: initramfs.into(),
            hardware: Hardware::default(),
            disks: Vec::new(),
            devices: Vec::new(),
            device_tree: None,
            modules: Vec::new(),
            workload: None,
            arguments: Vec::new(),
            same_addresses: false,
            tracers: Tracers::default(),
            outlet: false,
            folder: folder.into(),
            limit: limits::SMALL_GUEST,
        }
    }

    /// The file behind the second console, which is the function tracer's or the workload's.
    pub(super) fn out_file(&self, folder: &Path) -> Option<PathBuf> {
        match self.tracers.ftrace {
            Some(_) => Some(folder.join("ftrace.txt")),
            None => self.outlet.then(|| folder.join(OUTLET)),
        }
    }

    pub(super) fn files<'a>(&'a self, traces: &'a Traces) -> Files<'a> {
        Files {
            kernel: &self.kernel,
            initramfs: &self.initramfs,
            plugin: self.tracers.plugin.as_deref(),
            locks: self.tracers.locks.as_ref().map(|locks| locks.plugin.as_path()),
            core: self.tracers.core.as_ref().map(|core| core.plugin.as_path()),
            device_tree: None,
            images: self.disks.iter().filter_map(Disk::image).collect(),
            traces,
        }
    }

    /// What the boot depends on: QEMU's arguments, where all files have the same names wherever they are,
    /// the steps that made the kernel, and the guest's root, plugin and emulator, and what is on its disks.
    ///
    /// # Errors
    /// If the image of a disk cannot be read.
    pub fn key(&self, kernel: &Key, rest: &Key, hashes: &Hashes) -> Result<Key, WorkError> {
        let traces = Traces {
            plugin: "plugin.trace".into(),
            stream: self.tracers.stream.then(|| STREAM.into()),
            locks: self.tracers.locks.as_ref().map(|_| locks::LOCKS.into()),
            core: self.tracers.core.as_ref().map(|_| CORE.into()),
            out: self.out_file(Path::new("")),
        };
        let images: Vec<&Path> = self.disks.iter().filter_map(Disk::image).collect();
        let files = Files {
            kernel: Path::new("kernel"),
            initramfs: Path::new("root"),
            plugin: self.tracers.plugin.as_ref().map(|_| Path::new("plugin")),
            locks: self.tracers.locks.as_ref().map(|_| Path::new("plugin-locks")),
            core: self.tracers.core.as_ref().map(|_| Path::new("plugin-core")),
            device_tree: self.device_tree.as_ref().map(|_| device_tree::name()),
            images: images.iter().map(|_| Path::new("image")).collect(),
            traces: &traces,
        };
        let arguments = command::arguments(self, &files).join(&OsString::from("\0"));
        let mut key = Key::new("boot-request/1")
            .after(kernel)
            .after(rest)
            .bytes("arguments", arguments.as_encoded_bytes());
        if let Some(tree) = &self.device_tree {
            key = key.field("device tree", tree.source());
        }
        if let Some(locks) = &self.tracers.locks {
            key = key.after(&locks.key);
        }
        if let Some(core) = &self.tracers.core {
            key = key.after(&core.key);
        }
        (1..).zip(images).try_fold(key, |key, (number, image)| {
            key.file(&format!("image {number}"), image, hashes)
        })
    }
}
