//! What the phases found, counted.

mod excess;
mod sections;
mod tracers;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::report::{self, ByteExcess, Ftrace, Image, Section};
use anyhow::{Context, Result};
use trimtab_layout::Footprint;
use trimtab_machine::kernel::KernelImage;
use trimtab_profile::Profile;
use trimtab_program::BlockMap;
use trimtab_report::common::BeforeAfter;

use super::boots::Boots;
use super::kept_boot::KeptBoot;
use super::laid_out::OrderCheck;
use super::linked::Kernel;
use super::proved::Proof;
use super::split::SplitCounts;
use super::traced::TracerPair;
use super::workshop::Workshop;

/// How long the phases took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seconds {
    pub start: Instant,
    pub build: Duration,
    pub trace: Duration,
    pub split: Duration,
    pub layout: Duration,
    pub relink: Duration,
}

/// One of the two kernels, and its boot on the machine of the reference.
pub(super) struct Side<'a> {
    pub image: &'a KernelImage,
    pub kernel: &'a Kernel<'a>,
    pub boot: &'a KeptBoot,
    /// What the boot executed.
    pub profile: &'a Profile,
}

impl<'a> Side<'a> {
    /// Puts together what belongs together.
    pub fn new(
        image: &'a KernelImage,
        kernel: &'a Kernel<'a>,
        boot: &'a KeptBoot,
        profile: &'a Profile,
    ) -> Self {
        Side { image, kernel, boot, profile }
    }

    fn footprint(&self) -> Footprint {
        Footprint::of(&self.kernel.program, self.kernel.text, self.profile)
    }
}

/// All that the phases found.
pub(super) struct Evidence<'a> {
    pub workshop: &'a Workshop<'a>,
    /// The kernel as it was built.
    pub before: Side<'a>,
    /// The kernel laid out.
    pub after: Side<'a>,
    pub tracer_pair: Option<&'a TracerPair>,
    /// The boots of the kernel as it was built.
    pub first_boots: &'a Boots,
    pub proof: &'a Proof,
    pub order: &'a OrderCheck,
    /// What was split, at the granularity of blocks.
    pub split: Option<SplitCounts>,
    /// The blocks of the kernel laid out, where functions were split.
    pub block_map: Option<&'a BlockMap>,
    /// Where the trace of the first boot is kept.
    pub trace: String,
    pub seconds: Seconds,
}

/// Counts of pages and bytes, of both kernels.
pub(super) struct Measures {
    pub before: Footprint,
    pub after: Footprint,
    /// Of the boots that made no order, in their order.
    pub held_out: Vec<BeforeAfter<Footprint>>,
    pub image: Image,
    pub excess: report::Excess,
    /// At the granularity of blocks.
    pub byte_excess: Option<ByteExcess>,
    pub sections: Vec<Section>,
    pub ftrace: Option<Ftrace>,
}

impl Measures {
    /// Counts.
    ///
    /// # Errors
    /// That a file of which the size is wanted is not there.
    pub fn of(m: &Evidence<'_>) -> Result<Self> {
        let (before, after) = (m.before.footprint(), m.after.footprint());
        let footprint = |kernel: &Kernel<'_>, profile: &Profile| {
            Footprint::of(&kernel.program, kernel.text, profile)
        };
        let held_out = m.proof.held_out.iter().map(|boot| {
            BeforeAfter::new(
                footprint(m.before.kernel, &boot.before),
                footprint(m.after.kernel, &boot.after),
            )
        });
        let touched = narrow(after.touched);
        Ok(Measures {
            held_out: held_out.collect(),
            image: Image {
                vmlinux_bytes: sizes(&m.before.image.vmlinux, &m.after.image.vmlinux)?,
                compressed_bytes: sizes(&m.before.image.image, &m.after.image.image)?,
            },
            excess: excess::excess(m, touched, narrow(before.function_pages)),
            byte_excess: match m.split {
                None => None,
                Some(_) => Some(excess::byte_excess(m, touched, narrow(before.executed_pages))?),
            },
            sections: sections::sections(m),
            ftrace: m.tracer_pair.map(|pair| tracers::compare(m.before.kernel, pair)),
            before,
            after,
        })
    }
}

/// Counts of pages fit 32 bits by far; a report is no place to fail over one that does not.
pub(super) fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn sizes(before: &Path, after: &Path) -> Result<BeforeAfter<u64>> {
    Ok(BeforeAfter::new(size(before)?, size(after)?))
}

fn size(path: &Path) -> Result<u64> {
    let data = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(data.len())
}
