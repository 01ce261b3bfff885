//! Interleaved runs that decide among the best.

use anyhow::Result;
use trimtab_lab::interrupt;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_report::number;
use trimtab_stats::{Interval, Race, RaceTest, mean, paired_ratio, spearman};

use super::stopwatch::{Seconds, Stopwatch};
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
pub const FIRST: u32 = 5;
/// Level of the tests by which they leave.
const LEVEL: f64 = 0.05;

/// Times the candidates in turn, round after round, beside `base`, the first of them: who is clearly
/// slower than the fastest leaves. The order turns round each round.
///
/// # Errors
/// What is no fault of the flags. A candidate that does not build, work or run is left out; where that is the
/// base, nothing is timed.
pub fn race(
    stopwatch: &mut dyn Stopwatch,
    candidates: &[Candidate],
    rounds: u32,
    observe: &dyn Observe,
) -> Result<Timing> {
    if rounds < 2 || candidates.len() < 2 {
        return Ok(Timing::default());
    }
    let stage = observe.stage("time the best in turn");
    stage.parts(u64::from(rounds));
    let (ready, mut left_out) = made_ready(stopwatch, candidates, &stage)?;
    let mut runs = Runs::new(ready.len())?;
    // What is made ready first is the base, unless that does not work.
    if ready.first().copied() == candidates.first() {
        runs.run(stopwatch, rounds, &stage)?;
    }
    for (candidate, failed) in ready.iter().zip(&runs.failed) {
        let candidate = (*candidate).clone();
        left_out.extend(failed.clone().map(|reason| LeftOut { candidate, reason }));
    }
    let base = candidates.first();
    if left_out.iter().any(|left| Some(&left.candidate) == base) {
        let name = base.map_or("", |base| base.name.as_str());
        for candidate in candidates {
            if !left_out.iter().any(|left| left.candidate == *candidate) {
                let reason = format!("{name}, beside which it is timed, does not work");
                left_out.push(LeftOut { candidate: candidate.clone(), reason });
            }
        }
        stage.done(&format!("{name} cannot be timed"));
        return Ok(Timing { left_out, ..Timing::default() });
    }
    let timed = runs.results(&ready);
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

/// The candidates that work, in order, and the others. Where the base does not work, no other is looked at.
fn made_ready<'c>(
    stopwatch: &mut dyn Stopwatch,
    candidates: &'c [Candidate],
    stage: &Stage,
) -> Result<(Vec<&'c Candidate>, Vec<LeftOut>)> {
    let (mut ready, mut left_out) = (Vec::new(), Vec::new());
    stopwatch.begin()?;
    for candidate in candidates {
        stage.note(&candidate.name);
        match stopwatch.ready(&candidate.flags) {
            Ok(()) => ready.push(candidate),
            Err(Fault::Other(error)) => return Err(error),
            Err(Fault::Flags(reason)) => {
                left_out.push(LeftOut { candidate: candidate.clone(), reason });
                if ready.is_empty() {
                    break;
                }
            }
        }
    }
    Ok((ready, left_out))
}

/// The runs of a race: the first of those that are ready is the base.
struct Runs {
    race: Race,
    /// Seconds of each run: of processors, and on the clock.
    times: Vec<Vec<Seconds>>,
    /// Why one failed in a round.
    failed: Vec<Option<String>>,
}

impl Runs {
    fn new(count: usize) -> Result<Self> {
        let race = Race::new(count, RaceTest::PairedT, LEVEL, FIRST as usize)?;
        Ok(Self { race, times: vec![Vec::new(); count], failed: vec![None; count] })
    }

    /// Runs the rounds; they end where the base fails, or nothing is left to be compared.
    fn run(&mut self, stopwatch: &mut dyn Stopwatch, rounds: u32, stage: &Stage) -> Result<()> {
        for round in 0..rounds {
            let is_decided = self.race.alive().len() < 2 && self.race.rounds() >= FIRST as usize;
            if interrupt::requested() || is_decided {
                break;
            }
            let mut order: Vec<usize> = self.race.alive().to_vec();
            // What the others are held against is always run.
            if !order.contains(&0) {
                order.insert(0, 0);
            }
            if round % 2 == 1 {
                order.reverse();
            }
            for place in order {
                self.run_one(stopwatch, place, round)?;
            }
            if self.failed[0].is_some() {
                break;
            }
            let took = |place: usize| self.times[place].last().map_or(f64::INFINITY, |took| took.0);
            let relative = |place: &usize| match self.failed[*place] {
                Some(_) => f64::INFINITY,
                None => took(*place) / took(0),
            };
            let results: Vec<f64> = self.race.alive().iter().map(relative).collect();
            self.race.round(&results)?;
            stage.at(u64::from(round) + 1);
        }
        Ok(())
    }

