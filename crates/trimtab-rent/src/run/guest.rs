//! The guest in which devices lend memory: its kernel, its disk, and what runs in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use include_dir::{Dir, include_dir};
use trimtab_lab::observe::Observe;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::boot::{
    Clock, DeviceTree, Disk, KeptRequest, NullBlock, OUTLET, Tests, complaints, limits,
};
use trimtab_machine::calls::Said;
use trimtab_machine::guest::Workload;
use trimtab_machine::guest::compiled::CompiledProgram;
use trimtab_machine::kernel::{BuildInputs, GeneratedFiles, KernelImage, Toolchain};
use trimtab_machine::testbed::Testbed;
use trimtab_machine::{Isa, Platform};

use super::basis::Basis;
use super::disk::DiskProfile;
use super::filesystem;
use super::kernel::Kernel;
use crate::arm::{Arm, DeviceMemory};

/// Beside its configuration: file systems, counters of memory, and the allocator that is usual.
const LINES: &str = "\
CONFIG_EXT4_FS=y
CONFIG_VFAT_FS=y
CONFIG_NLS=y
CONFIG_NLS_CODEPAGE_437=y
CONFIG_NLS_ISO8859_1=y
CONFIG_SYSCTL=y
CONFIG_PROC_SYSCTL=y
CONFIG_VM_EVENT_COUNTERS=y
CONFIG_ADVISE_SYSCALLS=y
CONFIG_AIO=y
CONFIG_FILE_LOCKING=y
CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y
CONFIG_PRINTK_TIME=y
# CONFIG_SLUB_TINY is not set
";
/// What the kernel, its tables and the guest's root take of the guest's memory, in MiB.
const OVERHEAD_MIB: u32 = 44;
/// Programs of ours in the guest.
pub const PROGRAMS: [&str; 6] = ["fileio", "heap", "returns", "rounds", "starts", "verify"];
/// The root may take more than half of the memory.
const LARGE_ROOT: &[&str] = &["rootfstype=ramfs"];
/// A processor of which the kernel knows that `rep movsq` is the fastest way to copy a page, as it is on PCs for long:
/// fewer instructions than those of the loop that it has for others.
const FAST_COPIES: &str = "qemu64,vendor=GenuineIntel,family=6";
/// Size of the disk.
pub(super) const DISK_GIB: u32 = 1;

static SOURCES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../guest/rent");

/// What a guest is made of.
#[derive(Debug, Clone)]
pub struct GuestRequest<'a> {
    /// Which kernel.
    pub basis: &'a Basis,
    /// More lines of its configuration, which win.
    pub lines: &'a str,
    /// What may run in it, by name: shell commands, with `/disk` mounted.
    pub scripts: Vec<(String, String)>,
    /// More files, by their paths in it.
    pub files: BTreeMap<String, PathBuf>,
}

/// A boot to do.
#[derive(Debug, Clone)]
pub struct BootOf<'a> {
    /// What becomes of the devices' memory.
    pub arm: Arm,
    /// The devices.
    pub devices: &'a [DeviceMemory],
    /// Which of the scripts.
    pub script: &'a str,
    /// Memory for all but the kernel, the devices and the disk, in MiB.
    pub normal_mib: u32,
    /// How much of the disk will be used, which is memory, too, in MiB.
    pub used_mib: u32,
    /// The disk.
    pub disk: DiskProfile,
    /// CPUs. With one, an instruction takes a nanosecond and each boot is like the one before; more run at the
    /// same time, and only show races.
    pub cpus: u32,
    /// More arguments of the kernel.
    pub arguments: Vec<String>,
    /// Whether what it writes to its second serial port is kept; see [`Ran::outlet`].
    pub outlet: bool,
    /// More of the device tree of an arm64 guest, in source form; see [`DeviceTree`].
    pub device_tree: Option<&'a str>,
}

/// What a guest said, and where it did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// By topic and name.
    pub said: Said,
    /// Tests of the kernel that ran in it.
    pub tests: Tests,
    /// Its console's log.
    pub console: PathBuf,
}

impl Ran {
    /// What it wrote to its second serial port, if that was kept.
    pub fn outlet(&self) -> PathBuf {
        self.console.with_file_name(OUTLET)
    }

    /// A number that the guest said.
    ///
    /// # Errors
    /// It did not say it.
    pub fn number(&self, topic: &str, name: &str) -> Result<u64> {
        let value = self.said.get(topic).and_then(|topic| topic.get(name));
        value.and_then(|value| value.parse().ok()).with_context(|| {
            format!("the guest did not say {topic} {name}: see {}", self.console.display())
        })
    }

    /// How long it takes to clear (`clear_ns`) or to copy (`copy_ns`) a page there, in nanoseconds.
    ///
    /// # Errors
    /// It did not say it.
    pub fn page_ns(&self, what: &str) -> Result<f64> {
        // Its kernel measures a thousand.
        Ok(self.number("pages", what)? as f64 / 1e3)
    }

    /// The same as [`Ran::number`], or 0 where nothing is counted.
    pub fn number_or_zero(&self, topic: &str, name: &str) -> u64 {
        self.number(topic, name).unwrap_or(0)
    }
}

