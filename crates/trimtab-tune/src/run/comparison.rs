//! Searches compared: the same space, evaluator, table, budget and seeds of the population.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use trimtab_lab::observe::Observe;
use trimtab_report::common::{Check, Repeat};
use trimtab_stats::{Interval, geometric_mean, paired_ratio};

use super::arms::{program_arms, seeds};
use super::job::BATCH;
use super::optuna::Optuna;
use super::program::ProgramSubject;
use super::request::{Programs, Setup};
use super::stopwatch::Here;
use super::timing::{Candidate, race};
use super::tuning::{Tuning, opened, prepare};
use crate::report::{BenchRow, BenchSummary, BenchTimed, TuneBench};
use crate::search::{Method, Outcome, Search, SearchLog, drive};

/// What is compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Programs of the catalogue.
    pub programs: Vec<String>,
    /// Searches.
    pub methods: Vec<Method>,
    /// Whether Optuna's TPE is among them, where it can be had.
    pub optuna: bool,
    /// How many seeds each search is begun with, from 1: 2 or more.
    pub seeds: u64,
    /// Numbers of sets of flags after which searches are looked at.
    pub budgets: Vec<usize>,
    /// Rounds in which the best of the first search is timed beside the level that is tuned on top of; below 2: it
    /// is not.
    pub rounds: u32,
    /// What programs are evaluated with.
    pub setup: Setup,
}

/// What Optuna's search is called.
const OPTUNA: &str = "optuna-tpe";
/// What the best of what users would take is called, which needs no search.
const BEST_ARM: &str = "best-arm";

/// Compares.
///
/// # Errors
/// What is missing, and a program that cannot be tuned.
pub fn compare(asked: &Comparison, observe: &dyn Observe) -> Result<TuneBench> {
    // Long: programs, searches and what users would take, one after the other.
    let start = Instant::now();
    let mut report = TuneBench { seeds: asked.seeds, ..TuneBench::default() };
    report.budgets = asked.budgets.iter().map(|budget| *budget as u64).collect();
    let mut names: Vec<String> =
        asked.methods.iter().map(|method| method.name().to_owned()).collect();
    // What Optuna is installed into must be a work directory by then.
    let work = opened(&asked.setup.work)?.path().to_owned();
    let optuna = match asked.optuna {
        true => Optuna::find(&work, observe),
        false => Err("it was not asked for".to_owned()),
    };
    match &optuna {
        Ok(_) => names.push(OPTUNA.to_owned()),
        Err(why) => report.left_out.push(format!("{OPTUNA}: {why}")),
    }
    let searches = Searches { asked, optuna: optuna.as_ref().ok() };
    for program in &asked.programs {
        let tools = prepare(&Programs::Catalogue(program.clone()), &asked.setup, None, observe)?;
        let subject = tools.program(&tools.compiler);
        let tuning = Tuning::make(&tools, &subject, &subject, observe)?;
        for name in &names {
            let stage = observe.stage(&format!("search {program} by {name}"));
            stage.parts(asked.seeds);
            let seeds = (1..=asked.seeds).map(|seed| {
                let found = searches.run(&tuning, name, seed);
                stage.at(seed);
                found
            });
            let driven = seeds.collect::<Result<Vec<Driven>>>()?;
            for budget in &asked.budgets {
                report.rows.push(row(program, name, *budget, &driven)?);
            }
            stage.done("");
            let is_first = names.first() == Some(name);
            if let Some(first) = driven.first().filter(|_| is_first && asked.rounds > 1) {
                report.timed.push(timed(
                    &tuning,
                    &subject,
                    (name, &first.log),
                    asked.rounds,
                    observe,
                )?);
            }
        }
        let arms = program_arms(&tuning, &tools, &subject, observe)?;
        let arms = arms.iter().filter(|arm| arm.result.is_in_space);
        let best = arms.filter_map(|arm| arm.result.ratio).fold(1.0, f64::min);
        for budget in &asked.budgets {
            let samples = vec![best; asked.seeds as usize];
            report.rows.push(BenchRow {
                program: program.clone(),
                search: BEST_ARM.to_owned(),
                budget: *budget as u64,
                ratio: interval(&samples)?,
                samples,
                ..BenchRow::default()
            });
        }
    }
    names.push(BEST_ARM.to_owned());
    count_wins(&mut report);
    report.summary = summary(&report, &names)?;
    report.checks = vec![check(&report)];
    report.checks.extend(slower(&report.timed));
    report.seconds = start.elapsed().as_secs_f64();
    report.repeat = Repeat { command: asked.setup.command.clone(), ..Repeat::default() };
    Ok(report)
}

