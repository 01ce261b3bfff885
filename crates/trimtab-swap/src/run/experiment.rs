//! A run with code swapped out. The phases are files of their own, in this order, and each borrows
//! from those before it:
//!
//! 1. [`workshop`]: source, build and testbed stand ready;
//! 2. [`traced`]: what the workloads run in the kernel without a plan;
//! 3. [`planned`]: the plan;
//! 4. [`swapped`]: the kernel that is linked by it;
//! 5. [`boots`]: both kernels run the workloads, as [`guest`] has them;
//! 6. [`soak`]: the self-test again and again, where that was asked for;
//! 7. [`measurements`] and [`result`]: all of it, as the report's model.

mod boots;
mod guest;
mod measurements;
mod planned;
mod result;
mod soak;
mod swapped;
mod traced;
mod workshop;

use crate::report::SwapRun;
use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_lab::threads;
use trimtab_lab::workdir::WorkDir;

use super::Request;
use boots::{Boots, Keep, Side};
use measurements::{Measurements, WorkloadRun};
use soak::Soak;
use swapped::SwappedKernel;
use traced::{Traces, Workloads};
use workshop::{Tools, Workshop};

/// Runs a kernel with its cold code swapped out.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a plan that cannot be, a guest that does
/// not come up.
pub fn run(request: &Request, observe: &dyn Observe) -> Result<SwapRun> {
    // Long: the phases, one after the other.
    let workloads = Workloads::of(request)?;
    request.check()?;
    let tools = Tools::find(request)?;
    let work = WorkDir::open(&request.work)?;
    trimtab_lab::interrupt::now_resumable();

    let workshop = Workshop::prepare(request, tools, &work, observe)?;
    let before = workshop.first_kernel(observe)?;
    let boots = Boots { bench: &workshop.testbed, request };
    let traces = Traces::record(&workloads, &boots, &before, observe)?;
    let known = traces.known();
    let plan = planned::plan(request, &before, &known, observe)?;
    let sweep = match request.sweep {
        true => {
            let held_out = traces.held_out();
            Some(planned::sweep(&work, request, &before, &known, &held_out, observe)?)
        }
        false => None,
    };
    let swapped = SwappedKernel::build(&workshop, &plan, observe)?;

    let count = |kernel, side, title| {
        let stage = observe.stage(title);
        let kept = workloads.each(&stage, |place, name| {
            boots.counted(kernel, name, traces.rounds[place], side, Keep::Counts)
        })?;
        stage.ended(kept.iter().all(|boot| boot.cached), &format!("{} boots", kept.len()));
        anyhow::Ok(kept)
    };
    let sides = [(&before, Side::Before), (&swapped.image, Side::After(&plan.id))];
    let [whole, out] = [
        count(sides[0].0, sides[0].1, "run the workloads with all code in memory")?,
        count(sides[1].0, sides[1].1, "run the workloads with code swapped out")?,
    ];
    let stage = observe.stage("wake a thread in time");
    let late = threads::each(&sides, |_, (kernel, side)| boots.latency(kernel, *side), |_| {})?;
    stage.ended(late.iter().all(|boot| boot.cached), "");
    let selftest = match request.selftest {
        0 => None,
        _ => {
            let stage = observe.stage("test it with all workloads");
            let boot = boots.selftest(&swapped.image, &plan.id)?;
            stage.ended(boot.cached, "");
            Some(boot)
        }
    };
    let soak = match request.soak {
        0 => None,
        _ => Some(Soak::run(&boots, &swapped.image, &plan.id, observe)?),
    };
    let names = workloads.names.iter().zip(&workloads.held_out);
    let rows = names.zip(&traces.rounds).zip(whole.into_iter().zip(out));
    let row = |(((name, held_out), rounds), (before, after)): ((_, &u32), _)| {
        let (name, held_out): (&String, &bool) = (name, held_out);
        WorkloadRun { name: name.clone(), held_out: *held_out, rounds: *rounds, before, after }
    };
    let workloads = rows.map(row).collect();
    let measurements = Measurements {
        workshop: &workshop,
        before: &before,
        plan: &plan,
        swapped: &swapped,
        workloads,
        late,
        selftest,
        soak,
        sweep,
    };
    result::model(&measurements)
}
