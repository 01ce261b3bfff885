//! Fitting a kernel to its boot. The phases are files of their own, in this order, and each borrows
//! from those before it:
//!
//! 1. [`request`]: what is asked for;
//! 2. [`workshop`]: source, build and testbed stand ready;
//! 3. [`built`]: the kernel as it is built;
//! 4. [`traced`]: what ran while it booted;
//! 5. [`split`]: the kernel with functions split, where blocks are moved;
//! 6. [`laid_out`]: the order;
//! 7. [`relinked`]: the kernel linked in it;
//! 8. [`proved`]: boots of that one, also on machines that made no order;
//! 9. [`measured`]: what these show, counted;
//! 10. [`result`]: all of it, as the report's model, and with [`verdict`] whether it will do.

mod boots;
mod built;
mod clusters;
mod kept_boot;
mod laid_out;
mod linked;
mod measured;
pub mod plan;
mod proved;
mod relinked;
mod request;
mod result;
mod split;
mod traced;
mod trials;
mod verdict;
mod workshop;

pub use request::{Compiler, Granularity, KernelRequest, Tracer};

use std::borrow::Cow;
use std::time::{Duration, Instant};

use crate::report::FitKernel;
use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;

use built::FirstKernel;
use laid_out::Layout;
use measured::{Evidence, Seconds, Side};
use proved::Proof;
use relinked::FittedKernel;
use split::SplitKernel;
use traced::Traces;
use workshop::{Tools, Workshop};

/// Fits a kernel.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a guest that does not come up, a trace
/// that does not fit.
pub fn fit(request: &KernelRequest, observe: &dyn Observe) -> Result<FitKernel> {
    let start = Instant::now();
    request.check()?;
    let tools = Tools::find(request)?;
    let work = WorkDir::open(&request.work)?;
    trimtab_lab::interrupt::now_resumable();

    let workshop = Workshop::prepare(request, tools, &work, observe)?;
    let first = FirstKernel::build(&workshop, observe)?;
    let before = first.files.kernel()?;
    let traces = Traces::record(&workshop, &first, &before, observe)?;

    // Where functions are split, the kernel with split functions is what is laid out.
    let split = match request.granularity {
        Granularity::Function => None,
        Granularity::Block => {
            Some(SplitKernel::build(&workshop, &first, &before, &traces, observe)?)
        }
    };
    let split_view = split.as_ref().map(|split| split.files.kernel()).transpose()?;
    let (build, base, profiles) = match (&split, &split_view) {
        (Some(split), Some(view)) => (&split.build, view, Cow::Owned(split.profiles(view)?)),
        _ => (&workshop.build, &before, Cow::Borrowed(&traces.profiles)),
    };
    let layout = Layout::find(request.granularity, base, &profiles, observe)?;
    let fitted = FittedKernel::link(&workshop, build, &first, &layout, observe)?;
    let after = fitted.files.kernel()?;
    let block_map = split.as_ref().map(|_| fitted.files.block_map()).transpose()?;
    let order = layout.check(base, &after)?;

    let proof = Proof::collect(&workshop, (&first, &before), (&fitted, &after), &traces, observe)?;
    let trace = traces.keep(&work, request.tracer, &before)?;
    let evidence = Evidence {
        workshop: &workshop,
        before: Side::new(&first.image, &before, traces.boots.reference(), &traces.reference),
        after: Side::new(&fitted.image, &after, proof.boots.reference(), &proof.reference),
        tracer_pair: traces.tracer_pair.as_ref(),
        first_boots: &traces.boots,
        proof: &proof,
        order: &order,
        split: split.as_ref().map(|split| split.counts),
        block_map: block_map.as_ref(),
        trace: trace.display().to_string(),
        seconds: Seconds {
            start,
            build: first.took(),
            trace: traces.took,
            split: split.as_ref().map_or(Duration::ZERO, |split| split.took),
            layout: layout.took,
            relink: fitted.image.took,
        },
    };
    result::model(&evidence)
}