/// What searches are begun with.
struct Searches<'a> {
    asked: &'a Comparison,
    optuna: Option<&'a Optuna>,
}

/// What a search did, and how long it took itself to decide.
struct Driven {
    log: SearchLog,
    deciding: Duration,
}

impl Searches<'_> {
    fn run(&self, tuning: &Tuning<'_>, name: &str, seed: u64) -> Result<Driven> {
        let most = self.asked.budgets.iter().copied().max().unwrap_or(1);
        let first = seeds(&tuning.space, tuning.family);
        let method = self.asked.methods.iter().find(|method| method.name() == name);
        let mut search: Box<dyn Search> = match (method, self.optuna) {
            (Some(method), _) => method.begin(&tuning.space, &first, seed, most),
            (None, Some(optuna)) => Box::new(optuna.begin(&tuning.space, &first, seed, most)?),
            (None, None) => bail!("there is no search {name}"),
        };
        let (start, mut evaluating) = (Instant::now(), Duration::ZERO);
        let log = drive(search.as_mut(), most, BATCH, |points| -> Result<Vec<Outcome>> {
            let begun = Instant::now();
            let outcomes = tuning.outcomes(points);
            evaluating += begun.elapsed();
            outcomes
        })?;
        Ok(Driven { log, deciding: start.elapsed().saturating_sub(evaluating) })
    }
}

/// A search on a program, after a number of sets of flags.
fn row(program: &str, search: &str, budget: usize, driven: &[Driven]) -> Result<BenchRow> {
    let samples: Vec<f64> = driven.iter().map(|driven| best_after(&driven.log, budget)).collect();
    let share = |of: fn(&SearchLog, usize) -> f64| {
        driven.iter().map(|driven| of(&driven.log, budget)).sum::<f64>() / driven.len() as f64
    };
    // Of the whole search: it is not known how long it took for a part of it.
    let tried: usize = driven.iter().map(|driven| driven.log.tried.len()).sum();
    let deciding: f64 = driven.iter().map(|driven| driven.deciding.as_secs_f64()).sum();
    Ok(BenchRow {
        program: program.to_owned(),
        search: search.to_owned(),
        budget: budget as u64,
        ratio: interval(&samples)?,
        samples,
        wins: 0,
        losses: 0,
        known: share(SearchLog::known),
        deciding: deciding / tried.max(1) as f64,
    })
}

/// Times the best that a search found, beside the level that is tuned on top of.
fn timed(
    tuning: &Tuning<'_>,
    subject: &ProgramSubject<'_>,
    (search, log): (&str, &SearchLog),
    rounds: u32,
    observe: &dyn Observe,
) -> Result<BenchTimed> {
    let base = tuning.space.flags(&tuning.space.base());
    let mut found = BenchTimed {
        program: subject.source.name.clone(),
        search: search.to_owned(),
        ..BenchTimed::default()
    };
    let best = log.best().map(|best| (tuning.space.flags(&best.point), best.outcome.cost()));
    let Some((flags, cost)) = best.filter(|(_, cost)| *cost < 1.0) else { return Ok(found) };
    found.flags = flags.join(" ");
    found.fitness_ratio = Some(cost);
    let candidate =
        |name: &str, flags, cost| Candidate { name: name.to_owned(), flags, counted: Some(cost) };
    let candidates = [candidate("base", base, 1.0), candidate("best", flags, cost)];
    let timing = race(&mut Here::new(subject), &candidates, rounds, observe)?;
    match timing.timed.get(1) {
        Some(timed) => {
            found.time_ratio = Some(timed.ratio);
            found.wall_ratio = Some(timed.wall);
            found.rounds = timed.rounds;
        }
        None => found.reason = timing.left_out.first().map(|left| left.reason.clone()),
    }
    Ok(found)
}

