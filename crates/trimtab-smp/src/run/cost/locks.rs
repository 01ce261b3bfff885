//! What it costs to take and give back a lock that nobody else wants, timed by a module in the kernels.

use std::path::Path;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_machine::boot::{Clock, KeptRequest};
use trimtab_machine::calls::{self, Costs};
use trimtab_machine::guest::{self, Workload};
use trimtab_machine::kernel::Toolchain;
use trimtab_machine::testbed::Testbed;
use trimtab_report::common::Check;

use super::kernels::{self, Built, lines_for_modules};
use super::{CostRequest, measured};
use crate::report::cost::{ByBoot, ByKernel};

/// The workload that says what the module found.
const WORKLOAD: &str = "locks";

/// What locks cost in three boots.
pub(super) struct LockCosts {
    /// Instructions of each kind, by its name.
    pub(super) costs: ByBoot<Costs>,
    /// What is not the same in another boot.
    differs: Option<String>,
}

impl LockCosts {
    /// Builds the module, boots each kernel with it, twice, or finds it done. A kernel that takes no modules is
    /// built once more, so that nothing else that is said of it changes.
    ///
    /// # Errors
    /// Builds that fail, and guests that do not come up or say nothing.
    pub(super) fn get(
        work: &WorkDir,
        request: &CostRequest,
        toolchain: &Toolchain,
        built: ByKernel<&Built<'_>>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let of = |built: &Built<'_>, has_smp| {
            let name = kernels::name(has_smp);
            let locks = |cpus: &[u32]| match built.takes_modules()? {
                true => of_kernel(work, request, (built, name), cpus, observe),
                false => {
                    let inputs = kernels::inputs(request, toolchain, has_smp)?;
                    let inputs = inputs.with_lines(&lines_for_modules());
                    let built = Built::get(work, &request.config, &inputs, has_smp, observe)?;
                    of_kernel(work, request, (&built, name), cpus, observe)
                }
            };
            let cpus: &[u32] = if has_smp { &[1, 2] } else { &[1] };
            locks(cpus).with_context(|| format!("what a lock costs in {name} cannot be measured"))
        };
        let (up, smp) = (of(built.up, false)?, of(built.smp, true)?);
        let differs = up.iter().chain(&smp).find_map(|boots| boots.differs());
        let costs = |boots: &[Boots], number: usize| {
            boots.get(number).map(|boots| boots.first.clone()).unwrap_or_default()
        };
        let costs = ByBoot { up: costs(&up, 0), smp_one: costs(&smp, 0), smp: costs(&smp, 1) };
        Ok(Self { costs, differs })
    }

    /// Whether locks cost the same in a second boot of each kernel.
    pub(super) fn repeats(&self) -> Check {
        let all = format!("{} kinds in each of three boots", self.costs.up.len());
        let found = self.differs.clone().unwrap_or(all);
        Check::new("Locks cost the same in a second boot", self.differs.is_none(), found)
    }
}

/// What two boots of a kernel said.
struct Boots {
    first: Costs,
    second: Costs,
}

impl Boots {
    fn differs(&self) -> Option<String> {
        calls::difference(&self.first, &self.second)
    }
}

/// What locks cost in a kernel on each of these numbers of CPUs.
fn of_kernel(
    work: &WorkDir,
    request: &CostRequest,
    (built, name): (&Built<'_>, &str),
    cpus: &[u32],
    observe: &dyn Observe,
) -> Result<Vec<Boots>> {
    let stage = observe.stage(&format!("time locks of {name}"));
    let files = guest::modules(&built.lock_module(work)?);
    let workload = Workload { name: WORKLOAD.to_owned(), script: calls::locks_script() };
    let busybox = request.busybox.as_deref();
    let testbed = Testbed::prepare_files(work, Isa::X86_64, busybox, vec![workload], &files)?;
    let mut is_cached = testbed.cached();
    let mut boot = |cpus, repetition| {
        // The folder is that of the step.
        let mut asked = testbed.request(&built.image, Path::new("boot"));
        asked.hardware.cpus = cpus;
        // One nanosecond an instruction, as for calls.
        asked.hardware.clock = Clock::Instructions { shift: 0 };
        asked.workload = Some(WORKLOAD.to_owned());
        asked.modules = vec![calls::LOCK_MODULE.to_owned()];
        asked.limit = request.limit;
        let kernel = &built.image;
        let kept =
            KeptRequest { testbed: &testbed, kernel, request: asked, repetition, digest: () };
        let booted = kept.get().map_err(|error| measured::of_boot(error, name))?;
        is_cached &= booted.cached;
        anyhow::Ok(calls::lock_costs(&booted.record.said)?)
    };
    let boots =
        cpus.iter().map(|&cpus| Ok(Boots { first: boot(cpus, 0)?, second: boot(cpus, 1)? }));
    let boots: Result<Vec<Boots>> = boots.collect();
    let boots = boots?;
    stage.ended(is_cached, "");
    Ok(boots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_cost_in_a_second_boot_is_said() {
        let of = |spin: u64| Costs::from([("spin".to_owned(), spin)]);
        let differs = Boots { first: of(20), second: of(21) }.differs();
        let costs = ByBoot { up: of(0), smp_one: of(20), smp: of(20) };
        let check = LockCosts { costs: costs.clone(), differs }.repeats();
        assert!(!check.ok && check.detail.contains("spin costs 20"), "{check:?}");
        let same = Boots { first: of(0), second: of(0) }.differs();
        assert!(LockCosts { costs, differs: same }.repeats().ok);
    }
}
