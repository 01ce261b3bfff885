//! The whole job: a program, tuned.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use trimtab_lab::executor::Local;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};

use super::arms::{arms, seeds};
use super::bench::{Bench, Setup, evaluator, prepare};
use super::compiler::{Compiler, Family};
use super::decided::timed;
use super::evaluator::Evaluation;
use super::request::Request;
use super::results::{checks, minimal_report, repeat, speed_and_size, what_fails};
use crate::ablation::minimal;
use crate::report::{ArmResult, Best, Evaluations, Seconds, SpaceSummary, TuneProgram};
use crate::search::{Failures, Outcome, SearchLog, drive};
use crate::space::Point;

/// Sets of flags that a search names at once.
pub const BATCH: usize = 2;
/// Share of the gain that the fewest flags must keep.
const KEPT: f64 = 0.97;
/// Tunes a program.
///
/// # Errors
/// What is missing, a program that cannot be tuned, and an interrupt: the same command goes on then.
pub fn tune(request: &Request, observe: &dyn Observe) -> Result<TuneProgram> {
    // Long: the steps of tuning, one after the other.
    let start = Instant::now();
    let prepared = prepare(request, observe)?;
    let bench = Bench::make(request, &prepared, observe)?;
    let arms = measured_arms(&bench, &prepared, observe)?;
    takes_flags(&bench, &arms)?;
    let searching = Instant::now();
    let (driven, failing, deciding) = searched(&bench, observe)?;
    let search = searching.elapsed();
    let stage = observe.stage("find the fewest flags that keep the gain");
    let (point, cost) = best(&bench, &driven, &arms);
    let minimal = minimal(&point, cost, KEPT, |points| bench.outcomes(points))?;
    stage.done(&format!("{} flags", minimal.point.chosen().count()));
    let mut report = TuneProgram {
        program: prepared.subject.name.clone(),
        origin: prepared.subject.origin.clone(),
        compiler: prepared.compiler.version.clone(),
        space: SpaceSummary {
            flags: bench.space.len() as u64,
            options: bench.space.options() as u64,
            level: bench.space.level.clone(),
            refused: bench.refused.clone(),
        },
        search: request.method.name().to_owned(),
        budget: request.budget as u64,
        seed: request.seed,
        best: Best {
            flags: bench.space.flags(&point).join(" "),
            fitness_ratio: cost,
            ..Best::default()
        },
        history: driven
            .best_so_far()
            .into_iter()
            .map(|cost| Some(cost).filter(|cost| cost.is_finite()))
            .collect(),
        front: speed_and_size(&bench, &driven)?,
        failing: what_fails(&bench, &failing)?,
        arms: arms.into_iter().map(|(result, _)| result).collect(),
        ..TuneProgram::default()
    };
    minimal_report(&bench, &minimal, &mut report)?;
    judged(&bench, &mut report, observe)?;
    timed(&bench, &driven, &minimal, &mut report, observe)?;
    let counts = &bench.evaluator.counts;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    report.evaluations = Evaluations {
        proposed: driven.proposed,
        built: count(&counts.built),
        measured: count(&counts.measured),
        failed: count(&counts.failed),
        deduplicated: count(&counts.deduplicated),
        known: count(&counts.known),
    };
    report.seconds = Seconds {
        total: start.elapsed().as_secs_f64(),
        search: search.as_secs_f64(),
        deciding: deciding.as_secs_f64(),
        evaluating: count(&counts.milliseconds) as f64 / 1000.0,
    };
    report.checks = checks(&report);
    report.repeat = repeat(request, &prepared, &bench);
    Ok(report)
}

/// What users would take instead, measured: with the points that are the same in the space.
fn measured_arms(
    bench: &Bench<'_>,
    prepared: &Setup,
    observe: &dyn Observe,
) -> Result<Vec<(ArmResult, Option<Point>)>> {
    let stage = observe.stage("measure what users would take");
    let family = prepared.compiler.family;
    let arms = arms(family, bench.request.portable);
    let owned = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
    let flags: Vec<Vec<String>> = arms.iter().map(|arm| owned(arm.flags)).collect();
    let found = bench.evaluator.evaluate_all(&Local, &flags, |done| stage.at(done as u64))?;
    let mut results: Vec<(ArmResult, Option<Point>)> = arms
        .iter()
        .zip(&found)
        .map(|(arm, found)| {
            let point = bench.space.point(arm.flags);
            let mut result = arm_result(bench, arm.name, &arm.flags.join(" "), found);
            result.is_in_space = point.is_some();
            (result, point)
        })
        .collect();
    if family == Family::Gcc {
        results.push((thin_lto(bench, prepared)?, None));
    }
    stage.done(&format!("{} arms", results.len()));
    Ok(results)
}

fn arm_result(bench: &Bench<'_>, name: &str, flags: &str, found: &Evaluation) -> ArmResult {
    let good = found.good();
    ArmResult {
        name: name.to_owned(),
        flags: flags.to_owned(),
        ratio: good.map(|good| bench.ratio(good)),
        bytes_ratio: good.map(|good| good.bytes / bench.base.bytes),
        reason: match found {
            Evaluation::Failed(reason) => Some(reason.clone()),
            Evaluation::WorkingImage(_) => None,
        },
        is_in_space: false,
    }
}

