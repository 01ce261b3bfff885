//! What `trimtab tune profile` found: `trimtab.tune.profile/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::Repeat;
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{code, count, seconds, share};
use trimtab_report::section::{Head, Headline, Section, Table, Tile, name, number};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

/// The system calls that commands make.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuneProfile {
    /// Its schema.
    pub schema: Schema<TuneProfile>,
    /// The command.
    pub program: String,
    /// How it ended.
    pub ended: String,
    /// Processes, with that of the command itself.
    pub processes: u64,
    /// System calls of all processes.
    pub total: u64,
    /// Each that was made, the most frequent first.
    pub calls: Vec<CallRow>,
    /// The distribution of how often calls were made, by how often.
    pub ecdf: Vec<EcdfPoint>,
    /// Wall time of the traced run, in seconds.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A system call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// Its name.
    pub name: String,
    /// How often it was made.
    pub times: u64,
    /// How often it ended with an error.
    pub failed: u64,
    /// Seconds from entering to leaving it, in all: with what it waits for, and the tracer's share.
    pub seconds: f64,
    /// Its weight in the fitness of a kernel: its share of all calls.
    pub weight: f64,
}

/// A step of an empirical cumulative distribution function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct EcdfPoint {
    /// So often,
    pub times: u64,
    /// or less often, this share of the calls that were made at all was made.
    pub share: f64,
}

impl TuneProfile {
    /// Fills in weights, order, total and distribution from how often each call was made.
    pub fn sorted(mut self) -> Self {
        self.calls.retain(|call| call.times > 0);
        self.calls.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.name.cmp(&b.name)));
        self.total = self.calls.iter().map(|call| call.times).sum();
        for call in &mut self.calls {
            call.weight = call.times as f64 / self.total.max(1) as f64;
        }
        let all = self.calls.len();
        self.ecdf.clear();
        for (place, call) in self.calls.iter().enumerate() {
            // All from here on were made so often or less often.
            if self.ecdf.last().is_none_or(|point| point.times != call.times) {
                let share = (all - place) as f64 / all as f64;
                self.ecdf.push(EcdfPoint { times: call.times, share });
            }
        }
        self.ecdf.reverse();
        self
    }

    fn table(&self) -> Section {
        let rows = self.calls.iter().enumerate().map(|(place, call)| {
            let key = |field: &str| format!("calls.{place}.{field}");
            row![
                code(&call.name),
                count(key("times"), call.times),
                count(key("failed"), call.failed),
                seconds(key("seconds"), call.seconds),
                share(key("weight"), call.weight),
            ]
        });
        let columns =
            [name("call"), number("times"), number("failed"), number("time"), number("weight")];
        let title = "System calls";
        let lede = "Time is from entering to leaving a call, with what it waits for and what tracing \
                    costs. The weight is its share of all calls.";
        Section::new("calls", title, lede).with(Table::new(title, columns, rows))
    }

    fn distribution(&self) -> Option<Section> {
        let figure = Figure::Steps {
            what: "share of calls, in %".to_owned(),
            along: "made so often or less often".to_owned(),
            steps: self.ecdf.iter().map(|point| point.times.to_string()).collect(),
            lines: vec![Line {
                label: "calls".to_owned(),
                class: "after",
                broken: false,
                values: self.ecdf.iter().map(|point| point.share * 100.0).collect(),
            }],
            scale: Scale::Linear,
        };
        let lede =
            "Of the calls that were made at all, the share that was made so often or less often.";
        (self.ecdf.len() > 1)
            .then(|| Section::new("ecdf", "How often calls are made", lede).with(figure))
    }
}

impl Report for TuneProfile {
    const VERB: &'static str = "tune profile";
    const SCHEMA: &'static str = "trimtab.tune.profile/1";

    fn title(&self) -> String {
        format!("System calls of {}", self.program)
    }

    fn head(&self) -> Head {
        let first: Vec<Phrase> = self.calls.iter().take(5).map(|call| code(&call.name)).collect();
        let most = trimtab_report::phrase::joined(first, ", ");
        Head {
            headline: Headline::One(count("total", self.total).into()),
            what: phrase!["system calls of ", code(&self.program)],
            summary: vec![
                phrase!["Most often: ", most, "."],
                phrase![
                    "It ",
                    self.ended.clone(),
                    "; processes: ",
                    count("processes", self.processes),
                    ".",
                ],
            ],
            tiles: vec![Tile::new(
                count("calls.length", self.calls.len() as u64),
                "different calls",
                "",
            )],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        [Some(self.table()), self.distribution()].into_iter().flatten().collect()
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("traced run", "seconds", self.seconds)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first_and_the_distribution_says_how_many_are_rare() {
        let call = |name: &str, times| CallRow { name: name.into(), times, ..CallRow::default() };
        let calls = vec![call("read", 1), call("open", 6), call("never", 0), call("close", 1)];
        let profile = TuneProfile { calls, ..TuneProfile::default() }.sorted();
        let names: Vec<&str> = profile.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!((names, profile.total), (vec!["open", "close", "read"], 8));
        assert_eq!(profile.calls[0].weight, 0.75);
        let rare = EcdfPoint { times: 1, share: 2.0 / 3.0 };
        assert_eq!(profile.ecdf, [rare, EcdfPoint { times: 6, share: 1.0 }]);
        assert_eq!(TuneProfile::from_json(&profile.to_json()).unwrap(), profile);
        assert!(profile.terminal(80).contains("open") && profile.page().contains("made so often"));
        assert_eq!(TuneProfile::default().sorted().ecdf, []);
    }
}
