//! The kernel that was linked by a plan.

use anyhow::{Context, Result};
use trimtab_inputs::Elf;
use trimtab_lab::observe::Observe;
use trimtab_link::KERNEL_ORDER;
use trimtab_machine::kernel::KernelImage;

use super::planned::{self, KernelPlan};
use super::workshop::{Workshop, link};
use crate::check::{LinkSummary, check};

/// The kernel with its code swapped out.
pub(super) struct SwappedKernel {
    pub image: KernelImage,
    /// How much of the plan the linker followed.
    pub summary: LinkSummary,
    /// Bytes of its data.
    pub data: u64,
}

impl SwappedKernel {
    /// Builds it, and checks it against the plan.
    ///
    /// # Errors
    /// A build that fails, a kernel that may not be booted.
    pub fn build(
        workshop: &Workshop<'_>,
        plan: &KernelPlan,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage("make the kernel with its code swapped out");
        let apart = match plan.lists.splits() {
            Some(splits) => Some(workshop.build.apart(&splits.generated())?),
            None => None,
        };
        let generated = plan.script.generated().with(KERNEL_ORDER, plan.order.as_str());
        let image = link(apart.as_ref().unwrap_or(&workshop.build), &generated, &stage)?;
        stage.ended(image.cached, "");
        let elf = Elf::open(&image.vmlinux)?;
        let program = elf.program()?;
        let summary =
            check(&program, &plan.plan).with_context(|| elf.path().display().to_string())?;
        let data = planned::data(&program);
        Ok(SwappedKernel { image, summary, data })
    }
}
