//! The boots of a kernel, by what they are for.

use anyhow::{Context, Result};
use trimtab_machine::kernel::KernelImage;
use trimtab_machine::testbed::Testbed;

use super::kept_boot::{BootJob, BootResult, BootTracer, KeptBoot, boot_all};
use super::plan::{self, Scenario};
use super::request::Tracer;

/// What a boot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It makes the order.
    Order,
    /// It judges the order, and has not made it.
    HeldOut,
    /// It is what all is measured by.
    Reference,
    /// It shows what the function tracer sees of what the plugin sees.
    BothTracers,
}

/// Boots to do, each with what it is for.
#[derive(Debug, Clone)]
pub(super) struct BootPlan {
    boots: Vec<(Purpose, Scenario, BootTracer, u32)>,
}

impl BootPlan {
    /// Of the kernel as it was built: `count` boots that make the order as `tracer` records them,
    /// and those that are held out. The measure of all is a boot without the function tracer, which
    /// executes code of its own. Where the order is not made by it and the kernel `has_ftrace`, one
    /// boot shows what it would have seen.
    pub fn of_first(count: usize, tracer: Tracer, has_ftrace: bool) -> Self {
        let watch = if tracer == Tracer::Ftrace { BootTracer::Both } else { BootTracer::Plugin };
        let traced = plan::traced(count).into_iter().zip(0..);
        let mut boots: Vec<_> =
            traced.map(|(scene, repetition)| (Purpose::Order, scene, watch, repetition)).collect();
        boots.extend(held_out());
        match tracer {
            Tracer::Ftrace => {
                boots.push((Purpose::Reference, plan::reference(), BootTracer::Plugin, 0));
            }
            Tracer::Plugin if has_ftrace => {
                boots.push((Purpose::BothTracers, plan::reference(), BootTracer::Both, 0));
            }
            Tracer::Plugin => {}
        }
        BootPlan { boots }
    }

    /// Of the kernel with functions split: those again that make the order.
    pub fn of_split(count: usize) -> Self {
        let traced = plan::traced(count).into_iter();
        BootPlan {
            boots: traced.map(|scene| (Purpose::Order, scene, BootTracer::Plugin, 0)).collect(),
        }
    }

    /// Of the kernel laid out: the reference, and those that are held out.
    pub fn of_fitted() -> Self {
        let mut boots = vec![(Purpose::Reference, plan::reference(), BootTracer::Plugin, 0)];
        boots.extend(held_out());
        BootPlan { boots }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.boots.len()
    }
}

fn held_out() -> impl Iterator<Item = (Purpose, Scenario, BootTracer, u32)> {
    plan::held_out().into_iter().map(|scene| (Purpose::HeldOut, scene, BootTracer::Plugin, 0))
}

/// Boots of one kernel that came up.
#[derive(Debug)]
pub(super) struct Boots {
    traced: Vec<KeptBoot>,
    held_out: Vec<KeptBoot>,
    reference: KeptBoot,
    both_tracers: Option<KeptBoot>,
    cached: bool,
}

