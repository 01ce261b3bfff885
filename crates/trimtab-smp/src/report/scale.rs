//! What `trimtab smp scale` found: `trimtab.smp.scale/1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trimtab_report::common::Repeat;
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{change_by, code, count, or_none, share, times};
use trimtab_report::section::{Head, Section, Table, number};
use trimtab_report::{Report, Schema, phrase, row};

/// How a workload's speed grows with the number of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmpScale {
    /// Its schema.
    pub schema: Schema<SmpScale>,
    /// What ran.
    pub workload: String,
    /// Its command line, in which `{}` stands for the number of CPUs.
    pub command: Vec<String>,
    /// Whether a copy of it ran on each CPU.
    pub each: bool,
    /// The guest's kernel.
    pub kernel: String,
    /// The Debian package that QEMU's source is from.
    pub qemu: String,
    /// By how many instructions a CPU may have been ahead of the slowest.
    pub quantum: u32,
    /// The runs, by number of CPUs, from 1.
    pub runs: Vec<ScaleRun>,
    /// The largest change of a time with half the quantum, as a share, without its sign.
    pub most_change: f64,
    /// How long it took, in seconds, builds with it.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A number of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleRun {
    /// CPUs.
    pub cpus: u32,
    /// Copies of the workload that ran at the same time.
    pub copies: u32,
    /// From when they were let go until the last had ended, by the guest's clock: an instruction takes one.
    pub nanoseconds: u64,
    /// Work in a time, in times of that of one CPU.
    pub speedup: f64,
    /// SHA-256 of all that the guest wrote on its console, in hexadecimal.
    pub console: String,
    /// The same with half the quantum.
    pub halved: Halved,
    /// How long the boot took on the machine that ran it.
    pub host_seconds: f64,
}

/// A run with half the quantum.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Halved {
    /// As [`ScaleRun::nanoseconds`].
    pub nanoseconds: u64,
    /// As [`ScaleRun::speedup`], of one CPU with half the quantum.
    pub speedup: f64,
    /// As [`ScaleRun::console`].
    pub console: String,
    /// By which share it took longer.
    pub change: f64,
    /// As [`ScaleRun::host_seconds`].
    pub host_seconds: f64,
}

impl SmpScale {
    /// All but the times of the machine that ran it: what two runs have in common, byte for byte.
    #[must_use]
    pub fn without_host(&self) -> Self {
        let mut same = self.clone();
        (same.seconds, same.repeat) =
            (0.0, Repeat { inputs: BTreeMap::new(), ..Repeat::default() });
        for run in &mut same.runs {
            (run.host_seconds, run.halved.host_seconds) = (0.0, 0.0);
        }
        same
    }

    fn figure(&self) -> Figure {
        let line = |label: &str, class, broken, value: &dyn Fn(&ScaleRun) -> f64| Line {
            label: label.to_owned(),
            class,
            broken,
            values: self.runs.iter().map(value).collect(),
        };
        Figure::Steps {
            what: "speed-up".to_owned(),
            along: "CPUs".to_owned(),
            steps: self.runs.iter().map(|run| run.cpus.to_string()).collect(),
            lines: vec![
                line(&self.workload, "after", false, &|run| run.speedup),
                line("as many times as CPUs", "floor", true, &|run| f64::from(run.cpus)),
            ],
            scale: Scale::Linear,
        }
    }
}

impl Report for SmpScale {
    const VERB: &'static str = "smp scale";
    const SCHEMA: &'static str = "trimtab.smp.scale/1";

    fn title(&self) -> String {
        format!("How {} gets faster with CPUs", self.workload)
    }