/// A guest, ready to boot.
#[derive(Debug)]
pub struct Guest<'work> {
    testbed: Testbed<'work>,
    kernel: KernelImage,
    /// Arguments of its kernel for all boots.
    arguments: &'static [&'static str],
    /// The release of its kernel.
    pub kernel_version: String,
}

impl<'work> Guest<'work> {
    /// Builds the kernel and the guest's root, or finds what an earlier run built.
    ///
    /// # Errors
    /// Missing tools, builds that fail.
    pub fn build(
        work: &'work WorkDir,
        request: &GuestRequest<'_>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        Self::build_with(work, request, Kernel::Rental(&[]), observe)
    }

    /// The same of another kernel.
    pub(super) fn build_with(
        work: &'work WorkDir,
        request: &GuestRequest<'_>,
        kernel: Kernel<'_>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let isa = request.basis.isa;
        let gcc = tools::find(isa.gcc())?;
        let mut files = filesystem::files(work)?;
        let more = request.files.iter().map(|(name, path)| (name.clone(), path.clone()));
        files.extend(more);
        for name in PROGRAMS {
            let program = CompiledProgram::of_folder(&SOURCES, name, "building a load", &gcc, &[]);
            files.insert(format!("bin/{name}"), program.get(work)?);
        }
        // Before the kernel: what is missing is said at once.
        let workloads = request
            .scripts
            .iter()
            .map(|(name, script)| Workload { name: name.clone(), script: script.clone() });
        let testbed = Testbed::prepare_files(work, isa, None, workloads.collect(), &files)?;
        let toolchain = Toolchain::Clang(tools::llvm()?);
        let named = (request.basis.config.as_str(), isa);
        let features = kernel.features();
        let mut inputs = BuildInputs::find(
            request.basis.kernel_source.as_deref(),
            &features,
            named,
            2,
            toolchain,
        )?;
        if let Some(patch) = kernel.patch() {
            inputs = inputs.with_patch(patch)?;
        }
        let inputs = inputs.with_lines(LINES).with_lines(request.lines);
        let (source, build) = inputs.prepare(work, observe)?;
        let stage = observe.stage("build the kernel");
        let kernel = build.link(&GeneratedFiles::new(), |line| stage.note_make(line))?;
        stage.ended(kernel.cached, "");
        let arguments = if request.files.is_empty() { &[][..] } else { LARGE_ROOT };
        let kernel_version = source.release.version.clone();
        Ok(Self { testbed, kernel, arguments, kernel_version })
    }

    /// Versions of what it was made with.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        self.testbed.versions()
    }

    /// SHA-256 of the kernel and of the guest's root, in hexadecimal.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn hashes(&self) -> Result<(String, String)> {
        let hashes = self.testbed.work().hashes();
        Ok((hashes.of(&self.kernel.image)?, hashes.of(self.testbed.guest())?))
    }

    /// Boots it, or finds it done.
    ///
    /// # Errors
    /// A guest that does not come to its end, or whose kernel complains of itself.
    pub fn run(&self, asked: &BootOf<'_>, observe: &dyn Observe) -> Result<Ran> {
        let (ran, complaints) = self.run_within(asked, limits::LITTLE_MEMORY, observe)?;
        match complaints.first() {
            None => Ok(ran),
            Some(first) => bail!(
                "the guest's kernel complains of itself, see {}: {first}",
                ran.console.display()
            ),
        }
    }

    /// The same of a kernel that may complain of itself: what it says then.
    pub(super) fn run_within(
        &self,
        asked: &BootOf<'_>,
        limit: Duration,
        observe: &dyn Observe,
    ) -> Result<(Ran, Vec<String>)> {
        let stage = observe.stage(&format!("boot: {}, {}", asked.script, asked.arm.name()));
        let mut request = self.testbed.request(&self.kernel, Path::new(""));
        let rest = OVERHEAD_MIB + asked.normal_mib + asked.used_mib;
        request.hardware.memory_mib = DeviceMemory::machine_mib(asked.devices, asked.arm, rest);
        request.hardware.cpus = asked.cpus;
        request.hardware.processor = (request.qemu.isa() == Isa::X86_64).then_some(FAST_COPIES);
        if asked.cpus == 1 {
            request.hardware.clock = Clock::Instructions { shift: 0 };
        }
        let DiskProfile { latency, mib_per_second, .. } = asked.disk;
        request.disks = vec![Disk::Null(NullBlock { gib: DISK_GIB, latency, mib_per_second })];
        request.arguments = DeviceMemory::arguments(asked.devices, asked.arm, rest);
        request.arguments.extend(asked.arguments.iter().cloned());
        request.arguments.extend(self.arguments.iter().map(ToString::to_string));
        request.outlet = asked.outlet;
        request.device_tree = asked.device_tree.map(DeviceTree::adding).transpose()?;
        request.workload = Some(asked.script.to_owned());
        request.limit = limit;
        let kept = KeptRequest {
            testbed: &self.testbed,
            kernel: &self.kernel,
            request,
            repetition: 0,
            digest: (),
        };
        let boot = kept.get()?;
        let console = boot.folder.join("console.log");
        let text = std::fs::read(&console)
            .with_context(|| format!("cannot read {}", console.display()))?;
        stage.ended(boot.cached, "");
        let ran = Ran { said: boot.record.said, tests: boot.record.tests, console };
        Ok((ran, complaints(&String::from_utf8_lossy(&text))))
    }
}
