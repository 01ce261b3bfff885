//! The kernel as it is built, in its own order.

use std::time::Duration;

use anyhow::Result;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_link::kernel;
use trimtab_machine::kernel::KernelImage;

use super::linked::{Files, Kernel};
use super::request::Tracer;
use super::workshop::{Workshop, link};

/// The kernel as it is built.
pub(super) struct FirstKernel {
    pub image: KernelImage,
    pub files: Files,
}

impl FirstKernel {
    /// Compiles and links it.
    pub fn build(workshop: &Workshop<'_>, observe: &dyn Observe) -> Result<Self> {
        let stage = observe.stage("build the kernel");
        let image = link(&workshop.build, "", &stage)?;
        stage.ended(image.cached, "");
        let files = Files::open(&image.vmlinux, &image.map()?)?;
        Ok(FirstKernel { image, files })
    }

    /// How long it took, when it was built.
    pub fn took(&self) -> Duration {
        self.image.took
    }
}

/// Whether the kernel has the function tracer.
///
/// # Errors
/// That it has not, and is to be traced by it.
pub(super) fn has_ftrace(workshop: &Workshop<'_>, kernel: &Kernel<'_>) -> Result<bool> {
    let request = workshop.request;
    let has_ftrace = !kernel::traceable(&kernel.program).is_empty();
    if request.tracer == Tracer::Ftrace && !has_ftrace {
        return Err(Failure::new(format!(
            "the configuration {} has no function tracer, which --tracer ftrace needs",
            request.config
        ))
        .hint("use --tracer plugin, or set CONFIG_FUNCTION_TRACER=y")
        .into());
    }
    Ok(has_ftrace)
}
