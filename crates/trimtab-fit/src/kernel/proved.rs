//! The proof: the kernel laid out boots, also where its order was not made, and beside the first one.

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_machine::kernel::KernelImage;
use trimtab_profile::Profile;

use super::boots::{BootPlan, Boots, all_cached};
use super::built::FirstKernel;
use super::kept_boot::{BootJob, BootResult, BootTracer, boot_all};
use super::linked::Kernel;
use super::plan::{self, Scenario};
use super::relinked::FittedKernel;
use super::traced::{Traces, in_blocks};
use super::workshop::Workshop;
use crate::shuffled::shuffled;

/// A boot that made no order.
pub(super) struct HeldOut {
    pub scene: Scenario,
    pub before: Profile,
    pub after: Profile,
    /// Further boots of the kernel laid out, which nobody watched.
    pub again: Vec<Timed>,
}

impl HeldOut {
    /// Boots of the kernel laid out that came up. The traced one is one of them.
    pub fn succeeded(&self) -> u32 {
        self.again.iter().filter(|boot| boot.is_ok()).count() as u32 + 1
    }

    /// Why the first of the others did not come up.
    pub fn failed(&self) -> Option<String> {
        why(&self.again)
    }
}

/// Seconds of a boot, or why the guest did not come up.
pub(super) type Timed = std::result::Result<f64, String>;

/// Boots of two kernels in turn.
#[derive(Default)]
pub(super) struct Wall {
    /// The pairs: as the kernel was built, and laid out.
    pub pairs: Vec<(Timed, Timed)>,
}

impl Wall {
    /// Why the kernel laid out did not come up, where that happened first.
    pub fn failed(&self) -> Option<String> {
        why(self.pairs.iter().map(|(_, after)| after))
    }
}

/// What the boots of the kernel laid out show.
pub(super) struct Proof {
    pub boots: Boots,
    /// What the kernel laid out executed on the machine of the reference.
    pub reference: Profile,
    pub held_out: Vec<HeldOut>,
    /// Pages that the reference would touch in random orders.
    pub shuffled: Vec<u32>,
    pub wall: Wall,
}

impl Proof {
    /// Boots the kernels. `before` and `after` describe `first` and `fitted`.
    ///
    /// # Errors
    /// A guest that does not come up the first time, what keeps a boot from being tried.
    pub fn collect(
        workshop: &Workshop<'_>,
        (first, before): (&FirstKernel, &Kernel<'_>),
        (fitted, after): (&FittedKernel, &Kernel<'_>),
        traces: &Traces,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let plan = BootPlan::of_fitted();
        let stage = observe.stage("boot the kernel laid out");
        stage.parts(plan.len() as u64);
        let name = "the kernel laid out";
        let boots = Boots::run(&workshop.testbed, &fitted.image, name, &plan, |done| {
            stage.at(done as u64);
        })?;
        stage.ended(boots.cached(), &format!("{} boots", plan.len()));
        let reference = in_blocks(after, boots.reference())?;

        let more = workshop.request.held_out_boots.saturating_sub(1);
        let more = repeat_held_out(workshop, &fitted.image, more, observe)?;
        let scenes = plan::held_out().into_iter().zip(more);
        let held_out = scenes
            .zip(traces.boots.held_out().iter().zip(boots.held_out()))
            .map(|((scene, again), (as_built, laid_out))| {
                Ok(HeldOut {
                    scene,
                    before: in_blocks(before, as_built)?,
                    after: in_blocks(after, laid_out)?,
                    again,
                })
            })
            .collect::<Result<Vec<HeldOut>>>()?;
        let shuffled = shuffled(
            &before.fragments,
            &traces.reference,
            before.range(),
            |fragment| before.movable(fragment),
            workshop.request.seed,
        );
        let wall = wall(workshop, &first.image, &fitted.image, observe)?;
        Ok(Proof { boots, reference, held_out, shuffled, wall })
    }
}

/// Boots the kernel laid out `more` times on each held-out machine; in the order of
/// [`plan::held_out`].
fn repeat_held_out(
    workshop: &Workshop<'_>,
    kernel: &KernelImage,
    more: u32,
    observe: &dyn Observe,
) -> Result<Vec<Vec<Timed>>> {
    let scenes = plan::held_out();
    if more == 0 {
        return Ok(vec![Vec::new(); scenes.len()]);
    }
    let stage = observe.stage("boot the held-out machines again");
    let jobs: Vec<BootJob<'_>> = scenes
        .iter()
        .flat_map(|scene| (0..more).map(move |repetition| (scene.clone(), repetition)))
        .map(|(scene, repetition)| BootJob {
            kernel,
            // Counted, each boot would be the same again.
            scene: scene.in_real_time(),
            watch: BootTracer::Nothing,
            repetition,
        })
        .collect();
    stage.parts(jobs.len() as u64);
    let results = boot_all(&workshop.testbed, &jobs, |done| stage.at(done as u64))?;
    stage.ended(all_cached(&results), &format!("{more} boots of each"));
    Ok(results.chunks(more as usize).map(|boots| boots.iter().map(timed).collect()).collect())
}

/// Boots the two kernels in turn, and gives the wall times of each pair.
fn wall(
    workshop: &Workshop<'_>,
    before: &KernelImage,
    after: &KernelImage,
    observe: &dyn Observe,
) -> Result<Wall> {
    let pairs = workshop.request.wall_boots;
    if pairs == 0 {
        return Ok(Wall::default());
    }
    let stage = observe.stage("boot the two kernels in turn");
    let jobs: Vec<BootJob<'_>> = (0..pairs)
        .flat_map(|repetition| {
            [before, after].map(|kernel| BootJob {
                kernel,
                scene: plan::reference().in_real_time(),
                watch: BootTracer::Nothing,
                repetition,
            })
        })
        .collect();
    stage.parts(jobs.len() as u64);
    let results = boot_all(&workshop.testbed, &jobs, |done| stage.at(done as u64))?;
    stage.ended(all_cached(&results), &format!("{pairs} boots of each"));
    Ok(Wall { pairs: results.chunks(2).map(|pair| (timed(&pair[0]), timed(&pair[1]))).collect() })
}

fn timed(boot: &BootResult) -> Timed {
    boot.as_ref().map(|boot| boot.record.wall).map_err(ToString::to_string)
}

/// Why the first boot that did not come up did not.
fn why<'a>(boots: impl IntoIterator<Item = &'a Timed>) -> Option<String> {
    boots.into_iter().find_map(|boot| boot.clone().err())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use trimtab_lab::process::Tail;
    use trimtab_machine::boot::BootError;

    use super::*;

    #[test]
    fn why_a_repeated_boot_did_not_come_up_is_kept() {
        let hung = |seconds| {
            Err(BootError::Hung {
                limit: Duration::from_secs(seconds),
                tail: Tail::default(),
                argument: "earlyprintk",
            })
        };
        let boots = [hung(60), hung(61)].map(|boot| timed(&boot));
        let text = why(&boots).unwrap();
        assert!(text.contains("had not ended after 60 s"), "{text}");
        assert_eq!(why(&boots[..0]), None);
    }
}