    fn head(&self) -> Head {
        let last = self.runs.len().saturating_sub(1);
        let summary = self.runs.last().map(|run| {
            phrase![
                count(format!("runs.{last}.cpus"), u64::from(run.cpus)),
                " CPUs do ",
                times(format!("runs.{last}.speedup"), run.speedup),
                " of the work of one in the same time. With half the quantum of ",
                count("quantum", u64::from(self.quantum)),
                " instructions no time changes by more than ",
                share("most_change", self.most_change),
                ".",
            ]
        });
        Head {
            facts: vec![format!("Linux {}", self.kernel), self.workload.clone()],
            what: self.title().into(),
            summary: summary.into_iter().collect(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let rows = self.runs.iter().enumerate().map(|(place, run)| {
            let key = |field: &str| format!("runs.{place}.{field}");
            row![
                count(key("cpus"), u64::from(run.cpus)),
                count(key("copies"), u64::from(run.copies)),
                count(key("nanoseconds"), run.nanoseconds),
                times(key("speedup"), run.speedup),
                share(
                    format!("{}/{}", key("speedup"), key("cpus")),
                    run.speedup / f64::from(run.cpus.max(1))
                ),
                or_none(Some(run.halved.nanoseconds).filter(|&time| time > 0), |time| {
                    count(key("halved.nanoseconds"), time)
                }),
                change_by(key("halved.change"), run.halved.change),
            ]
        });
        let columns = [
            number("CPUs"),
            number("copies"),
            number("time, ns"),
            number("speed-up"),
            number("of all CPUs"),
            number("time, ns").of("half the quantum"),
            number("change").of("half the quantum"),
        ];
        let title = "Speed-up";
        let what = match self.each {
            true => "A copy runs on each CPU, bound to it.",
            false => "Linux decides which CPU runs what.",
        };
        let lede = phrase![
            code(self.command.join(" ")),
            format!(
                " in a guest with Linux {}. {what} Each CPU has a clock of its own, on which an instruction takes \
                 a nanosecond; none is ahead of the slowest by more than the quantum, ",
                self.kernel
            ),
            count("quantum", u64::from(self.quantum)),
            " instructions. There are no caches: what CPUs lose to each other's cache lines does not show.",
        ];
        vec![
            Section::new("speedup", title, lede)
                .with(Table::new(title, columns, rows))
                .with(self.figure()),
        ]
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("total", "seconds", self.seconds)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SmpScale {
        let run = |cpus: u32, speedup: f64| ScaleRun {
            cpus,
            copies: cpus,
            nanoseconds: 100_520_945,
            speedup,
            console: "00ff".to_owned(),
            halved: Halved {
                nanoseconds: 100_522_283,
                speedup,
                console: "00fe".to_owned(),
                change: -0.0125,
                host_seconds: 2.0,
            },
            host_seconds: 1.5,
        };
        SmpScale {
            workload: "spin".to_owned(),
            command: vec!["spin".to_owned(), "<50>".to_owned()],
            each: true,
            kernel: "6.12.1".to_owned(),
            quantum: 1000,
            runs: vec![run(1, 1.0), run(2, 1.9954)],
            most_change: 0.0125,
            seconds: 9.0,
            ..SmpScale::default()
        }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let found = sample();
        assert_eq!(SmpScale::from_json(&found.to_json()).unwrap(), found);
        let text = found.terminal(100);
        for shown in ["100,520,945", "100,522,283", "1.2 %", "99.8 %", "1,000"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let page = found.page();
        assert!(page.contains("&lt;50&gt;") && !page.contains("<50>"));
        assert_eq!(page.matches("<svg").count(), 1);
        let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
        assert_eq!(json["schema"], "trimtab.smp.scale/1");
        assert_eq!(json["runs"][1]["halved"]["nanoseconds"], 100_522_283);
    }

    #[test]
    fn what_the_host_took_is_no_part_of_what_repeats() {
        let (one, mut other) = (sample(), sample());
        other.seconds = 10.0;
        other.runs[1].halved.host_seconds = 7.0;
        assert_ne!(one, other);
        assert_eq!(one.without_host(), other.without_host());
        other.runs[1].nanoseconds += 1;
        assert_ne!(one.without_host(), other.without_host());
    }
}
