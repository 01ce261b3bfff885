//! Boots whose results are kept: the same kernel on the same machine need not boot twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use trimtab_lab::boot::{
    Accelerator, BootError, BootRequest, Clock, Ftrace, Tracers, accelerator_that_works, boot,
};
use trimtab_lab::cache::Key;
use trimtab_lab::kernel::Linked;
use trimtab_lab::qemu::Qemu;
use trimtab_lab::tools::{self, Found};
use trimtab_lab::workdir::{Step, WorkDir};
use trimtab_lab::{Arch, guest, plugin};

use super::plan::Scene;

/// Kept in a boot's step.
const RECORD: &str = "boot.json";
/// Kept where it was tried what runs a guest: its name.
const ACCELERATOR: &str = "accelerator";

/// Kept beside a busybox that was downloaded: its package's version.
const VERSION: &str = "version";

/// What boots kernels: the emulator, the guest and the tracing plugin.
#[derive(Debug)]
pub struct Bench<'work> {
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

/// Who watches a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Nobody: for time.
    Nothing,
    /// The plugin.
    Plugin,
    /// The plugin and the kernel's function tracer.
    Both,
}

/// A boot to do.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The kernel.
    pub kernel: &'a Linked,
    /// Machine and workload.
    pub scene: Scene,
    /// Who watches.
    pub watch: Watch,
    /// Tells the same boot done again from the first.
    pub repetition: u32,
}

/// What is kept of a boot. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Wall time from QEMU's start until the workload had ended.
    pub wall: f64,
    /// The guest's clock when the workload had ended.
    pub uptime: f64,
    /// Instructions of the kernel, where the plugin counted them.
    pub kernel_instructions: Option<u64>,
    /// QEMU's command line.
    pub command_line: String,
    /// The plugin's trace, where it watched; relative to the step.
    pub blocks: Option<PathBuf>,
    /// The function tracer's trace, where it watched; relative to the step.
    pub calls: Option<PathBuf>,
}

/// A boot that was done, now or before.
#[derive(Debug, Clone)]
pub struct Done {
    /// What it gave.
    pub record: Record,
    /// Where its traces are.
    pub folder: PathBuf,
    /// Whether an earlier run did it.
    pub cached: bool,
}

/// A boot that was done, or why the guest did not come up.
pub type Booted = std::result::Result<Done, BootError>;

impl Done {
    /// Path of the plugin's trace.
    ///
    /// # Errors
    /// If the plugin did not watch.
    pub fn blocks(&self) -> Result<PathBuf> {
        let name = self.record.blocks.as_ref().context("this boot was not traced")?;
        Ok(self.folder.join(name))
    }

    /// Path of the function tracer's trace.
    ///
    /// # Errors
    /// If the function tracer did not watch.
    pub fn calls(&self) -> Result<PathBuf> {
        let name = self.record.calls.as_ref().context("this boot was not traced by ftrace")?;
        Ok(self.folder.join(name))
    }
}

impl<'work> Bench<'work> {
    /// Finds the emulator, and builds guest and plugin if they have not been built. The guest's
    /// busybox is `busybox`, or one is found or downloaded.
    ///
    /// # Errors
    /// Missing tools, a compiler that fails, a busybox that cannot be had.
    pub fn prepare(work: &'work WorkDir, arch: Arch, busybox: Option<&Path>) -> Result<Self> {
        Self::prepare_with(work, arch, busybox, guest::Workload::all())
    }

