//! What was measured.

use crate::report::SwapSweep;
use trimtab_machine::kernel::KernelImage;

use super::boots::SwapBoot;
use super::planned::KernelPlan;
use super::soak::Soak;
use super::swapped::SwappedKernel;
use super::workshop::Workshop;

/// What was measured; [`result::model`](super::result::model) makes the report of it.
pub(super) struct Measurements<'a> {
    pub workshop: &'a Workshop<'a>,
    pub before: &'a KernelImage,
    pub plan: &'a KernelPlan,
    pub swapped: &'a SwappedKernel,
    pub workloads: Vec<WorkloadRun>,
    /// Both kernels with all workloads, beside a thread that wants to be woken in time.
    pub late: Vec<SwapBoot>,
    pub selftest: Option<SwapBoot>,
    pub soak: Option<Soak>,
    pub sweep: Option<SwapSweep>,
}

/// A workload that was run.
pub(super) struct WorkloadRun {
    pub name: String,
    /// Whether the plan knows nothing of it.
    pub held_out: bool,
    pub rounds: u32,
    /// The kernel with all code in memory.
    pub before: SwapBoot,
    pub after: SwapBoot,
}
