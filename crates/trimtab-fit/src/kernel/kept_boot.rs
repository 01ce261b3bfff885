//! Boots whose results are kept: the same kernel on the same machine need not boot twice.

use std::path::Path;

use anyhow::Result;
use trimtab_machine::boot::{BootError, Clock, Ftrace, KeptRequest, Tracers, limits};
use trimtab_machine::kernel::KernelImage;
use trimtab_machine::testbed::Testbed;

use super::plan::Scenario;
use trimtab_lab::threads;

pub use trimtab_machine::boot::KeptBoot;

/// Who watches a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootTracer {
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
    pub scene: Scenario,
    /// Who watches.
    pub watch: BootTracer,
    /// Tells the same boot done again from the first.
    pub repetition: u32,
}

/// A boot that is over, or why the guest did not come up.
pub type BootResult = std::result::Result<KeptBoot, BootError>;

/// Does a boot, or finds it done. `Ok(Err(_))` is a guest that did not come up.
///
/// # Errors
/// What keeps a boot from being tried: files, space, Ctrl-C.
pub fn boot(testbed: &Testbed<'_>, job: &BootJob<'_>) -> Result<BootResult> {
    let mut request = testbed.request(job.kernel, Path::new(""));
    request.hardware = job.scene.machine.clone();
    if job.watch == BootTracer::Nothing && request.hardware.clock == Clock::Real {
        request.hardware.accelerator = testbed.accelerator();
    }
    request.workload = Some(job.scene.workload.to_owned());
    request.tracers = Tracers {
        plugin: (job.watch != BootTracer::Nothing).then(|| testbed.plugin().to_owned()),
        ftrace: (job.watch == BootTracer::Both).then(Ftrace::default),
        ..Tracers::default()
    };
    if job.watch == BootTracer::Both {
        request.limit = limits::TWO_TRACERS;
    }
    let (kernel, repetition) = (job.kernel, job.repetition);
    match (KeptRequest { testbed, kernel, request, repetition, digest: () }).get() {
        Ok(boot) => Ok(Ok(boot)),
        Err(error) => match error.downcast::<BootError>()? {
            error @ (BootError::Process(_) | BootError::File { .. } | BootError::Qemu(_)) => {
                Err(error.into())
            }
            error => Ok(Err(error)),
        },
    }
}

/// Does boots, as many side by side as there are CPUs, in any order; the results are in the
/// order of the jobs. `progress` is called with the number done.
///
/// # Errors
/// The first error of any; no further boots are begun then.
pub fn boot_all(
    bench: &Testbed<'_>,
    jobs: &[BootJob<'_>],
    progress: impl Fn(usize) + Sync,
) -> Result<Vec<BootResult>> {
    threads::each(jobs, |_, job| boot(bench, job), progress)
}