impl Boots {
    /// Does the boots of `plan`. `name` says in a failure which kernel did not come up, `done` is
    /// called with the number of boots done.
    ///
    /// # Errors
    /// The first boot of the plan that did not come up, and what keeps boots from being tried.
    pub fn run(
        testbed: &Testbed<'_>,
        kernel: &KernelImage,
        name: &str,
        plan: &BootPlan,
        done: impl Fn(usize) + Sync,
    ) -> Result<Self> {
        let job = |(_, scene, watch, repetition): &(Purpose, Scenario, BootTracer, u32)| BootJob {
            kernel,
            scene: scene.clone(),
            watch: *watch,
            repetition: *repetition,
        };
        let jobs: Vec<BootJob<'_>> = plan.boots.iter().map(job).collect();
        let results = boot_all(testbed, &jobs, done)?;
        let cached = all_cached(&results);
        let (mut traced, mut held_out) = (Vec::new(), Vec::new());
        let (mut reference, mut both_tracers) = (None, None);
        for ((purpose, scene, ..), result) in plan.boots.iter().zip(results) {
            let boot = result.with_context(|| came_up(name, scene))?;
            match purpose {
                Purpose::Order => traced.push(boot),
                Purpose::HeldOut => held_out.push(boot),
                Purpose::Reference => reference = Some(boot),
                Purpose::BothTracers => both_tracers = Some(boot),
            }
        }
        // The first boot that makes the order is on the machine of the reference; it serves for it,
        // and where the function tracer made it, shows what both tracers see.
        let first = traced.first();
        let reference = reference.or_else(|| first.cloned()).context("a boot is missing")?;
        let both_tracers =
            both_tracers.or_else(|| first.filter(|boot| boot.record.calls.is_some()).cloned());
        Ok(Boots { traced, held_out, reference, both_tracers, cached })
    }

    /// Those that make the order, the one to make better first.
    pub fn traced(&self) -> &[KeptBoot] {
        &self.traced
    }

    /// Those that made no order, as [`plan::held_out`] has them.
    pub fn held_out(&self) -> &[KeptBoot] {
        &self.held_out
    }

    /// The one that is the measure of all.
    pub fn reference(&self) -> &KeptBoot {
        &self.reference
    }

    /// The one that both the plugin and the function tracer watched.
    pub fn both_tracers(&self) -> Option<&KeptBoot> {
        self.both_tracers.as_ref()
    }

    /// Whether an earlier run did all of them.
    pub fn cached(&self) -> bool {
        self.cached
    }
}

/// Whether an earlier run did all of these boots.
pub(super) fn all_cached(boots: &[BootResult]) -> bool {
    boots.iter().all(|boot| boot.as_ref().is_ok_and(|boot| boot.cached))
}

fn came_up(kernel: &str, scene: &Scenario) -> String {
    format!("{kernel} did not come up ({})", scene.name)
}

#[cfg(test)]
mod tests {
    use trimtab_machine::boot::BootError;

    use super::*;

    fn purposes(plan: &BootPlan) -> Vec<(Purpose, BootTracer)> {
        plan.boots.iter().map(|(purpose, _, watch, _)| (*purpose, *watch)).collect()
    }

    #[test]
    fn the_function_tracer_never_watches_the_measure_of_all() {
        let plan = BootPlan::of_first(2, Tracer::Ftrace, true);
        assert_eq!(purposes(&plan)[..2], [(Purpose::Order, BootTracer::Both); 2]);
        assert_eq!(plan.boots.last().unwrap().0, Purpose::Reference);
        assert_eq!(plan.boots.last().unwrap().2, BootTracer::Plugin);
        let plan = BootPlan::of_first(2, Tracer::Plugin, true);
        assert_eq!(purposes(&plan)[..2], [(Purpose::Order, BootTracer::Plugin); 2]);
        assert_eq!(plan.boots.last().unwrap().0, Purpose::BothTracers);
        let plan = BootPlan::of_first(2, Tracer::Plugin, false);
        assert_eq!(plan.len(), 2 + plan::held_out().len());
    }

    #[test]
    fn a_kernel_that_does_not_come_up_is_told_with_its_last_words() {
        let scene = &plan::held_out()[1];
        let boot: BootResult = Err(BootError::Panicked {
            lines: vec!["BUG: unable to handle page fault".to_owned(), "RIP: 0010:foo".to_owned()],
            log: "work/steps/boot-1/console.log".into(),
        });
        assert!(!all_cached(std::slice::from_ref(&boot)));
        let error = boot.with_context(|| came_up("the kernel laid out", scene)).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "the kernel laid out did not come up (2 CPUs): the guest's kernel panicked; \
             the whole console is in work/steps/boot-1/console.log:\n    \
             BUG: unable to handle page fault\n    RIP: 0010:foo"
        );
    }
}
