//! What a run works with: the source, configured for a build, and what boots the result.

use std::path::PathBuf;

use anyhow::Result;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_link::CAN_SPLIT;
use trimtab_machine::Isa;
use trimtab_machine::kernel::{Build, BuildInputs, GeneratedFiles, KernelImage, Toolchain};
use trimtab_machine::testbed::{self, Testbed};

use super::guest;
use crate::run::Request;
use crate::{COLDSWAP, Granularity};

/// What is looked for before anything is done: what is missing is missed at once.
pub(super) struct Tools {
    inputs: BuildInputs,
    /// What the guest's workloads run.
    programs: Vec<PathBuf>,
}

impl Tools {
    /// Finds all that `request` needs.
    pub fn find(request: &Request) -> Result<Self> {
        let mut inputs = BuildInputs::find(
            request.source.as_deref(),
            &[&COLDSWAP],
            (&request.config, Isa::X86_64),
            request.cpus,
            Toolchain::Clang(tools::llvm()?),
        )?;
        if request.debug {
            inputs = inputs.with_lines(COLDSWAP.fragment("debug").unwrap_or_default());
        }
        testbed::require_tools(Isa::X86_64, request.busybox.as_deref())?;
        let programs = guest::programs()?;
        let programs = programs.iter().map(|name| Ok(tools::find(name)?.path));
        Ok(Tools { inputs, programs: programs.collect::<Result<_>>()? })
    }
}

/// All that kernels are built and booted with.
pub(super) struct Workshop<'work> {
    pub request: &'work Request,
    pub version: String,
    pub toolchain: Toolchain,
    pub build: Build<'work>,
    pub testbed: Testbed<'work>,
}

impl<'work> Workshop<'work> {
    /// Unpacks and configures the source, and prepares the guest.
    pub fn prepare(
        request: &'work Request,
        tools: Tools,
        work: &'work WorkDir,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let (unpacked, build) = tools.inputs.prepare(work, observe)?;
        if request.granularity == Granularity::Block && !build.has(CAN_SPLIT)? {
            return Err(Failure::new(
                "this kernel's configuration did not accept CONFIG_BLOCK_ORDER, without which \
                 functions are not taken apart",
            )
            .hint("use --granularity function")
            .into());
        }
        let stage = observe.stage("prepare the guest");
        let testbed = Testbed::prepare_with(
            work,
            Isa::X86_64,
            request.busybox.as_deref(),
            guest::workloads()?,
            &tools.programs,
        )?;
        stage.ended(testbed.cached(), "");
        let version = unpacked.release.version.clone();
        let toolchain = tools.inputs.toolchain().clone();
        Ok(Workshop { request, version, toolchain, build, testbed })
    }

    /// Builds the kernel without a plan.
    pub fn first_kernel(&self, observe: &dyn Observe) -> Result<KernelImage> {
        let stage = observe.stage("build the kernel");
        let image = link(&self.build, &GeneratedFiles::new(), &stage)?;
        stage.ended(image.cached, "");
        Ok(image)
    }
}

/// Links a kernel with what was generated for it.
pub(super) fn link(
    build: &Build<'_>,
    generated: &GeneratedFiles,
    stage: &Stage,
) -> Result<KernelImage> {
    Ok(build.link(generated, |line| stage.note_make(line))?)
}
