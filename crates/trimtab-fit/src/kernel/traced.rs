//! What ran while the kernel booted as it was built.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use trimtab_inputs::Text;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::{WorkDir, write_whole};
use trimtab_profile::{Profile, Trace, read};

use super::boots::{BootPlan, Boots};
use super::built::{FirstKernel, has_ftrace};
use super::kept_boot::KeptBoot;
use super::linked::Kernel;
use super::request::Tracer;
use super::workshop::Workshop;

/// One boot as both tracers saw it.
pub(super) struct TracerPair {
    pub plugin: Profile,
    pub ftrace: Profile,
}

/// The boots of the kernel as it was built, and what each executed.
pub(super) struct Traces {
    pub boots: Boots,
    /// What the boot executed that is the measure of all.
    pub reference: Profile,
    /// What those executed that make the order, in their order.
    pub profiles: Vec<Profile>,
    pub tracer_pair: Option<TracerPair>,
    /// How long the boots took.
    pub took: Duration,
}

impl Traces {
    /// Boots `first`, as `kernel` describes it, and finds what ran.
    ///
    /// # Errors
    /// A guest that does not come up, a trace that does not fit the kernel.
    pub fn record(
        workshop: &Workshop<'_>,
        first: &FirstKernel,
        kernel: &Kernel<'_>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let request = workshop.request;
        let has_ftrace = has_ftrace(workshop, kernel)?;
        let plan = BootPlan::of_first(request.boots as usize, request.tracer, has_ftrace);
        let stage = observe.stage("trace boots");
        let clock = Instant::now();
        stage.parts(plan.len() as u64);
        let name = "the kernel as it was built";
        let boots = Boots::run(&workshop.testbed, &first.image, name, &plan, |done| {
            stage.at(done as u64);
        })?;
        let took = clock.elapsed();
        stage.ended(boots.cached(), &format!("{} boots", plan.len()));

        let stage = observe.stage("find what ran");
        let reference = in_blocks(kernel, boots.reference())?;
        let pair = |boot| {
            let ftrace = in_calls(kernel, boot)?;
            anyhow::Ok(TracerPair { plugin: in_blocks(kernel, boot)?, ftrace })
        };
        let tracer_pair = boots.both_tracers().map(pair).transpose()?;
        let traced = boots.traced().iter();
        let profiles: Result<Vec<Profile>> = match request.tracer {
            Tracer::Plugin => traced.map(|boot| in_blocks(kernel, boot)).collect(),
            Tracer::Ftrace => traced.map(|boot| in_calls(kernel, boot)).collect(),
        };
        let profiles = profiles?;
        for profile in &profiles {
            profile.coverage().check(request.min_coverage)?;
        }
        stage.done(&format!("{} functions ran", reference.functions().len()));
        Ok(Traces { boots, reference, profiles, tracer_pair, took })
    }

    /// Writes the trace of the first boot to the work directory, with symbols, so that it also fits
    /// another link of the same kernel. Gives its path.
    pub fn keep(&self, work: &WorkDir, tracer: Tracer, kernel: &Kernel<'_>) -> Result<PathBuf> {
        let path = work.path().join("boot.trace");
        let Some(boot) = self.boots.traced().first() else { return Ok(path) };
        let annotated = match tracer {
            Tracer::Plugin => read::write_native(&trace(&boot.blocks()?)?, &kernel.program),
            // The function tracer names functions itself.
            Tracer::Ftrace => Text::of_trace(&boot.calls()?)?.as_str().to_owned(),
        };
        write_whole(&path, annotated.as_bytes())?;
        Ok(path)
    }
}

fn trace(path: &Path) -> Result<Trace> {
    Text::of_trace(path)?.trace()
}

/// What a boot executed of a kernel, as the plugin saw it.
pub(super) fn in_blocks(kernel: &Kernel<'_>, boot: &KeptBoot) -> Result<Profile> {
    Ok(kernel.profile(&trace(&boot.blocks()?)?))
}

/// The same as the function tracer saw it.
fn in_calls(kernel: &Kernel<'_>, boot: &KeptBoot) -> Result<Profile> {
    Ok(kernel.profile(&trace(&boot.calls()?)?))
}
