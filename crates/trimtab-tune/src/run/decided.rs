//! What is timed: the best beside what users would take, and what each flag does.

use anyhow::Result;
use trimtab_lab::observe::Observe;

use super::arms::MeasuredArm;
use super::stopwatch::Stopwatch;
use super::timing::{Candidate, FIRST, LeftOut, Timing, race};
use super::tuning::Tuning;
use crate::ablation::Minimal;
use crate::report::{FailingFlags, Take, TimedFlags, TuneProgram};
use crate::search::SearchLog;

/// Flags whose effect on time is measured, the ones with the largest effect on instructions.
const TIMED_EFFECTS: usize = 6;
/// Sets of flags from the search that are timed to see whether instructions rank them well.
const SPREAD: usize = 4;

/// What was found so far.
pub struct Found<'a> {
    /// What it was found with.
    pub tuning: &'a Tuning<'a>,
    /// What the search tried.
    pub driven: &'a SearchLog,
    /// The fewest flags.
    pub minimal: &'a Minimal,
    /// What users would take.
    pub arms: &'a [MeasuredArm],
}

/// Times the best, and what each of the fewest flags does.
///
/// # Errors
/// What is no fault of the flags.
pub fn timed(
    found: &Found<'_>,
    (rounds, stopwatch): (u32, &mut dyn Stopwatch),
    report: &mut TuneProgram,
    observe: &dyn Observe,
) -> Result<()> {
    let Found { tuning, minimal, .. } = found;
    let candidates = candidates(found, report);
    let timing = race(stopwatch, &candidates, rounds, observe)?;
    if let Some(best) =
        timing.timed.iter().find(|timed| timed.candidate.flags.join(" ") == report.best.flags)
    {
        report.best.low = Some(best.ratio.low);
        report.best.high = Some(best.ratio.high);
    }
    // Of what time does not tell apart, the fewest flags with the fewest instructions.
    let fewest = timing.timed.iter().find(|timed| timed.is_left && timed.candidate.name == FEWEST);
    let fastest = timing.fastest.and_then(|place| timing.timed.get(place));
    if let Some(taken) = fewest.or(fastest) {
        report.take = Take::new(&taken.candidate.name, &taken.candidate.flags.join(" "));
    }
    told(&timing, report);
    let mut by_effect: Vec<usize> = (0..report.effects.len()).collect();
    let size = |place: &usize| (report.effects[*place].fitness_ratio.unwrap_or(1.0) - 1.0).abs();
    by_effect.sort_by(|a, b| size(b).total_cmp(&size(a)));
    by_effect.truncate(TIMED_EFFECTS);
    let without = by_effect.iter().map(|place| {
        let option = minimal.effects[*place].option;
        Candidate {
            name: format!("without {}", tuning.space.option(option)),
            flags: tuning.space.flags(&minimal.point.clone().with(option.choice, 0)),
            counted: Some(1.0),
        }
    });
    let all = Candidate {
        name: FEWEST.to_owned(),
        flags: tuning.space.flags(&minimal.point),
        counted: Some(1.0),
    };
    let candidates: Vec<Candidate> = std::iter::once(all).chain(without).collect();
    // All of them to the end, so in rounds before any leaves: it is not the fastest that is looked for.
    let timing = race(stopwatch, &candidates, rounds.min(FIRST), observe)?;
    report.not_timed.extend(not_timed(&timing));
    for place in by_effect {
        let name = format!("without {}", report.effects[place].flag);
        let found = timing.timed.iter().find(|timed| timed.candidate.name == name);
        if let Some(found) = found {
            report.effects[place].time_ratio = Some(found.ratio.mean);
            report.effects[place].low = Some(found.ratio.low);
            report.effects[place].high = Some(found.ratio.high);
        }
    }
    Ok(())
}

/// What the fewest flags are called.
pub const FEWEST: &str = "fewest flags";

/// What is timed: the base, the best and the fewest flags, what users would take, and some of what was
/// tried, from the best to the worst. Of the same flags the first.
fn candidates(found: &Found<'_>, report: &TuneProgram) -> Vec<Candidate> {
    let Found { tuning, driven, arms, .. } = found;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let base = tuning.space.flags(&tuning.space.base());
    let mut all = vec![
        Candidate { name: base.join(" "), flags: base, counted: Some(1.0) },
        Candidate {
            name: FEWEST.to_owned(),
            flags: words(&report.minimal.flags),
            counted: Some(report.minimal.fitness_ratio),
        },
        Candidate {
            name: "best flags".to_owned(),
            flags: words(&report.best.flags),
            counted: Some(report.best.fitness_ratio),
        },
    ];
    // Here all is built by one compiler.
    let arms = arms.iter().map(|arm| &arm.result).filter(|arm| arm.other_compiler.is_none());
    all.extend(arms.map(|arm| Candidate {
        name: arm.name.clone(),
        flags: words(&arm.flags),
        // What cannot be counted may run all the same: QEMU does not have all instructions.
        counted: arm.ratio,
    }));
    let mut tried: Vec<_> =
        driven.tried.iter().filter(|tried| tried.outcome.cost().is_finite()).collect();
    tried.sort_by(|a, b| a.outcome.cost().total_cmp(&b.outcome.cost()));
    for part in 1..=SPREAD {
        let place = tried.len() * part / (SPREAD + 1);
        if let Some(tried) = tried.get(place) {
            all.push(Candidate {
                name: format!("tried, rank {}", place + 1),
                flags: tuning.space.flags(&tried.point),
                counted: Some(tried.outcome.cost()),
            });
        }
    }
    let mut seen: Vec<Vec<String>> = Vec::new();
    all.retain(|candidate| {
        let new = !seen.contains(&candidate.flags);
        seen.push(candidate.flags.clone());
        new
    });
    all
}

fn not_timed(timing: &Timing) -> impl Iterator<Item = FailingFlags> {
    let row = |left: &LeftOut| FailingFlags {
        flags: left.candidate.name.clone(),
        reason: left.reason.clone(),
    };
    timing.left_out.iter().map(row)
}

fn told(timing: &Timing, report: &mut TuneProgram) {
    report.timed = timing
        .timed
        .iter()
        .map(|timed| TimedFlags {
            name: timed.candidate.name.clone(),
            flags: timed.candidate.flags.join(" "),
            fitness_ratio: timed.candidate.counted,
            time_ratio: timed.ratio,
            wall_ratio: timed.wall,
            rounds: timed.rounds,
            is_left: timed.is_left,
        })
        .collect();
    report.not_timed = not_timed(timing).collect();
    report.fastest = timing.fastest.map(|place| place as u64);
    report.screen_rank_correlation = timing.correlation;
}
