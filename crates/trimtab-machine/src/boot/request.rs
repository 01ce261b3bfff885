//! What to boot, and how.

use super::{Device, Disk, Hardware};
use crate::qemu::Qemu;
use std::path::PathBuf;
use std::time::Duration;

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
}

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
    /// Modules to load before the workload, in this order, by the names of their files without `.ko`. The
    /// guest's root has to [have them](crate::guest::modules).
    pub modules: Vec<String>,
    /// Name of the workload to run; none: the machine ends once it is up.
    pub workload: Option<String>,
    /// Kernel arguments to add; they come last, so they win.
    pub arguments: Vec<String>,
    /// Who watches.
    pub tracers: Tracers,
    /// Folder for `console.log` and the traces; made if it is not there. One for each boot.
    pub folder: PathBuf,
    /// How long it may take. [`BootRequest::LIMIT`] is plenty for anything but a full ftrace.
    pub limit: Duration,
}

impl BootRequest {
    /// Where the plugin writes its trace: there even if the guest does not end as ours does.
    pub fn plugin_trace(&self) -> PathBuf {
        self.folder.join("plugin.trace")
    }

    /// Where the plugin writes its stream, if it does.
    pub fn plugin_stream(&self) -> PathBuf {
        self.folder.join("plugin.stream")
    }

    /// A limit that a small guest on a busy machine keeps.
    pub const LIMIT: Duration = Duration::from_secs(120);

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
            modules: Vec::new(),
            workload: None,
            arguments: Vec::new(),
            tracers: Tracers::default(),
            folder: folder.into(),
            limit: Self::LIMIT,
        }
    }
}
