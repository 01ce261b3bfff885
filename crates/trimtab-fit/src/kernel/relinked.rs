//! The kernel linked in the order.

use anyhow::Result;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_machine::kernel::{Build, KernelImage};

use super::built::FirstKernel;
use super::laid_out::Layout;
use super::linked::Files;
use super::workshop::{Workshop, link};

/// The kernel laid out.
pub(super) struct FittedKernel {
    pub image: KernelImage,
    pub files: Files,
}

impl FittedKernel {
    /// Links it; nothing is compiled. Linking keeps one processor busy; the other finds out what
    /// timed boots can use.
    ///
    /// # Errors
    /// A link that fails, and what keeps a boot from being tried.
    pub fn link(
        workshop: &Workshop<'_>,
        build: &Build<'_>,
        first: &FirstKernel,
        layout: &Layout,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage("link the kernel in this order");
        let image = std::thread::scope(|scope| -> Result<KernelImage> {
            let kvm = scope.spawn(|| match workshop.request.wall_boots {
                0 => Ok(()),
                _ => workshop.testbed.try_kvm(&first.image),
            });
            let image = link(build, &layout.written.text, &stage)?;
            kvm.join()
                .map_err(|_| Failure::new("trying KVM ended in a panic: please report it"))??;
            Ok(image)
        })?;
        stage.ended(image.cached, "");
        let files = Files::open(&image.vmlinux, &image.map()?)?;
        Ok(FittedKernel { image, files })
    }
}
