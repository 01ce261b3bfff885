//! Boots whose results are kept: the same kernel on the same machine need not boot twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use trimtab_lab::cache::Key;
use trimtab_lab::workdir::Step;
use trimtab_machine::boot::{self, BootError, Clock, Ftrace, Tracers};
use trimtab_machine::kernel::KernelImage;
use trimtab_machine::testbed::Testbed;

use super::plan::Scene;
use trimtab_lab::executor::{self, Local};

/// Kept in a boot's step.
const RECORD: &str = "boot.json";
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
pub struct BootJob<'a> {
    /// The kernel.
    pub kernel: &'a KernelImage,
    /// Machine and workload.
    pub scene: Scene,
    /// Who watches.
    pub watch: Watch,
    /// Tells the same boot done again from the first.
    pub repetition: u32,
}

/// What is kept of a boot. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootRecord {
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
pub struct KeptBoot {
    /// What it gave.
    pub record: BootRecord,
    /// Where its traces are.
    pub folder: PathBuf,
    /// Whether an earlier run did it.
    pub cached: bool,
}

/// A boot that was done, or why the guest did not come up.
pub type BootResult = std::result::Result<KeptBoot, BootError>;

impl KeptBoot {
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

/// Does a boot, or finds it done. `Ok(Err(_))` is a guest that did not come up.
///
/// # Errors
/// What keeps a boot from being tried: files, space, Ctrl-C.
pub fn boot(bench: &Testbed<'_>, job: &BootJob<'_>) -> Result<BootResult> {
    let mut machine = job.scene.machine.clone();
    if job.watch == Watch::Nothing && machine.clock == Clock::Real {
        machine.accelerator = bench.accelerator();
    }
    let mut request = bench.request(job.kernel, Path::new(""));
    request.machine = machine;
    let mut key = Key::new("boot/1")
        .after(&job.kernel.key)
        .after(bench.key())
        .field("machine", format_args!("{:?}", request.machine))
        .field("workload", job.scene.workload)
        .field("watch", format_args!("{:?}", job.watch))
        .field("repetition", job.repetition);
    if request.has_halted_cpu() {
        key = key.field("halted", 1);
    }
    if request.machine.clock == Clock::Real {
        key = key.field("timer", "not tested");
    }
    // Built in its place: a message about a guest that did not come up names its console, which
    // must then still be there. Each try begins anew.
    let building = match bench.work().resumable("boot", &key)? {
        Step::Done(folder) => return Ok(Ok(read(folder, true)?)),
        Step::Todo(building) => building,
    };
    request.folder = building.path().to_owned();
    request.workload = Some(job.scene.workload.to_owned());
    request.tracers = Tracers {
        plugin: (job.watch != Watch::Nothing).then(|| bench.plugin().to_owned()),
        stream: false,
        ftrace: (job.watch == Watch::Both).then(Ftrace::default),
    };
    if job.watch == Watch::Both {
        request.limit = Duration::from_secs(300);
    }
    let booted = match boot::boot(&request) {
        Ok(booted) => booted,
        Err(error @ (BootError::Process(_) | BootError::File { .. } | BootError::Qemu(_))) => {
            return Err(error.into());
        }
        Err(error) => return Ok(Err(error)),
    };
    let relative = |path: &Path| path.file_name().map(PathBuf::from);
    let record = BootRecord {
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
    bench: &Testbed<'_>,
    jobs: &[BootJob<'_>],
    progress: impl Fn(usize) + Sync,
) -> Result<Vec<BootResult>> {
    executor::each(&Local, jobs, |_, job| boot(bench, job), progress)
}

fn read(folder: PathBuf, cached: bool) -> Result<KeptBoot> {
    let path = folder.join(RECORD);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let record = serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged; remove the folder it is in", path.display()))?;
    Ok(KeptBoot { record, folder, cached })
}
