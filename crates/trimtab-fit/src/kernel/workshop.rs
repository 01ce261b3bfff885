//! What a fit works with: the source, configured for a build, and what boots the result.

use anyhow::Result;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_lab::tools::{self, Llvm};
use trimtab_lab::workdir::WorkDir;
use trimtab_link::{CAN_SPLIT, KERNEL_ORDER, LAYOUT};
use trimtab_machine::kernel::{
    Build, BuildInputs, GeneratedFiles, KernelImage, Release, Toolchain,
};
use trimtab_machine::testbed::{self, Testbed};
use trimtab_machine::{Isa, Platform};

use super::request::{Compiler, Granularity, KernelRequest, cannot_split};
use trimtab_lab::failure::Failure;

/// What is looked for before anything is done: what is missing is missed at once.
pub(super) struct Tools {
    inputs: BuildInputs,
}

impl Tools {
    /// Finds all that `request` needs.
    pub fn find(request: &KernelRequest) -> Result<Self> {
        let inputs = BuildInputs::find(
            request.source.as_deref(),
            &[&LAYOUT],
            (&request.config, request.isa),
            1,
            toolchain(request, request.isa)?,
        )?;
        testbed::require_tools(request.isa, request.busybox.as_deref())?;
        Ok(Tools { inputs })
    }
}

/// All that kernels are built and booted with.
pub(super) struct Workshop<'work> {
    pub request: &'work KernelRequest,
    pub release: Release,
    pub toolchain: Toolchain,
    /// Hash of the source and of what was added to it.
    pub source_hash: String,
    pub build: Build<'work>,
    pub testbed: Testbed<'work>,
}

impl<'work> Workshop<'work> {
    /// Unpacks and configures the source, and prepares the guest.
    pub fn prepare(
        request: &'work KernelRequest,
        tools: Tools,
        work: &'work WorkDir,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let (unpacked, build) = tools.inputs.prepare(work, observe)?;
        if request.granularity == Granularity::Block && !build.has(CAN_SPLIT)? {
            return Err(cannot_split(build.compiler()).into());
        }
        let stage = observe.stage("prepare the guest");
        let testbed = Testbed::prepare(work, request.isa, request.busybox.as_deref())?;
        stage.ended(testbed.cached(), "");
        Ok(Workshop {
            request,
            release: unpacked.release.clone(),
            toolchain: tools.inputs.toolchain().clone(),
            source_hash: unpacked.key.hash(),
            build,
            testbed,
        })
    }
}

/// Links a kernel in an order.
pub(super) fn link(build: &Build<'_>, order: &str, stage: &Stage) -> Result<KernelImage> {
    let order = GeneratedFiles::new().with(KERNEL_ORDER, order);
    Ok(build.link(&order, |line| stage.note_make(line))?)
}

/// The compilers asked for. Fails at once where they cannot do what they are asked for.
fn toolchain(request: &KernelRequest, isa: Isa) -> Result<Toolchain> {
    let llvm = tools::llvm()?;
    let splits = request.granularity == Granularity::Block && request.compiler == Compiler::Clang;
    if splits && !llvm.maps_blocks() {
        return Err(Failure::new(format!(
            "clang {} cannot split functions: it writes no map of their basic blocks, expected {} \
             or newer",
            llvm.version,
            Llvm::OLDEST_THAT_MAPS_BLOCKS
        ))
        .hint("install a newer LLVM, or use --granularity function; trimtab doctor says what is there")
        .into());
    }
    Ok(match request.compiler {
        Compiler::Clang => Toolchain::Clang(llvm),
        Compiler::Gcc => Toolchain::Gcc { gcc: tools::find(isa.gcc())?, llvm },
    })
}
