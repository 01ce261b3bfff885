//! What a run gave, as its report has it.

use std::collections::BTreeMap;

use anyhow::Result;
use trimtab_lab::tools;
use trimtab_report::common::{Check, Repeat};
use trimtab_report::number;
use trimtab_stats::Interval;

use super::core_model::{CYCLES, CoreModel, INSTRUCTIONS, WAITS};
use super::decided::FEWEST;
use super::evaluator::Evaluation;
use super::request::Request;
use super::subject::Costs;
use super::tuning::{Toolset, Tuning};
use crate::ablation::Minimal;
use crate::front::front;
use crate::report::{
    CoreCost, CoreCosts, FailingFlags, FlagEffect, FrontPoint, Smaller, Take, TuneProgram,
};
use crate::search::{Failures, SearchLog};

/// Flags that no others beat.
pub fn speed_and_size(tuning: &Tuning<'_>, driven: &SearchLog) -> Result<Vec<FrontPoint>> {
    let mut points = Vec::new();
    for tried in &driven.tried {
        // Known by now: it is read, and not built.
        let flags = tuning.space.flags(&tried.point);
        if tried.outcome.cost().is_finite()
            && let Evaluation::WorkingImage(good) = tuning.evaluator.peek(&flags)?
        {
            points.push(FrontPoint {
                flags: flags.join(" "),
                fitness_ratio: tuning.ratio(&good),
                bytes_ratio: good.bytes / tuning.base.bytes,
            });
        }
    }
    let numbers: Vec<(f64, f64)> =
        points.iter().map(|point| (point.fitness_ratio, point.bytes_ratio)).collect();
    Ok(front(&numbers).into_iter().map(|place| points[place].clone()).collect())
}

/// What fails: single flags, and those that do not go together, with the reason of a set that has them.
pub fn what_fails(tuning: &Tuning<'_>, failing: &Failures) -> Result<Vec<FailingFlags>> {
    let mut found = Vec::new();
    for (options, example) in failing.sets() {
        let flags = tuning.space.flags(&example);
        let reason = match tuning.evaluator.peek(&flags)? {
            Evaluation::Failed(reason) => reason,
            Evaluation::WorkingImage(_) => String::new(),
        };
        let options: Vec<&str> =
            options.iter().map(|option| tuning.space.option(*option)).collect();
        found.push(FailingFlags { flags: options.join(" "), reason });
    }
    Ok(found)
}

/// The fewest flags.
pub fn minimal_report(
    tuning: &Tuning<'_>,
    minimal: &Minimal,
    report: &mut TuneProgram,
) -> Result<()> {
    let flags = tuning.space.flags(&minimal.point);
    let bytes = match tuning.evaluator.peek(&flags)? {
        Evaluation::WorkingImage(good) => good.bytes / tuning.base.bytes,
        Evaluation::Failed(_) => 1.0,
    };
    report.minimal = Smaller {
        flags: flags.join(" "),
        fitness_ratio: minimal.cost,
        held_out_ratio: None,
        bytes_ratio: bytes,
        stopped: minimal.stopped,
    };
    report.effects = minimal
        .effects
        .iter()
        .map(|effect| FlagEffect {
            flag: tuning.space.option(effect.option).to_owned(),
            fitness_ratio: effect.without,
            ..FlagEffect::default()
        })
        .collect();
    report.take = Take::new(FEWEST, &report.minimal.flags);
    Ok(())
}

/// What a core does, where it is known before and after.
pub fn core_costs(model: &CoreModel, costs: Option<(&Costs, &Costs)>) -> CoreCosts {
    let of = |(base, tuned): (&Costs, &Costs)| {
        let names = [CYCLES, INSTRUCTIONS].into_iter().chain(WAITS);
        let rows = names.filter_map(|name| {
            let (base, tuned) = (*base.get(name)?, *tuned.get(name)?);
            let ratio = (base > 0.0).then(|| tuned / base);
            Some(CoreCost { what: name.replace('-', " "), base, tuned, ratio })
        });
        rows.collect()
    };
    CoreCosts {
        name: model.core.name.to_owned(),
        l1_cycles: model.core.l1_cycles,
        branch_cycles: model.core.branch_cycles,
        counts: costs.map(of).unwrap_or_default(),
    }
}

/// What must hold of a program.
pub fn checks(report: &TuneProgram) -> Vec<Check> {
    let slower = report.timed.iter().find(|timed| timed.name == report.take.name);
    vec![
        best_is_best(report),
        Check::new(
            "the flags to take are not slower than the base",
            slower.is_none_or(|timed| timed.time_ratio.low <= 1.0),
            slower.map_or("not timed".to_owned(), |timed| {
                let Interval { low, high, .. } = timed.time_ratio;
                format!("{} to {} of its time", number::ratio(low), number::ratio(high))
            }),
        ),
    ]
}

/// What must hold of whatever was tuned.
pub fn best_is_best(report: &TuneProgram) -> Check {
    let least = report.arms.iter().filter(|arm| arm.is_in_space);
    let least = least.filter_map(|arm| arm.ratio).fold(1.0, f64::min);
    Check::new(
        "the best flags are no worse than what users would take, where the search can choose it",
        report.best.fitness_ratio <= least,
        format!(
            "{} and {} of the base's {}",
            number::ratio(report.best.fitness_ratio),
            number::ratio(least),
            report.unit()
        ),
    )
}

/// What it takes to get it again.
pub fn repeat(request: &Request, tools: &Toolset, tuning: &Tuning<'_>) -> Repeat {
    let mut tool_versions = BTreeMap::from([
        ("compiler".to_owned(), tools.compiler.version.clone()),
        ("qemu-user".to_owned(), tools.counter.version.clone()),
    ]);
    if let Ok(llvm) = tools::llvm() {
        tool_versions.insert("clang".to_owned(), llvm.version.to_string());
    }
    let inputs = BTreeMap::from([
        ("subject".to_owned(), tools.source.key.hash()),
        ("image".to_owned(), tuning.base.image.clone()),
    ]);
    Repeat {
        command: request.setup.command.clone(),
        tool_versions,
        inputs,
        seed: request.plan.seed,
    }
}
