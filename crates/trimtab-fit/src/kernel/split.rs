//! The kernel with functions split, in the objects' own order.

use std::time::Duration;

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_link::{FILE_ORDER, SPLIT_FLAGS, Splits};
use trimtab_machine::kernel::Build;
use trimtab_profile::Profile;

use super::boots::{BootPlan, Boots};
use super::built::FirstKernel;
use super::clusters;
use super::linked::{Files, Kernel};
use super::traced::{Traces, in_blocks};
use super::workshop::{Workshop, link};

/// How much of the functions was moved away.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitCounts {
    pub functions: u64,
    pub cold_bytes: u64,
    /// Objects that were compiled again.
    pub objects: usize,
}

/// The kernel with functions split.
pub(super) struct SplitKernel<'work> {
    pub build: Build<'work>,
    pub files: Files,
    pub counts: SplitCounts,
    /// How long it took, when it was built.
    pub took: Duration,
    boots: Boots,
}

impl<'work> SplitKernel<'work> {
    /// Compiles what is to be split, links it, and does the traced boots once more: then it is known
    /// exactly what ran of each part, and how long each part is.
    ///
    /// # Errors
    /// A compiler that wrote down no blocks, a build that fails, a guest that does not come up.
    pub fn build(
        workshop: &Workshop<'work>,
        first: &FirstKernel,
        kernel: &Kernel<'_>,
        traces: &Traces,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let map = first.files.block_map()?;
        let splitting = clusters::splitting(kernel, &map, &workshop.build, &traces.profiles)?;
        let stage = observe.stage("compile with functions split");
        let counts = SplitCounts {
            functions: splitting.functions,
            cold_bytes: splitting.cold_bytes,
            objects: splitting.lists.len(),
        };
        let flags = SPLIT_FLAGS.join(" ");
        let symbols: Vec<&str> = splitting.first.iter().map(String::as_str).collect();
        let splits = Splits { lists: &splitting.lists, flags: &flags, first: &symbols };
        let build = workshop.build.apart(&splits.generated())?;
        let image = link(&build, FILE_ORDER, &stage)?;
        let files = Files::open(&image.vmlinux, &image.map()?)?;
        stage.ended(
            image.cached,
            &format!("{} functions in {} objects", counts.functions, counts.objects),
        );
        let stage = observe.stage("trace boots with functions split");
        let plan = BootPlan::of_split(workshop.request.boots as usize);
        stage.parts(plan.len() as u64);
        let name = "the kernel with split functions";
        let boots =
            Boots::run(&workshop.testbed, &image, name, &plan, |done| stage.at(done as u64))?;
        stage.ended(boots.cached(), &format!("{} boots", plan.len()));
        Ok(SplitKernel { build, files, counts, took: image.took, boots })
    }

    /// What the traced boots executed of it; `kernel` describes it.
    pub fn profiles(&self, kernel: &Kernel<'_>) -> Result<Vec<Profile>> {
        self.boots.traced().iter().map(|boot| in_blocks(kernel, boot)).collect()
    }
}
