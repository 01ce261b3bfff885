//! The whole job: a program, tuned.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_report::number;

use super::arms::{MeasuredArm, measured_arms, seeds};
use super::decided::{Found, timed};
use super::evaluator::HeldOut;
use super::request::Request;
use super::results::{checks, minimal_report, repeat, speed_and_size, what_fails};
use super::tuning::{Tuning, prepare};
use crate::ablation::minimal;
use crate::report::{Best, Evaluations, Seconds, SpaceSummary, TuneProgram};
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
    let tools = prepare(&request.program, &request.setup, observe)?;
    let tuning = Tuning::make(&tools, observe)?;
    let arms = measured_arms(&tuning, observe)?;
    takes_flags(&tuning, &arms)?;
    let searching = Instant::now();
    let (driven, failing, deciding) = searched(&tuning, request, observe)?;
    let search = searching.elapsed();
    let stage = observe.stage("find the fewest flags that keep the gain");
    let (point, cost) = best(&tuning, &driven, &arms);
    let minimal = minimal(&point, cost, KEPT, |points| tuning.outcomes(points))?;
    stage.done(&format!("{} flags", minimal.point.chosen().count()));
    let mut report = TuneProgram {
        program: tools.subject.name.clone(),
        origin: tools.subject.origin.clone(),
        compiler: tools.compiler.version.clone(),
        space: SpaceSummary {
            flags: tuning.space.len() as u64,
            options: tuning.space.options() as u64,
            level: tuning.space.level.clone(),
            refused: tuning.refused.clone(),
        },
        search: request.method.name().to_owned(),
        budget: request.budget as u64,
        seed: request.seed,
        best: Best {
            flags: tuning.space.flags(&point).join(" "),
            fitness_ratio: cost,
            ..Best::default()
        },
        known_by_hundred: driven
            .known_images()
            .chunks(100)
            .map(|hundred| {
                hundred.iter().filter(|known| **known).count() as f64 / hundred.len() as f64
            })
            .collect(),
        history: driven
            .best_so_far()
            .into_iter()
            .map(|cost| Some(cost).filter(|cost| cost.is_finite()))
            .collect(),
        front: speed_and_size(&tuning, &driven)?,
        failing: what_fails(&tuning, &failing)?,
        arms: arms.iter().map(|arm| arm.result.clone()).collect(),
        ..TuneProgram::default()
    };
    minimal_report(&tuning, &minimal, &mut report)?;
    judged(&tuning, &mut report, observe)?;
    timed(
        &Found { tuning: &tuning, driven: &driven, minimal: &minimal, arms: &arms },
        request.rounds,
        &mut report,
        observe,
    )?;
    let counts = &tuning.evaluator.counts;
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
        processor: processor_seconds(),
    };
    report.checks = checks(&report);
    report.repeat = repeat(request, &tuning);
    Ok(report)
}

/// Time of processors that this process and all that it started and waited for took.
fn processor_seconds() -> f64 {
    let of = |who| {
        let usage = getrusage(who).ok();
        let times = usage.map(|usage| [usage.user_time(), usage.system_time()]);
        times.into_iter().flatten().map(|time| time.num_microseconds() as f64 / 1e6).sum::<f64>()
    };
    of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)
}

/// Fails where the build gives the same program whatever it is told.
fn takes_flags(tuning: &Tuning<'_>, arms: &[MeasuredArm]) -> Result<()> {
    let own = arms.iter().map(|arm| &arm.result).filter(|arm| arm.other_compiler.is_none());
    let mut ratios = own.flat_map(|arm| [arm.ratio, arm.bytes_ratio]).flatten();
    if ratios.any(|ratio| ratio != 1.0) {
        return Ok(());
    }
    // All arms are alike, as of a program in which there is nothing to optimise: not so without any.
    let plain = tuning.evaluator.evaluate(&["-O0".to_owned()])?;
    if plain.good().is_none_or(|plain| plain.image != tuning.base.image) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the build of {} gives the same program with all flags that were tried; expected it to take \
         $CFLAGS or $CXXFLAGS",
        tuning.evaluator.subject().name
    ))
    .hint("hand them over in --build, as in 'make CFLAGS=\"$CFLAGS\"'")
    .into())
}

/// Searches; gives what was tried, what fails, and how long the search itself took to decide.
fn searched(
    tuning: &Tuning<'_>,
    request: &Request,
    observe: &dyn Observe,
) -> Result<(SearchLog, Failures, Duration)> {
    let Request { method, budget, seed, .. } = *request;
    let stage = observe.stage("search");
    stage.parts(budget as u64);
    let seeds = seeds(&tuning.space, tuning.tools.compiler.family);
    let mut search = method.begin(&tuning.space, &seeds, seed, budget);
    let mut failing = Failures::default();
    let (mut tried, mut least) = (0_u64, f64::INFINITY);
    let mut evaluating = Duration::ZERO;
    let start = Instant::now();
    let driven = drive(search.as_mut(), budget, BATCH, |points| -> Result<Vec<Outcome>> {
        let begun = Instant::now();
        let outcomes = tuning.outcomes(points)?;
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
    stage.done(&format!(
        "{} of the base's instructions after {tried} sets of flags",
        number::ratio(least)
    ));
    Ok((driven, failing, deciding))
}

fn show(stage: &Stage, tried: u64, least: f64) {
    stage.at(tried);
    if least.is_finite() {
        stage.note(&format!("best so far {}", number::signed_share(least - 1.0)));
    }
}

/// The best of all that was tried and of the arms that the space has.
fn best(tuning: &Tuning<'_>, driven: &SearchLog, arms: &[MeasuredArm]) -> (Point, f64) {
    let tried = driven.best().map(|tried| (tried.point.clone(), tried.outcome.cost()));
    let arms = arms.iter().filter_map(|arm| Some((arm.point.clone()?, arm.result.ratio?)));
    let all = arms.chain(tried).chain([(tuning.space.base(), 1.0)]);
    all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_else(|| (tuning.space.base(), 1.0))
}

/// Counts the run that is held out.
fn judged(tuning: &Tuning<'_>, report: &mut TuneProgram, observe: &dyn Observe) -> Result<()> {
    let Some(command) = &tuning.evaluator.subject().held_out else { return Ok(()) };
    let stage = observe.stage("count the run that is held out");
    let counted = |flags: &str| -> Result<Option<HeldOut>> {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        tuning.evaluator.held_out(&flags, command)
    };
    let Some(base) = counted(&tuning.space.flags(&tuning.space.base()).join(" "))? else {
        return Ok(());
    };
    let compares = tuning.evaluator.subject().compares_output;
    let ratio = |flags: &str| -> Result<Option<f64>> {
        let found = counted(flags)?.filter(|found| !compares || found.prints_as(&base));
        Ok(found.map(|found| found.instructions / base.instructions))
    };
    report.best.held_out_ratio = ratio(&report.best.flags)?;
    report.minimal.held_out_ratio = ratio(&report.minimal.flags)?;
    stage.done("");
    Ok(())
}