/// ThinLTO, which only clang has.
fn thin_lto(bench: &Bench<'_>, prepared: &Setup) -> Result<ArmResult> {
    const NAME: &str = "ThinLTO (clang)";
    let flags = ["-O2", "-flto=thin", "-fuse-ld=lld"].map(str::to_owned);
    let clang = match Compiler::find("clang") {
        Ok(clang) => clang,
        Err(error) => {
            let found = Evaluation::Failed(format!("not measured: {error}"));
            return Ok(arm_result(bench, NAME, &flags.join(" "), &found));
        }
    };
    let mut other = evaluator(bench.request, prepared, &clang)?;
    if let Ok(counted) = bench.evaluator.reference(&bench.space.flags(&bench.space.base())) {
        other.expect(counted.output);
    }
    let found = other.evaluate(&flags)?;
    Ok(arm_result(bench, NAME, &flags.join(" "), &found))
}

/// Fails where the build gives the same program whatever it is told.
fn takes_flags(bench: &Bench<'_>, arms: &[(ArmResult, Option<Point>)]) -> Result<()> {
    let works = arms.iter().filter(|(arm, _)| !arm.name.contains("clang"));
    let mut ratios = works.flat_map(|(arm, _)| [arm.ratio, arm.bytes_ratio]).flatten();
    if ratios.any(|ratio| ratio != 1.0) {
        return Ok(());
    }
    // All arms are alike, as of a program in which there is nothing to optimise: not so without any.
    let plain = bench.evaluator.evaluate(&["-O0".to_owned()])?;
    if plain.good().is_none_or(|plain| plain.image != bench.base.image) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the build of {} gives the same program with all flags that were tried; expected it to take \
         $CFLAGS or $CXXFLAGS",
        bench.evaluator.subject().name
    ))
    .hint("hand them over in --build, as in 'make CFLAGS=\"$CFLAGS\"'")
    .into())
}

/// Searches; gives what was tried, what fails, and how long the search itself took to decide.
fn searched(bench: &Bench<'_>, observe: &dyn Observe) -> Result<(SearchLog, Failures, Duration)> {
    let Request { method, budget, seed, .. } = *bench.request;
    let stage = observe.stage("search");
    stage.parts(budget as u64);
    let seeds = seeds(&bench.space, family_of(bench));
    let mut search = method.begin(&bench.space, &seeds, seed, budget);
    let mut failing = Failures::default();
    let (mut tried, mut least) = (0_u64, f64::INFINITY);
    let mut evaluating = Duration::ZERO;
    let start = Instant::now();
    let driven = drive(search.as_mut(), budget, BATCH, |points| -> Result<Vec<Outcome>> {
        let begun = Instant::now();
        let outcomes = bench.outcomes(points)?;
        evaluating += begun.elapsed();
        for (point, outcome) in points.iter().zip(&outcomes) {
            match outcome {
                Outcome::Failed => failing.fails(point),
                Outcome::Measured { .. } => failing.runs(point),
            }
            least = least.min(outcome.cost());
        }
        tried += points.len() as u64;
        show(&stage, tried, least);
        Ok(outcomes)
    })?;
    let deciding = start.elapsed().saturating_sub(evaluating);
    stage.done(&format!("{:.4} of the base's instructions after {tried} sets of flags", least));
    Ok((driven, failing, deciding))
}

fn show(stage: &Stage, tried: u64, least: f64) {
    stage.at(tried);
    if least.is_finite() {
        stage.note(&format!("best so far {:+.2} %", (least - 1.0) * 100.0));
    }
}

/// Whose options a space has.
pub fn family_of(bench: &Bench<'_>) -> Family {
    match bench.space.point(&["-flto=thin"]) {
        Some(_) => Family::Clang,
        None => Family::Gcc,
    }
}

/// The best of all that was tried and of the arms that the space has.
fn best(
    bench: &Bench<'_>,
    driven: &SearchLog,
    arms: &[(ArmResult, Option<Point>)],
) -> (Point, f64) {
    let tried = driven.best().map(|tried| (tried.point.clone(), tried.outcome.cost()));
    let arms = arms.iter().filter_map(|(arm, point)| Some((point.clone()?, arm.ratio?)));
    let all = arms.chain(tried).chain([(bench.space.base(), 1.0)]);
    all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_else(|| (bench.space.base(), 1.0))
}

/// Counts the run that is held out.
fn judged(bench: &Bench<'_>, report: &mut TuneProgram, observe: &dyn Observe) -> Result<()> {
    let Some(command) = &bench.evaluator.subject().held_out else { return Ok(()) };
    let stage = observe.stage("count the run that is held out");
    let counted = |flags: &str| -> Result<Option<f64>> {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        let found = bench.evaluator.held_out(&flags, command)?;
        Ok(found.good().map(|good| good.instructions))
    };
    let Some(base) = counted(&bench.space.flags(&bench.space.base()).join(" "))? else {
        return Ok(());
    };
    report.best.held_out_ratio = counted(&report.best.flags)?.map(|count| count / base);
    report.minimal.held_out_ratio = counted(&report.minimal.flags)?.map(|count| count / base);
    stage.done("");
    Ok(())
}
