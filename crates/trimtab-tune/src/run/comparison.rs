//! Searches compared: the same space, evaluator, table, budget and seeds of the population.

use std::time::Instant;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_report::common::Repeat;
use trimtab_stats::{Interval, geometric_mean, paired_ratio};

use super::arms::seeds;
use super::bench::{Bench, prepare};
use super::optuna::Optuna;
use super::program::{BATCH, family_of};
use super::request::{Programs, Request};
use crate::report::{BenchRow, BenchSummary, TuneBench};
use crate::search::{Method, Outcome, Search, SearchLog, drive};
use crate::space::Point;

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
    /// All else, of which the program, search, budget and seed are not looked at.
    pub request: Request,
}

/// What Optuna's search is called.
const OPTUNA: &str = "optuna-tpe";

/// Compares.
///
/// # Errors
/// What is missing, and a program that cannot be tuned.
pub fn compare(asked: &Comparison, observe: &dyn Observe) -> Result<TuneBench> {
    // Long: each budget continues the same searches.
    let start = Instant::now();
    let mut report = TuneBench { seeds: asked.seeds, ..TuneBench::default() };
    report.budgets = asked.budgets.iter().map(|budget| *budget as u64).collect();
    let mut names: Vec<String> =
        asked.methods.iter().map(|method| method.name().to_owned()).collect();
    let optuna = match asked.optuna {
        true => Optuna::find(&asked.request.work, observe),
        false => Err("it was not asked for".to_owned()),
    };
    match &optuna {
        Ok(_) => names.push(OPTUNA.to_owned()),
        Err(why) => report.left_out.push(format!("{OPTUNA}: {why}")),
    }
    for program in &asked.programs {
        let mut request = asked.request.clone();
        request.program = Programs::Catalogue(program.clone());
        let prepared = prepare(&request, observe)?;
        let bench = Bench::make(&request, &prepared, observe)?;
        let seeds_of_population = seeds(&bench.space, family_of(&bench));
        let most = asked.budgets.iter().copied().max().unwrap_or(1);
        for name in &names {
            let stage = observe.stage(&format!("search {program} by {name}"));
            stage.parts(asked.seeds);
            let mut bests: Vec<Vec<f64>> = vec![Vec::new(); asked.budgets.len()];
            for seed in 1..=asked.seeds {
                let method = asked.methods.iter().find(|method| method.name() == name);
                let mut search: Box<dyn Search> = match (method, &optuna) {
                    (Some(method), _) => {
                        method.begin(&bench.space, &seeds_of_population, seed, most)
                    }
                    (None, Ok(optuna)) => {
                        Box::new(optuna.begin(&bench.space, &seeds_of_population, seed, most)?)
                    }
                    (None, Err(_)) => continue,
                };
                let driven = run(&bench, search.as_mut(), most)?;
                for (place, budget) in asked.budgets.iter().enumerate() {
                    bests[place].push(best_after(&driven, *budget));
                }
                stage.at(seed);
            }
            for (place, budget) in asked.budgets.iter().enumerate() {
                report.rows.push(BenchRow {
                    program: program.clone(),
                    search: name.clone(),
                    budget: *budget as u64,
                    ratio: interval(&bests[place])?,
                    samples: bests[place].clone(),
                    wins: 0,
                    losses: 0,
                });
            }
            stage.done("");
        }
    }
    count_wins(&mut report);
    report.summary = summary(&report, &names)?;
    report.seconds = start.elapsed().as_secs_f64();
    report.repeat = Repeat { command: asked.request.command.clone(), ..Repeat::default() };
    Ok(report)
}

fn run(bench: &Bench<'_>, search: &mut dyn Search, budget: usize) -> Result<SearchLog> {
    let evaluate = |points: &[Point]| -> Result<Vec<Outcome>> { bench.outcomes(points) };
    drive(search, budget, BATCH, evaluate)
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
