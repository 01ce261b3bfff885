//! What a kernel's calls cost, before and after.

use serde::{Deserialize, Serialize};
use trimtab_report::phrase::{change_by, code, count, or_none, share};
use trimtab_report::section::{Block, Column, Section, Table, name, number, text};
use trimtab_report::{Phrase, phrase, row};
use trimtab_stats::{CONFIDENCE_TEXT, Interval};

use super::{FailingFlags, Line, Take, TuneProgram};
use crate::space::configuration::parted;

/// What a kernel's calls cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCalls {
    /// How often each was made; the median counts.
    pub rounds: u64,
    /// Those that flags were found by first, then those that judge.
    pub calls: Vec<CallCost>,
    /// Calls that this kernel does not have.
    pub missing: Vec<String>,
    /// Calls of the profile that are not measured: they have no part in the fitness.
    pub not_covered: Vec<String>,
    /// What other searches found with the same budget, seed and flags to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<OtherSearch>,
    /// Boots of each of these kernels with guests in other states, by which the intervals are; 0 where there were none,
    /// as in older reports.
    #[serde(default, skip_serializing_if = "is_none")]
    pub boots: u64,
    /// Between what the ratio of the fitness is, in these boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitness_boots_ratio: Option<Interval>,
    /// The same of the calls that are held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_boots_ratio: Option<Interval>,
    /// Flags with which a kernel did not work in one of these boots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_boots: Vec<FailingFlags>,
}

/// Whether there were no such boots.
fn is_none(boots: &u64) -> bool {
    *boots == 0
}

/// The best of another search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherSearch {
    /// Its name.
    pub search: String,
    /// The flags with the fewest instructions of all that it tried.
    pub flags: String,
    /// Instructions in times of those at the level; none where nothing that it tried works.
    pub fitness_ratio: Option<f64>,
    /// The same of the calls that are held out.
    pub held_out_ratio: Option<f64>,
    /// Bytes of the kernel in times of those at the level.
    pub bytes_ratio: Option<f64>,
    /// Instructions of each call in times of those at the level, in the order of the calls.
    pub calls: Vec<Option<f64>>,
    /// Between what `fitness_ratio` is in boots with guests in other states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitness_boots_ratio: Option<Interval>,
    /// The same of the calls that are held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_boots_ratio: Option<Interval>,
    /// The same of each call; none at all where it was not booted so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls_boots_ratio: Vec<Option<Interval>>,
}

/// A call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallCost {
    /// Its name.
    pub name: String,
    /// Its share of the fitness, 0 to 1; 0 where it is held out.
    pub weight: f64,
    /// Instructions at the level that was tuned on top of.
    pub base: f64,
    /// Instructions with the fewest flags.
    pub tuned: f64,
    /// The latter in times of the former.
    pub ratio: f64,
    /// Between what that is in boots with guests in other states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots_ratio: Option<Interval>,
}

impl Take {
    /// These flags and lines of configuration, with lines for builds of kernels.
    pub fn kernel(flags: &str) -> Self {
        let words: Vec<&str> = flags.split_whitespace().collect();
        let (own, fragment) = parted(&words);
        let own = own.join(" ");
        let mut lines = vec![
            ("make in a kernel's source", format!("make KCFLAGS=\"{own}\"")),
            ("shells", format!("export KCFLAGS=\"{own}\"")),
        ];
        if !fragment.is_empty() {
            lines.push(("a fragment of the kernel's configuration", fragment.join("\n")));
        }
        let line = |(what, line): (&str, String)| Line { what: what.to_owned(), line };
        let lines = lines.into_iter().map(line).collect();
        Self { name: "fewest flags".to_owned(), flags: flags.to_owned(), lines }
    }
}

impl TuneProgram {
    /// What the headline's number is of.
    pub(super) fn what(&self) -> Phrase {
        match &self.kernel {
            None => phrase![self.unit(), " of ", code(&self.program)],
            Some(_) => phrase![self.unit(), " of system calls of ", code(&self.program)],
        }
    }

