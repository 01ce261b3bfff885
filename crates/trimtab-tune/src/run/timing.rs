//! Interleaved runs that decide among the best.

use anyhow::Result;
use trimtab_lab::interrupt;
use trimtab_lab::observe::Observe;
use trimtab_report::number;
use trimtab_stats::{Interval, Race, RaceTest, mean, paired_ratio, spearman};

use super::stopwatch::Stopwatch;
use super::subject::Fault;

/// Something that is timed.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is called.
    pub name: String,
    /// Its flags.
    pub flags: Vec<String>,
    /// Its instructions, in times of those of the base; none where they cannot be counted.
    pub counted: Option<f64>,
}

/// How long a candidate takes.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeResult {
    /// The candidate.
    pub candidate: Candidate,
    /// Processor time, in times of that of the base, from runs in the same rounds.
    pub ratio: Interval,
    /// The same of the time on the clock.
    pub wall: Interval,
    /// Rounds that it ran in.
    pub rounds: u32,
    /// Whether it was still in the race at the end.
    pub is_left: bool,
}

/// A candidate that is not timed.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The candidate.
    pub candidate: Candidate,
    /// Why.
    pub reason: String,
}

/// What the race gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timing {
    /// All candidates that ran, in the order in which they were given.
    pub timed: Vec<TimeResult>,
    /// Those that do not work, and are not timed.
    pub left_out: Vec<LeftOut>,
    /// Place of the fastest among them, by means of those that are left.
    pub fastest: Option<usize>,
    /// Spearman's rank correlation between instructions and time over all candidates; none where they
    /// are too few or all alike.
    pub correlation: Option<f64>,
}

/// Rounds before any candidate leaves.
const FIRST: usize = 5;
/// Level of the tests by which they leave.
const LEVEL: f64 = 0.05;

/// Times the candidates in turn, round after round, beside `base`, the first of them: who is clearly
/// slower than the fastest leaves. The order turns round each round.
///
/// # Errors
/// What is no fault of the flags. A candidate that does not build, work or run is left out.
pub fn race(
    stopwatch: &mut dyn Stopwatch,
    candidates: &[Candidate],
    rounds: u32,
    observe: &dyn Observe,
) -> Result<Timing> {
    // Long: the rounds of one race, whose state is in these variables.
    if rounds < 2 || candidates.len() < 2 {
        return Ok(Timing::default());
    }
    let stage = observe.stage("time the best in turn");
    stage.parts(u64::from(rounds));
    let mut ready: Vec<&Candidate> = Vec::new();
    let mut left_out = Vec::new();
    stopwatch.begin()?;
    for candidate in candidates {
        stage.note(&candidate.name);
        match stopwatch.ready(&candidate.flags) {
            Ok(()) => ready.push(candidate),
            Err(Fault::Other(error)) => return Err(error),
            Err(Fault::Flags(reason)) => {
                left_out.push(LeftOut { candidate: candidate.clone(), reason });
            }
        }
    }
    let mut race = Race::new(ready.len(), RaceTest::PairedT, LEVEL, FIRST)?;
    let mut times: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ready.len()];
    for round in 0..rounds {
        if interrupt::requested() || (race.alive().len() < 2 && race.rounds() >= FIRST) {
            break;
        }
        let mut order: Vec<usize> = race.alive().to_vec();
        // What the others are held against is always run.
        if !order.contains(&0) {
            order.insert(0, 0);
        }
        if round % 2 == 1 {
            order.reverse();
        }
        for place in order {
            let took = match stopwatch.time(place) {
                Ok(took) => took,
                Err(Fault::Other(error)) => return Err(error),
                Err(Fault::Flags(_)) => (f64::INFINITY, f64::INFINITY),
            };
            times[place].push(took);
        }
        let base = times[0].last().map_or(f64::NAN, |took| took.0);
        let results: Vec<f64> = race
            .alive()
            .iter()
            .map(|place| times[*place].last().map_or(f64::INFINITY, |took| took.0 / base))
            .collect();
        race.round(&results)?;
        stage.at(u64::from(round) + 1);
    }
    let timed = ready.iter().enumerate().filter_map(|(place, &candidate)| {
        let ratio = |side: fn(&(f64, f64)) -> f64| {
            let own: Vec<f64> = times[place].iter().map(side).collect();
            let base: Vec<f64> = times[0].iter().take(own.len()).map(side).collect();
            match place {
                0 => Some(Interval { mean: 1.0, low: 1.0, high: 1.0 }),
                _ => paired_ratio(&base, &own).ok(),
            }
        };
        Some(TimeResult {
            candidate: candidate.clone(),
            ratio: ratio(|took| took.0)?,
            wall: ratio(|took| took.1)?,
            rounds: times[place].len() as u32,
            is_left: race.alive().contains(&place),
        })
    });
    let timed: Vec<TimeResult> = timed.collect();
    let left = (0..timed.len()).filter(|place| timed[*place].is_left);
    let fastest = left.min_by(|a, b| timed[*a].ratio.mean.total_cmp(&timed[*b].ratio.mean));
    let pairs = timed.iter().filter_map(|timed| Some((timed.candidate.counted?, timed.ratio.mean)));
    let (counted, took): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let correlation = spearman(&counted, &took).ok().map(|found| found.coefficient);
    let mean = mean(&took).unwrap_or(1.0);
    stage.done(&format!(
        "{} candidates, {} of the base on average",
        timed.len(),
        number::ratio(mean)
    ));
    Ok(Timing { timed, left_out, fastest, correlation })
}
