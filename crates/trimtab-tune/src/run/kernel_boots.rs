//! The kernels of a report, booted again with guests in other states: how far what was found depends on that.

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_report::common::Check;
use trimtab_stats::Interval;

use super::evaluator::{Evaluation, WorkingImage};
use super::kernel_job::held_out_ratio;
use super::states::{in_states, over_states};
use super::subject::Costs;
use super::tuning::Tuning;
use crate::report::{FailingFlags, KernelCalls, TuneProgram};
use crate::space::Point;

/// Boots the kernel as it is, that of the fewest flags and the best of other searches, where they have one, and says
/// between what ratios are.
///
/// # Errors
/// What is no fault of the flags.
pub fn boot_again(
    tuning: &Tuning<'_>,
    (minimal, others): (&Point, &[Option<Point>]),
    boots: u32,
    kernel: &mut KernelCalls,
    observe: &dyn Observe,
) -> Result<()> {
    let stage = observe.stage("boot the kernels of the report with guests in other states");
    stage.parts(2 + others.len() as u64);
    kernel.boots = u64::from(boots);
    let mut booted = |point: &Point, part| {
        let flags = tuning.space.flags(point);
        let found = match tuning.evaluator.peek(&flags)? {
            Evaluation::WorkingImage(good) => told(tuning, &flags, &good, boots, kernel),
            Evaluation::Failed(_) => Ok(None),
        };
        stage.at(part);
        found
    };
    let base = booted(&tuning.space.base(), 1)?;
    let tuned = booted(minimal, 2)?;
    let mut found = Vec::new();
    for (place, point) in (3..).zip(others) {
        found.push(match point {
            Some(point) => booted(point, place)?,
            None => None,
        });
    }
    stage.done(&format!("{boots} boots of each"));
    let Some(base) = base else { return Ok(()) };
    let names: Vec<String> = kernel.calls.iter().map(|call| call.name.clone()).collect();
    let intervals =
        |costs: Option<Vec<Costs>>| Intervals::of(tuning, &base, costs?.as_slice(), &names);
    if let Some(tuned) = intervals(tuned) {
        (kernel.fitness_boots_ratio, kernel.held_out_boots_ratio) = (tuned.fitness, tuned.held_out);
        for (call, interval) in kernel.calls.iter_mut().zip(tuned.calls) {
            call.boots_ratio = interval;
        }
    }
    for (other, costs) in kernel.beside.iter_mut().zip(found) {
        if let Some(found) = intervals(costs) {
            (other.fitness_boots_ratio, other.held_out_boots_ratio) =
                (found.fitness, found.held_out);
            other.calls_boots_ratio = found.calls;
        }
    }
    Ok(())
}

/// What flags cost in all states, where they work in them; where not, that is told.
fn told(
    tuning: &Tuning<'_>,
    flags: &[String],
    good: &WorkingImage,
    boots: u32,
    kernel: &mut KernelCalls,
) -> Result<Option<Vec<Costs>>> {
    match in_states(&tuning.evaluator, flags, good, boots)? {
        Ok(costs) => Ok(Some(costs)),
        Err(reason) => {
            kernel.failed_boots.push(FailingFlags { flags: flags.join(" "), reason });
            Ok(None)
        }
    }
}

/// Between what ratios are.
struct Intervals {
    fitness: Option<Interval>,
    held_out: Option<Interval>,
    calls: Vec<Option<Interval>>,
}

impl Intervals {
    fn of(tuning: &Tuning<'_>, base: &[Costs], costs: &[Costs], names: &[String]) -> Option<Self> {
        let fitness = &tuning.fitness;
        let call = |name: &String| {
            over_states(base, costs, |base, costs| Some(costs.get(name)? / base.get(name)?))
        };
        Some(Self {
            fitness: over_states(base, costs, |base, costs| fitness.ratio(base, costs)),
            held_out: over_states(base, costs, |base, costs| held_out_ratio(fitness, base, costs)),
            calls: names.iter().map(call).collect(),
        })
    }
}

/// That the kernel with the flags that are taken works in each boot; none where it was not booted again.
pub fn works_in_each_boot(report: &TuneProgram) -> Option<Check> {
    let kernel = report.kernel.as_ref().filter(|kernel| kernel.boots > 0)?;
    let is_shown = |failed: &&FailingFlags| {
        [&report.space.level, &report.minimal.flags].contains(&&failed.flags)
    };
    let failed = kernel.failed_boots.iter().find(is_shown);
    Some(Check::new(
        "the kernel with the fewest flags, and the one without any, work in each boot",
        failed.is_none(),
        match failed {
            None => format!("{} boots of each", kernel.boots),
            Some(FailingFlags { flags, reason }) => format!("{flags}: {reason}"),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Smaller, SpaceSummary};

    #[test]
    fn a_boot_that_does_not_work_is_a_failure_where_its_flags_are_taken() {
        let failed = |flags: &str| FailingFlags { flags: flags.into(), reason: "it hangs".into() };
        let report = |boots, failed_boots| TuneProgram {
            space: SpaceSummary { level: "-O2".into(), ..SpaceSummary::default() },
            minimal: Smaller { flags: "-O3".into(), ..Smaller::default() },
            kernel: Some(KernelCalls { boots, failed_boots, ..KernelCalls::default() }),
            ..TuneProgram::default()
        };
        assert_eq!(works_in_each_boot(&report(0, Vec::new())), None);
        assert_eq!(works_in_each_boot(&TuneProgram::default()), None);
        let holds = |failed| works_in_each_boot(&report(5, failed)).unwrap().ok;
        assert!(holds(Vec::new()) && holds(vec![failed("-fweb")]));
        assert!(!holds(vec![failed("-fweb"), failed("-O3")]) && !holds(vec![failed("-O2")]));
    }
}