    pub(super) fn what_is_held_out(&self) -> &'static str {
        match &self.kernel {
            None => "On the run that is held out: ",
            Some(_) => "Calls that are held out, all the same: ",
        }
    }

    pub(super) fn calls(&self) -> Option<Section> {
        let kernel = self.kernel.as_ref()?;
        let rows = kernel.calls.iter().enumerate().map(|(place, call)| {
            let key = |field: &str| format!("kernel.calls.{place}.{field}");
            let mut row = row![
                code(&call.name),
                count(key("base"), call.base as u64),
                count(key("tuned"), call.tuned as u64),
                change(key("ratio"), call.ratio),
            ];
            row.extend(kernel.interval(key("boots_ratio"), call.boots_ratio));
            for (other, found) in kernel.beside.iter().enumerate() {
                let key = |field: &str| format!("kernel.beside.{other}.{field}.{place}");
                let ratio = found.calls.get(place).copied().flatten();
                row.push(or_none(ratio, |ratio| change(key("calls"), ratio)));
                let interval = found.calls_boots_ratio.get(place).copied().flatten();
                row.extend(kernel.interval(key("calls_boots_ratio"), interval));
            }
            row.push(match call.weight > 0.0 {
                true => share(key("weight"), call.weight).into(),
                false => Phrase::from("held out"),
            });
            row
        });
        let columns = kernel.columns(&self.space.level);
        let mut lede = match self.core {
            None => phrase![
                "Instructions of a call, its median over ",
                count("kernel.rounds", kernel.rounds),
                " rounds in a guest",
            ],
            Some(_) => phrase!["Cycles of a call, its median over all times that a guest made it"],
        };
        lede.push(phrase![
            ", with ",
            code(&self.space.level),
            " alone and with the fewest flags. What is held out had no part in finding them.",
        ]);
        if !kernel.beside.is_empty() {
            lede.push(" Beside them, the best of other searches with the same budget.");
        }
        let title = "System calls";
        let mut section = Section::new("calls", title, lede).with(Table::new(title, columns, rows));
        section = section.with_all(kernel.in_other_states(self.unit()));
        let lists = [
            ("Not in this kernel", &kernel.missing),
            ("In the profile, and not measured", &kernel.not_covered),
        ];
        let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
        Some(section.with_all(lists.flat_map(|(heading, names)| {
            [Block::Heading(heading.to_owned()), Block::Names(names.clone())]
        })))
    }
}

/// A change by a ratio at `key`.
fn change(key: String, ratio: f64) -> Phrase {
    Phrase::from(change_by(format!("{key}-1"), ratio - 1.0))
}

impl KernelCalls {
    /// The columns of the table of calls, where `level` is what was tuned on top of.
    fn columns(&self, level: &str) -> Vec<Column> {
        let mut columns = vec![name("call"), number(level), number("tuned"), number("change")];
        let interval = || (self.boots > 0).then(|| number(CONFIDENCE_TEXT));
        columns.extend(interval());
        for found in &self.beside {
            columns.push(number(&found.search));
            columns.extend(interval());
        }
        columns.push(text("fitness"));
        columns
    }

    /// Between what a ratio at `key` is, as a cell of a table, where kernels were booted with guests in other states.
    fn interval(&self, key: String, interval: Option<Interval>) -> Option<Phrase> {
        let shown = |Interval { low, high, .. }| {
            phrase![change(format!("{key}.low"), low), " to ", change(format!("{key}.high"), high),]
        };
        (self.boots > 0).then(|| or_none(interval, shown))
    }

    /// All calls together in guests of other states, and in which of them kernels did not work.
    fn in_other_states(&self, unit: &str) -> Vec<Block> {
        if self.boots == 0 {
            return Vec::new();
        }
        let row = |what: Phrase, key: &dyn Fn(&str) -> String, all: [Option<Interval>; 2]| {
            let mut row = vec![what];
            for (field, interval) in ["fitness_boots_ratio", "held_out_boots_ratio"].iter().zip(all)
            {
                let mean = interval.map(|interval| interval.mean);
                row.push(or_none(mean, |mean| change(format!("{}.mean", key(field)), mean)));
                row.extend(self.interval(key(field), interval));
            }
            row
        };
        let tuned = row(
            "fewest flags".into(),
            &|field| format!("kernel.{field}"),
            [self.fitness_boots_ratio, self.held_out_boots_ratio],
        );
        let others = self.beside.iter().enumerate().map(|(place, found)| {
            row(
                phrase!["best of ", code(&found.search)],
                &|field| format!("kernel.beside.{place}.{field}"),
                [found.fitness_boots_ratio, found.held_out_boots_ratio],
            )
        });
        let columns = [
            name("what"),
            number("fitness"),
            number(CONFIDENCE_TEXT),
            number("held out"),
            number(CONFIDENCE_TEXT),
        ];
        let text = phrase![
            "Of each kernel here there were ",
            count("kernel.boots", self.boots),
            " more boots, each with a guest in another state: more memory, other files and processes, a larger \
             environment. The intervals are those of the ratio in pairs of boots in the same state. All calls of the \
             fitness, and all that are held out, together in ",
            unit,
            ":",
        ];
        let title = "In other states of the guest";
        let table = Table::new(title, columns, [tuned].into_iter().chain(others));
        let failed = self.failed_boots.iter().map(|failed| {
            Block::Text(phrase!["Does not work ", &failed.reason, ": ", code(&failed.flags)])
        });
        [Block::Text(text), Block::from(table)].into_iter().chain(failed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_lines_of_configuration_are_pasted_at_different_places() {
        let take = Take::kernel("-O3 CONFIG_HZ_100=y -fweb CONFIG_PREEMPT_NONE=y");
        let lines: Vec<&str> = take.lines.iter().map(|line| line.line.as_str()).collect();
        let expected = [
            "make KCFLAGS=\"-O3 -fweb\"",
            "export KCFLAGS=\"-O3 -fweb\"",
            "CONFIG_HZ_100=y\nCONFIG_PREEMPT_NONE=y",
        ];
        assert_eq!(lines, expected);
        assert_eq!(Take::kernel("-O3").lines.len(), 2);
    }
}
