//! What `trimtab smp predict` found: `trimtab.smp.predict/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::Repeat;
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{count, seconds, share, strong, times};
use trimtab_report::section::{Head, Headline, Section, Table, Tile, name, number};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

use super::own_locks::{self, OwnLockWait};
use crate::subsystem::Subsystem;

/// What more CPUs would give a recorded workload, by kinds of locks. Times are seconds of the recorded
/// machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SmpPredict {
    /// Its schema.
    pub schema: Schema<SmpPredict>,
    /// The trace.
    pub trace: String,
    /// Only threads of this name, and what they began; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// CPUs on which it was recorded.
    pub recorded_cpus: u64,
    /// From its first event to its last.
    pub recorded: f64,
    /// What the simulation takes on one CPU.
    pub one_cpu: f64,
    /// Threads.
    pub threads: u64,
    /// System calls.
    pub calls: u64,
    /// Page faults of programs.
    pub faults: u64,
    /// Where the time of one CPU goes.
    pub time: TimeByPlace,
    /// The speed-up on each number of CPUs, from 1.
    pub speedups: Vec<Speedup>,
    /// What CPUs do, on the most CPUs, with each kind of locks.
    pub cpu_time: Vec<CpuTime>,
    /// What each subsystem gives on the most CPUs, that has a lock of its own while all others share one:
    /// the most first.
    pub split: Vec<SplitOne>,
    /// Locks of the kernel's own in the trace, which are the fine ones then; 0 where it has none.
    #[serde(default)]
    pub recorded_locks: u64,
    /// Those that are waited for on the most CPUs, the longest first.
    #[serde(default)]
    pub own_locks: Vec<OwnLockWait>,
    /// What makes this less exact, a sentence each.
    pub warnings: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// Shares of the time that threads ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeByPlace {
    /// In programs.
    pub user: f64,
    /// In interrupts.
    pub interrupts: f64,
    /// In the kernel, by subsystem.
    pub kernel: Vec<KernelShare>,
}

impl TimeByPlace {
    /// All of the kernel.
    pub fn in_kernel(&self) -> f64 {
        self.kernel.iter().map(|part| part.share).sum()
    }
}

/// A subsystem's share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelShare {
    /// The subsystem.
    pub subsystem: Subsystem,
    /// Its share.
    pub share: f64,
}

/// How many times as fast as on one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// CPUs.
    pub cpus: u64,
    /// With one lock around the kernel.
    pub giant: f64,
    /// With a lock for each subsystem.
    pub coarse: f64,
    /// With the kernel's own locks, where the trace has them; otherwise with none that is waited for.
    pub fine: f64,
    /// What Amdahl's law says where the kernel is the serial part, beside which nothing runs.
    pub amdahl: f64,
}

/// Shares of the time of all CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The locks: `giant`, `coarse`, `fine`.
    pub locks: String,
    /// In programs.
    pub user: f64,
    /// In the kernel.
    pub kernel: f64,
    /// In interrupts.
    pub interrupts: f64,
    /// Waiting for locks.
    pub waiting: f64,
    /// With nothing to do.
    pub idle: f64,
    /// How often a lock was taken.
    pub acquisitions: u64,
}

/// A subsystem with a lock of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitOne {
    /// The subsystem.
    pub subsystem: Subsystem,
    /// How many times as fast as on one CPU.
    pub speedup: f64,
}

impl SmpPredict {
    fn most(&self) -> Speedup {
        self.speedups.last().copied().unwrap_or_default()
    }

    /// What to split first, if that gives anything.
    fn advice(&self) -> Phrase {
        let most = self.most();
        match self.split.first() {
            Some(first) if first.speedup > most.giant * 1.01 => phrase![
                "Split ",
                strong(first.subsystem.name()),
                " first: on ",
                count("", most.cpus),
                " CPUs that gives ",
                times("split.0.speedup", first.speedup),
                " in place of ",
                times("", most.giant),
                " with one lock around the kernel.",
            ],
            _ if most.fine <= most.giant * 1.01 => {
                phrase!["Finer locks would give nothing: it does not wait for the giant one."]
            }
            _ => phrase!["No subsystem alone gives anything: several must be split."],
        }
    }

    fn curve(&self) -> Section {
        let rows = self.speedups.iter().enumerate().map(|(place, at)| {
            let key = |field: &str| format!("speedups.{place}.{field}");
            row![
                count(key("cpus"), at.cpus),
                times(key("giant"), at.giant),
                times(key("amdahl"), at.amdahl),
                times(key("coarse"), at.coarse),
                times(key("fine"), at.fine),
            ]
        });
        let columns =
            [number("CPUs"), number("giant"), number("Amdahl"), number("coarse"), number("fine")];
        let line = |label: &str, class, broken, of: fn(&Speedup) -> f64| Line {
            label: label.to_owned(),
            class,
            broken,
            values: self.speedups.iter().map(of).collect(),
        };
        let figure = Figure::Steps {
            what: "times as fast as one CPU".to_owned(),
            along: "CPUs".to_owned(),
            steps: self.speedups.iter().map(|at| at.cpus.to_string()).collect(),
            lines: vec![
                line("giant", "before", false, |at| at.giant),
                line("coarse", "after", false, |at| at.coarse),
                line("fine", "after", true, |at| at.fine),
            ],
            scale: Scale::Linear,
        };
        let fine = match self.recorded_locks {
            0 => phrase!["none that is waited for"],
            locks => {
                phrase!["the kernel's own, of which the trace has ", count("recorded_locks", locks)]
            }
        };
        let lede = phrase![
            "Giant is one lock around the kernel, coarse one for each subsystem, fine ",
            fine,
            ". Amdahl is his law with the kernel as the serial part, beside which nothing runs; with the giant lock \
             programs do.",
        ];
        Section::new("speedups", "Times as fast as one CPU", lede)
            .with(Table::new("Speed-ups", columns, rows))
            .with(figure)
    }