    /// The same with other workloads than the guest's own.
    ///
    /// # Errors
    /// As [`Bench::prepare`].
    pub fn prepare_with(
        work: &'work WorkDir,
        arch: Arch,
        busybox: Option<&Path>,
        workloads: Vec<guest::Workload>,
    ) -> Result<Self> {
        let qemu_tool = tools::find(arch.qemu())?;
        let qemu = Qemu::probe(&qemu_tool.path, arch)?;
        let gcc = tools::find("gcc")?;
        let guest_gcc = tools::find(arch.gcc())?;
        let busybox = match busybox {
            Some(path) => Busybox { path: path.to_owned(), version: "given".to_owned() },
            None => Busybox::find(work, arch)?,
        };

        let mut guest_key = Key::new("guest/2")
            .field("arch", arch.name())
            .file("busybox", &busybox.path, work.hashes())?
            .field("gcc", version(&guest_gcc));
        for (name, text) in guest::init_sources() {
            guest_key = guest_key.bytes(name, text.as_bytes());
        }
        for workload in &workloads {
            guest_key = guest_key.bytes(&workload.name, workload.script.as_bytes());
        }
        let mut cached = true;
        let guest = match work.step("guest", &guest_key)? {
            Step::Done(path) => path,
            Step::Todo(building) => {
                cached = false;
                guest::build(arch, &guest_gcc.path, &busybox.path, &workloads, building.path())?;
                building.finish()?
            }
        };
        let mut plugin_key = Key::new("plugin/1").field("gcc", version(&gcc));
        for (name, text) in plugin::sources() {
            plugin_key = plugin_key.bytes(name, text.as_bytes());
        }
        let plugin = match work.step("plugin", &plugin_key)? {
            Step::Done(path) => path,
            Step::Todo(building) => {
                cached = false;
                plugin::build(&gcc.path, building.path())?;
                building.finish()?
            }
        };
        let key = Key::new("bench/1")
            .after(&guest_key)
            .after(&plugin_key)
            .field("qemu", version(&qemu_tool));
        let mut versions: BTreeMap<String, String> =
            [(arch.qemu(), &qemu_tool), ("gcc", &gcc), (arch.gcc(), &guest_gcc)]
                .map(|(name, tool)| (name.to_owned(), version(tool)))
                .into();
        versions.insert("busybox".to_owned(), busybox.version);
        Ok(Bench {
            work,
            qemu,
            guest: guest.join("guest.cpio.gz"),
            plugin: plugin.join("trimtab_trace.so"),
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
    pub fn try_kvm(&self, kernel: &Linked) -> Result<()> {
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

    /// The tracing plugin.
    pub fn plugin(&self) -> &Path {
        &self.plugin
    }

    /// What boots depend on, beside the kernel.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// A boot of `kernel`, of which all else is still to be said.
    pub fn request(&self, kernel: &Linked, folder: &Path) -> BootRequest {
        BootRequest::new(self.qemu.clone(), &kernel.image, &self.guest, folder)
    }

    /// The guest's root.
    pub fn guest(&self) -> &Path {
        &self.guest
    }

    /// Does a boot, or finds it done. `Ok(Err(_))` is a guest that did not come up.
    ///
    /// # Errors
    /// What keeps a boot from being tried: files, space, Ctrl-C.
    pub fn boot(&self, job: &Job<'_>) -> Result<Booted> {
        let mut machine = job.scene.machine.clone();
        if job.watch == Watch::Nothing && machine.clock == Clock::Real {
            machine.accelerator = self.accelerator();
        }
        let key = Key::new("boot/1")
            .after(&job.kernel.key)
            .after(&self.key)
            .field("machine", format_args!("{machine:?}"))
            .field("workload", job.scene.workload)
            .field("watch", format_args!("{:?}", job.watch))
            .field("repetition", job.repetition);
        // Built in its place: a message about a guest that did not come up names its console, which
        // must then still be there. Each try begins anew.
        let building = match self.work.resumable("boot", &key)? {
            Step::Done(folder) => return Ok(Ok(read(folder, true)?)),
            Step::Todo(building) => building,
        };
        let mut request =
            BootRequest::new(self.qemu.clone(), &job.kernel.image, &self.guest, building.path());
        request.machine = machine;
        request.workload = Some(job.scene.workload.to_owned());
        request.tracers = Tracers {
            plugin: (job.watch != Watch::Nothing).then(|| self.plugin.clone()),
            stream: false,
            ftrace: (job.watch == Watch::Both).then(Ftrace::default),
        };
        if job.watch == Watch::Both {
            request.limit = Duration::from_secs(300);
        }
        let booted = match boot(&request) {
            Ok(booted) => booted,
            Err(error @ (BootError::Process(_) | BootError::File { .. } | BootError::Qemu(_))) => {
                return Err(error.into());
            }
            Err(error) => return Ok(Err(error)),
        };
        let relative = |path: &Path| path.file_name().map(PathBuf::from);
        let record = Record {
            wall: booted.wall.as_secs_f64(),
            uptime: booted.uptime_finished.as_secs_f64(),
            kernel_instructions: booted.blocks.as_ref().map(|b| b.instructions.kernel),
            command_line: booted.command_line,
            blocks: booted.blocks.as_ref().and_then(|blocks| relative(&blocks.path)),
            calls: booted.calls.as_ref().and_then(|calls| relative(&calls.path)),
        };
        let path = building.path().join(RECORD);
        fs::write(&path, serde_json::to_vec_pretty(&record)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Ok(read(building.finish()?, false)?))
    }

    /// Does boots, as many side by side as there are CPUs, in any order; the results are in the
    /// order of the jobs. `progress` is told how many are done.
    ///
    /// # Errors
    /// The first error of any; no further boots are begun then.
    pub fn boot_all(
        &self,
        jobs: &[Job<'_>],
        progress: impl Fn(usize) + Sync,
    ) -> Result<Vec<Booted>> {
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Result<Booted>>>> =
            Mutex::new(jobs.iter().map(|_| None).collect());
        let workers = std::thread::available_parallelism().map_or(2, usize::from).min(jobs.len());
        let lock = || results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(index) else { break };
                        let result = self.boot(job);
                        let failed = result.is_err();
                        lock()[index] = Some(result);
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                        if failed {
                            next.store(jobs.len(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let results = std::mem::take(&mut *lock());
        results.into_iter().flatten().collect()
    }
}

/// What the guest's shell and commands are.
struct Busybox {
    path: PathBuf,
    version: String,
}

impl Busybox {
    /// The one that is installed, or where that is for another architecture the one in Debian's
    /// package, which is kept.
    fn find(work: &WorkDir, arch: Arch) -> Result<Self> {
        if let Some(found) = guest::busybox::installed(arch)? {
            return Ok(Busybox { version: version(&found), path: found.path });
        }
        let key = Key::new("busybox/1").field("arch", arch.name());
        let folder = match work.step("busybox", &key)? {
            Step::Done(folder) => folder,
            Step::Todo(building) => {
                let (_, version) = guest::busybox::fetch(arch, building.path())?;
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

fn version(found: &Found) -> String {
    found.version.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string)
}

fn read(folder: PathBuf, cached: bool) -> Result<Done> {
    let path = folder.join(RECORD);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let record = serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged; remove the folder it is in", path.display()))?;
    Ok(Done { record, folder, cached })
}
