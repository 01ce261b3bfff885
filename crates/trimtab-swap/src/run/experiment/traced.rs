//! What the workloads run in the kernel without a plan.

use anyhow::{Context, Result};
use trimtab_lab::observe::{Observe, Stage};
use trimtab_lab::threads;
use trimtab_machine::kernel::KernelImage;

use super::boots::{Boots, Keep, Side, SwapBoot};
use super::guest;
use super::result::NANOSECONDS;
use crate::run::Request;

/// How often a workload runs while it is traced: what comes back comes back at least once.
const TRACED_ROUNDS: u32 = 3;
/// Most often that a workload runs.
const MOST_ROUNDS: u32 = 10_000;

/// The workloads of a run.
#[derive(Debug)]
pub(super) struct Workloads {
    pub names: Vec<String>,
    /// Of each, whether the plan knows nothing of it.
    pub held_out: Vec<bool>,
}

impl Workloads {
    /// Those that were asked for.
    pub fn of(request: &Request) -> Result<Self> {
        let names = guest::chosen(&request.workload)?;
        let held_out = guest::held_out(&names, &request.held_out)?;
        Ok(Workloads { names, held_out })
    }

    /// Does the same with each workload; its time is the guest's own, whatever else this machine
    /// does.
    pub fn each(
        &self,
        stage: &Stage,
        boot: impl Fn(usize, &str) -> Result<SwapBoot> + Sync,
    ) -> Result<Vec<SwapBoot>> {
        stage.parts(self.names.len() as u64);
        let work = |place: usize, name: &String| {
            stage.note(name);
            boot(place, name)
        };
        threads::each(&self.names, work, |done| stage.at(done as u64))
    }
}

/// A boot of each workload, traced, in their order.
pub(super) struct Traces<'a> {
    workloads: &'a Workloads,
    boots: Vec<SwapBoot>,
    /// How often each is to run to take the system time that was asked for.
    pub rounds: Vec<u32>,
}

impl<'a> Traces<'a> {
    /// Boots `kernel`.
    pub fn record(
        workloads: &'a Workloads,
        boots: &Boots<'_>,
        kernel: &KernelImage,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage("trace the workloads");
        let traced = workloads.each(&stage, |_, name| {
            boots.counted(kernel, name, TRACED_ROUNDS, Side::Before, Keep::Stream)
        })?;
        stage.ended(traced.iter().all(|boot| boot.cached), &format!("{} boots", traced.len()));
        let rounds =
            traced.iter().map(|boot| rounds(boots.request, boot)).collect::<Result<_>>()?;
        Ok(Traces { workloads, boots: traced, rounds })
    }

    /// Those that make the plan.
    pub fn known(&self) -> Vec<&SwapBoot> {
        self.of(false)
    }

    /// Those of which the plan knows nothing.
    pub fn held_out(&self) -> Vec<&SwapBoot> {
        self.of(true)
    }

    fn of(&self, held_out: bool) -> Vec<&SwapBoot> {
        let boots = self.boots.iter().zip(&self.workloads.held_out);
        boots.filter(|(_, out)| **out == held_out).map(|(boot, _)| boot).collect()
    }
}

fn rounds(request: &Request, traced: &SwapBoot) -> Result<u32> {
    let counted = traced.record.digest.as_ref().context("a boot was not counted")?;
    let round = counted.instructions as f64 * NANOSECONDS / f64::from(TRACED_ROUNDS);
    let rounds = (request.seconds * 1e9 / round.max(1.0)).ceil();
    Ok((rounds as u32).clamp(1, MOST_ROUNDS))
}