    fn where_time_goes(&self) -> Section {
        let one = row![
            "one CPU",
            share("time.user", self.time.user),
            share("", self.time.in_kernel()),
            share("time.interrupts", self.time.interrupts),
            share("", 0.0),
            share("", 0.0),
            count("", 0_u64),
        ];
        let rows = self.cpu_time.iter().enumerate().map(|(place, at)| {
            let key = |field: &str| format!("cpu_time.{place}.{field}");
            row![
                at.locks.clone(),
                share(key("user"), at.user),
                share(key("kernel"), at.kernel),
                share(key("interrupts"), at.interrupts),
                share(key("waiting"), at.waiting),
                share(key("idle"), at.idle),
                count(key("acquisitions"), at.acquisitions),
            ]
        });
        let columns = [
            name("locks"),
            number("programs"),
            number("kernel"),
            number("interrupts"),
            number("waiting"),
            number("idle"),
            number("locks taken"),
        ];
        let cpus = self.most().cpus;
        let title = format!("What {cpus} CPUs do");
        let lede = "Shares of the time of all CPUs; of one CPU, of the time that threads ran.";
        Section::new("cpu-time", title, lede).with(Table::new(
            "Time of CPUs",
            columns,
            std::iter::once(one).chain(rows),
        ))
    }

    fn by_subsystem(&self) -> Section {
        let rows = self.split.iter().enumerate().map(|(place, split)| {
            let part = self.time.kernel.iter().position(|part| part.subsystem == split.subsystem);
            let part = part.map(|at| {
                let key = format!("time.kernel.{at}.share");
                share(key, self.time.kernel[at].share).into()
            });
            row![
                split.subsystem.name(),
                part.unwrap_or_else(Phrase::default),
                times(format!("split.{place}.speedup"), split.speedup),
            ]
        });
        let columns = [name("subsystem"), number("of one CPU"), number("with a lock of its own")];
        let lede = "Its share of the time that threads ran, and how many times as fast as one CPU all is \
                    where it has a lock of its own and all others share one.";
        Section::new("split", "What to split first", lede).with(Table::new(
            "Subsystems",
            columns,
            rows,
        ))
    }
}

impl Report for SmpPredict {
    const VERB: &'static str = "smp predict";
    const SCHEMA: &'static str = "trimtab.smp.predict/1";

    fn title(&self) -> String {
        format!("More CPUs for {}", self.trace)
    }

    fn head(&self) -> Head {
        let most = self.most();
        let tile = |value: f64, label: &str| Tile::new(times("", value), label, "");
        Head {
            headline: Headline::One(times("", most.coarse).into()),
            what: phrase!["as fast on ", count("", most.cpus), " CPUs with a lock per subsystem"],
            summary: vec![
                self.advice(),
                phrase![
                    "Threads: ",
                    count("threads", self.threads),
                    "; system calls: ",
                    count("calls", self.calls),
                    "; page faults: ",
                    count("faults", self.faults),
                    ". Recorded: ",
                    seconds("recorded", self.recorded),
                    "; the simulation on one CPU takes ",
                    seconds("one_cpu", self.one_cpu),
                    ".",
                ],
            ],
            alarm: (!self.warnings.is_empty()).then(|| {
                ("This is less exact than it could be.".to_owned(), self.warnings.clone())
            }),
            tiles: vec![
                tile(most.giant, "one lock around the kernel"),
                tile(
                    most.fine,
                    match self.recorded_locks {
                        0 => "no lock that is waited for",
                        _ => "the kernel's own locks",
                    },
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.curve(), self.by_subsystem(), self.where_time_goes()];
        if !self.own_locks.is_empty() {
            let cpus = self.most().cpus;
            let lede = format!(
                "What threads wait for on {cpus} CPUs with the kernel's own locks. Held is a share of the time, \
                 waiting one of that of all CPUs."
            );
            sections.push(own_locks::section(&self.own_locks, "lock", lede));
        }
        sections
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("reading and simulating", "seconds", self.seconds)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_the_split_that_gives_most() {
        let speedup =
            |cpus, giant, fine| Speedup { cpus, giant, coarse: fine, fine, amdahl: giant };
        let split = |subsystem, speedup| SplitOne { subsystem, speedup };
        let mut report = SmpPredict {
            trace: "board.txt".to_owned(),
            speedups: vec![speedup(1, 1.0, 1.0), speedup(2, 1.2, 1.9)],
            split: vec![split(Subsystem::Files, 1.6), split(Subsystem::Memory, 1.2)],
            time: TimeByPlace {
                user: 0.5,
                interrupts: 0.1,
                kernel: vec![KernelShare { subsystem: Subsystem::Files, share: 0.4 }],
            },
            cpu_time: vec![CpuTime { locks: "giant".to_owned(), ..CpuTime::default() }],
            warnings: vec!["It was recorded on 2 CPUs.".to_owned()],
            ..SmpPredict::default()
        };
        let text = report.terminal(100);
        assert!(text.contains("Split files first: on 2 CPUs that gives 1.60"), "{text}");
        assert!(text.contains("recorded on 2 CPUs") && report.page().contains("board.txt"));
        assert_eq!(SmpPredict::from_json(&report.to_json()).unwrap(), report);
        report.split[0].speedup = 1.2;
        assert!(report.terminal(100).contains("several must be split"));
        report.speedups[1] = speedup(2, 1.9, 1.9);
        assert!(report.terminal(100).contains("Finer locks would give nothing"));
    }
}
