//! What tuning is, whatever is tuned: a search, the fewest flags, and the report of both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_report::number;

use super::arms::{MeasuredArm, seeds};
use super::request::Plan;
use super::results::{minimal_report, speed_and_size, what_fails};
use super::tuning::Tuning;
use crate::ablation::{Minimal, minimal};
use crate::report::{Best, Evaluations, Seconds, SpaceSummary, TuneProgram};
use crate::search::{Failures, Outcome, SearchLog, drive};
use crate::space::Point;

/// Sets of flags that a search names at once, where nothing else is asked for.
pub const BATCH: usize = 2;
/// Share of the gain that the fewest flags must keep.
const KEPT: f64 = 0.97;

/// What a search and an ablation gave.
pub struct Job {
    /// The report, as far as it does not depend on what is tuned.
    pub report: TuneProgram,
    /// What was tried.
    pub driven: SearchLog,
    /// The fewest flags.
    pub minimal: Minimal,
    /// The best flags.
    pub best: Point,
    /// How long the search took, and its own part of that.
    search: Duration,
    deciding: Duration,
}

impl Job {
    /// Searches, and leaves flags out.
    ///
    /// # Errors
    /// What is no fault of the flags, and an interrupt: the same goes on then.
    pub fn done(
        tuning: &Tuning<'_>,
        plan: &Plan,
        arms: &[MeasuredArm],
        observe: &dyn Observe,
    ) -> Result<Self> {
        let searching = Instant::now();
        let (driven, failing, deciding) = searched(tuning, plan, observe)?;
        let search = searching.elapsed();
        let stage = observe.stage("find the fewest flags that keep the gain");
        let (point, cost) = best(tuning, &driven, arms);
        let minimal = fewest(tuning, &point, cost, plan.ablation)?;
        stage.done(&format!("{} flags", minimal.point.chosen().count()));
        let mut report = TuneProgram {
            program: tuning.evaluator.subject().name().to_owned(),
            space: SpaceSummary {
                flags: tuning.space.len() as u64,
                options: tuning.space.options() as u64,
                level: tuning.space.level.clone(),
                refused: tuning.refused.clone(),
                left_out: tuning.left_out.clone(),
            },
            search: plan.method.name().to_owned(),
            budget: plan.budget as u64,
            seed: plan.seed,
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
            front: speed_and_size(tuning, &driven)?,
            failing: what_fails(tuning, &failing)?,
            arms: arms.iter().map(|arm| arm.result.clone()).collect(),
            ..TuneProgram::default()
        };
        minimal_report(tuning, &minimal, &mut report)?;
        Ok(Self { report, driven, minimal, best: point, search, deciding })
    }

    /// The report, with how often what was done, and how long that took since `start`.
    pub fn counted(self, tuning: &Tuning<'_>, start: Instant) -> TuneProgram {
        let counts = &tuning.evaluator.counts;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut report = self.report;
        report.evaluations = Evaluations {
            proposed: self.driven.proposed,
            built: count(&counts.built),
            measured: count(&counts.measured),
            failed: count(&counts.failed),
            deduplicated: count(&counts.deduplicated),
            known: count(&counts.known),
        };
        report.seconds = Seconds {
            total: start.elapsed().as_secs_f64(),
            search: self.search.as_secs_f64(),
            deciding: self.deciding.as_secs_f64(),
            evaluating: count(&counts.milliseconds) as f64 / 1000.0,
            processor: processor_seconds(),
        };
        report
    }
}

/// The fewest flags that keep the gain, as far as `most` evaluations say.
fn fewest(tuning: &Tuning<'_>, point: &Point, cost: f64, most: Option<usize>) -> Result<Minimal> {
    let most = most.unwrap_or(usize::MAX);
    let mut spent = 0;
    minimal(point, cost, KEPT, |points| {
        spent += points.len();
        match spent > most {
            true => Ok(None),
            false => tuning.outcomes(points).map(Some),
        }
    })
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

/// Searches; gives what was tried, what fails, and how long the search itself took to decide.
pub fn searched(
    tuning: &Tuning<'_>,
    plan: &Plan,
    observe: &dyn Observe,
) -> Result<(SearchLog, Failures, Duration)> {
    let Plan { method, budget, seed, batch, .. } = *plan;
    let stage = observe.stage("search");
    stage.parts(budget as u64);
    let seeds = seeds(&tuning.space, tuning.family);
    let mut search = method.begin(&tuning.space, &seeds, seed, budget);
    let mut failing = Failures::default();
    let (mut tried, mut least) = (0_u64, f64::INFINITY);
    let mut evaluating = Duration::ZERO;
    let start = Instant::now();
    let driven = drive(search.as_mut(), budget, batch, |points| -> Result<Vec<Outcome>> {
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
    stage.done(&format!("{} of the base's cost after {tried} sets of flags", number::ratio(least)));
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