    fn run_one(&mut self, stopwatch: &mut dyn Stopwatch, place: usize, round: u32) -> Result<()> {
        let why = match stopwatch.time(place) {
            Ok(took) if took.0 > 0.0 && took.1 > 0.0 => {
                self.times[place].push(took);
                return Ok(());
            }
            Ok(_) => "it took no time that can be measured".to_owned(),
            Err(Fault::Flags(why)) => why,
            Err(Fault::Other(error)) => return Err(error),
        };
        self.failed[place] = Some(format!("in round {}: {why}", round + 1));
        Ok(())
    }

    /// What came of those that did not fail and ran often enough to say so.
    fn results(&self, ready: &[&Candidate]) -> Vec<TimeResult> {
        let timed = ready.iter().enumerate().filter_map(|(place, candidate)| {
            let times = &self.times[place];
            let ratio = |side: fn(&Seconds) -> f64| {
                let own: Vec<f64> = times.iter().map(side).collect();
                let base: Vec<f64> = self.times[0].iter().take(own.len()).map(side).collect();
                match place {
                    0 => Some(Interval { mean: 1.0, low: 1.0, high: 1.0 }),
                    _ => paired_ratio(&base, &own).ok(),
                }
            };
            Some(TimeResult {
                candidate: (*candidate).clone(),
                ratio: ratio(|took| took.0)?,
                wall: ratio(|took| took.1)?,
                rounds: times.len() as u32,
                is_left: self.race.alive().contains(&place),
            })
            .filter(|_| self.failed[place].is_none())
        });
        timed.collect()
    }
}

#[cfg(test)]
mod tests {
    use trimtab_lab::observe::Silent;

    use super::*;

    /// Takes as long as the flag says; fails where it is to.
    #[derive(Default)]
    struct Script {
        ready: Vec<String>,
        rounds: Vec<u32>,
    }

    impl Stopwatch for Script {
        fn begin(&mut self) -> Result<()> {
            Ok(())
        }

        fn ready(&mut self, flags: &[String]) -> Result<(), Fault> {
            if flags[0] == "broken" {
                return Err(Fault::Flags("it is wrong".to_owned()));
            }
            self.ready.push(flags[0].clone());
            self.rounds.push(0);
            Ok(())
        }

        fn time(&mut self, number: usize) -> Result<Seconds, Fault> {
            self.rounds[number] += 1;
            let noise = f64::from(self.rounds[number] % 3) / 1000.0;
            match self.ready[number].as_str() {
                "fails" if self.rounds[number] == 3 => Err(Fault::Flags("it hangs".to_owned())),
                "nothing" => Ok((0.0, 0.0)),
                "slow" => Ok((2.0 + noise, 2.0)),
                _ => Ok((1.0 + noise, 1.0)),
            }
        }
    }

    /// What is known of each candidate, by its name.
    type ByName<T> = Vec<(String, T)>;

    fn raced(names: &[&str]) -> (ByName<u32>, ByName<String>) {
        let candidate = |name: &&str| Candidate {
            name: (*name).to_owned(),
            flags: vec![(*name).to_owned()],
            counted: None,
        };
        let candidates: Vec<Candidate> = names.iter().map(candidate).collect();
        let found = race(&mut Script::default(), &candidates, 6, &Silent).unwrap();
        let timed = found.timed.into_iter().map(|timed| (timed.candidate.name, timed.rounds));
        let left = found.left_out.into_iter().map(|left| (left.candidate.name, left.reason));
        (timed.collect(), left.collect())
    }

    fn names<T>(found: &[(String, T)]) -> Vec<&str> {
        found.iter().map(|found| found.0.as_str()).collect()
    }

    #[test]
    fn a_candidate_that_fails_is_left_out_with_the_reason() {
        for (bad, why) in [
            ("broken", "it is wrong"),
            ("fails", "in round 3: it hangs"),
            ("nothing", "in round 1: it took no time that can be measured"),
        ] {
            let (timed, left) = raced(&["base", bad, "slow", "other"]);
            assert_eq!(names(&timed), ["base", "slow", "other"], "{bad}");
            assert_eq!(left, [(bad.to_owned(), why.to_owned())]);
            assert_eq!((timed[0].1, timed[2].1), (6, 6), "{bad}: the others go on");
        }
    }

    #[test]
    fn without_the_base_nothing_is_timed_and_that_is_said_of_each() {
        for bad in ["broken", "fails", "nothing"] {
            let (timed, left) = raced(&[bad, "slow", "other"]);
            assert!(timed.is_empty(), "{bad}: {timed:?}");
            assert_eq!(names(&left), [bad, "slow", "other"]);
            assert!(left[1].1.contains(&format!("{bad}, beside which it is timed")), "{left:?}");
        }
    }
}