/// That no program is slower with what was found for it, or cannot be timed, if any was to be.
fn slower(timed: &[BenchTimed]) -> Option<Check> {
    let wrong = timed.iter().filter_map(|found| match (&found.reason, found.time_ratio) {
        (Some(reason), _) => Some(format!("{}: {reason}", found.program)),
        (None, Some(ratio)) if ratio.low > 1.0 => Some(found.program.clone()),
        _ => None,
    });
    let wrong: Vec<String> = wrong.collect();
    let ran = timed.iter().filter(|found| found.time_ratio.is_some()).count();
    let text = match wrong.as_slice() {
        [] => format!("of {ran} that were timed"),
        wrong => wrong.join(", "),
    };
    (!timed.is_empty())
        .then(|| Check::new("no program takes longer with what was found", wrong.is_empty(), text))
}

/// What must hold of the first search.
fn check(report: &TuneBench) -> Check {
    let first = report.rows.first().map_or("", |row| row.search.as_str());
    let arms = report.rows.iter().filter(|row| row.search == BEST_ARM);
    let worse: Vec<String> = arms
        .filter(|arm| {
            let own = report.rows.iter().filter(|row| row.search == first);
            let mut same = own.filter(|row| row.program == arm.program && row.budget == arm.budget);
            same.any(|row| row.samples.iter().zip(&arm.samples).any(|(own, arm)| own > arm))
        })
        .map(|arm| format!("{} after {}", arm.program, arm.budget))
        .collect();
    Check::new(
        format!("{first} never ends worse than the best of what users would take"),
        worse.is_empty(),
        if worse.is_empty() { "with no seed".to_owned() } else { worse.join(", ") },
    )
}

/// The least ratio after so many sets of flags; 1, which costs nothing, where all failed.
fn best_after(driven: &SearchLog, budget: usize) -> f64 {
    let best = driven.best_so_far();
    let at = budget.min(best.len()).checked_sub(1).and_then(|place| best.get(place)).copied();
    at.filter(|ratio| ratio.is_finite()).unwrap_or(1.0)
}

/// Mean and interval of ratios.
fn interval(ratios: &[f64]) -> Result<Interval> {
    Ok(paired_ratio(&vec![1.0; ratios.len()], ratios)?)
}

/// Counts for each row how often the first search was better and worse, seed by seed.
fn count_wins(report: &mut TuneBench) {
    let Some(first) = report.rows.first().map(|row| row.search.clone()) else { return };
    let ours: Vec<BenchRow> =
        report.rows.iter().filter(|row| row.search == first).cloned().collect();
    for row in report.rows.iter_mut().filter(|row| row.search != first) {
        let same = |our: &&BenchRow| our.program == row.program && our.budget == row.budget;
        let Some(our) = ours.iter().find(same) else { continue };
        let pairs = || our.samples.iter().zip(&row.samples);
        row.wins = pairs().filter(|(our, other)| other < our).count() as u64;
        row.losses = pairs().filter(|(our, other)| other > our).count() as u64;
    }
}

/// All programs together: for each seed the geometric mean over programs, and its interval over seeds;
/// and the same of the first search's, in times of it.
fn summary(report: &TuneBench, names: &[String]) -> Result<Vec<BenchSummary>> {
    let means = |search: &str, budget: u64| -> Result<Vec<f64>> {
        (0..report.seeds as usize)
            .map(|seed| {
                let of = report.rows.iter();
                let of = of.filter(|row| row.search == search && row.budget == budget);
                let ratios: Vec<f64> =
                    of.filter_map(|row| row.samples.get(seed).copied()).collect();
                geometric_mean(&ratios).context("a search has no results")
            })
            .collect()
    };
    let mut summary = Vec::new();
    for budget in &report.budgets {
        let first = means(names.first().map_or("", String::as_str), *budget)?;
        for name in names {
            let own = means(name, *budget)?;
            let beside: Vec<f64> = own.iter().zip(&first).map(|(own, first)| own / first).collect();
            summary.push(BenchSummary {
                search: name.clone(),
                budget: *budget,
                ratio: interval(&own)?,
                beside_first: interval(&beside)?,
            });
        }
    }
    Ok(summary)
}
