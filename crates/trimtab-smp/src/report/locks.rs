//! What `trimtab smp locks` found: `trimtab.smp.locks/1`.

mod calls;
mod model;

use serde::{Deserialize, Serialize};
use trimtab_report::common::Repeat;
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{change_by, code, count, or_none, seconds, share, times};
use trimtab_report::section::{Head, Section, Table, number, text};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

pub use self::calls::LockedCall;
pub use self::model::ModelError;
use super::own_locks::{self, OwnLockWait};
use crate::counted::{ByPlace, Counted, Irq, Place};
use crate::mode::LockMode;
use crate::simulate::LockCost;

/// A record that covers less of the time of one CPU lacks what comes last, as a kernel keeps only so much: the
/// model does not go by it.
pub const LEAST_RECORDED: f64 = 0.98;

/// How a workload's speed grows with the number of CPUs, with locks of different kinds around the kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmpLocks {
    /// Its schema.
    pub schema: Schema<SmpLocks>,
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
    /// Seconds on one CPU with nothing locked: what all speed-ups are compared with.
    pub one_cpu: f64,
    /// Which share of the time was in the kernel then.
    pub in_kernel: f64,
    /// The runs, by kind of locks, by number of CPUs.
    pub runs: Vec<LocksRun>,
    /// By how much the model is off, where it says anything.
    pub model: Vec<ModelError>,
    /// Which share of the time of one CPU the record covers that the model goes by; none where nothing was
    /// recorded.
    pub recorded: Option<f64>,
    /// Whether the model goes by what threads did on one CPU that wait for each other, and not by what a copy did.
    pub by_threads: bool,
    /// What the model goes by of a giant or coarse lock's own cost, in nanoseconds; none where it models none.
    pub lock_cost: Option<LockCost>,
    /// Locks of the kernel's own for which the model has copies wait on the most CPUs, the longest first.
    pub own_locks: Vec<OwnLockWait>,
    /// What each call costs, if the workload is one of most calls.
    pub calls: Vec<LockedCall>,
    /// How long it took, in seconds, builds with it.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A number of CPUs with a kind of locks. Shares are of the time of all CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LocksRun {
    /// The locks.
    pub mode: LockMode,
    /// CPUs.
    pub cpus: u32,
    /// Copies of the workload that ran at the same time.
    pub copies: u32,
    /// From when they were let go until the last had ended, by the guest's clock.
    pub seconds: f64,
    /// Work in a time, in times of that of one CPU with nothing locked.
    pub speedup: f64,
    /// What the model says of it.
    pub predicted: Option<f64>,
    /// What the law of Amdahl says of it, where the kernel is what only one can do while all others wait.
    pub amdahl: f64,
    /// The time that the shares are of, in times of that of all CPUs from when copies were let go until the last
    /// had ended: 1, but for what the kernel does between clock and counters.
    pub counted: f64,
    /// In programs.
    pub user: f64,
    /// With nothing to do.
    pub idle: f64,
    /// In interrupts and exceptions that came from programs; where interrupts take a lock, also in those that came
    /// while there was nothing to do.
    pub interrupts: f64,
    /// In the kernel.
    pub kernel: ByPlace<f64>,
    /// Waiting for locks.
    pub waiting: ByPlace<f64>,
    /// How often locks were taken, or would have been.
    pub taken: ByPlace<u64>,
    /// How often a lock was not free.
    pub contended: ByPlace<u64>,
    /// What interrupts waited and took of these locks.
    pub irq: Irq<f64>,
    /// By which share it took longer with half the quantum, on the most CPUs.
    pub halved: Option<f64>,
    /// SHA-256 of all that the guest wrote on its console, in hexadecimal.
    pub console: String,
    /// How long the boot took on the machine that ran it.
    pub host_seconds: f64,
}

impl LocksRun {
    /// The same with what its CPUs did.
    #[must_use]
    pub fn with(self, counted: &Counted) -> Self {
        let all = counted.time().max(1) as f64;
        let share = |time: u64| time as f64 / all;
        // A cycle is a nanosecond.
        let timed = self.seconds * 1e9 * f64::from(self.cpus);
        Self {
            counted: all / timed,
            user: share(counted.user),
            idle: share(counted.idle),
            interrupts: share(counted.interrupt),
            kernel: counted.kernel.map(share),
            waiting: counted.waiting.map(share),
            taken: counted.taken,
            contended: counted.contended,
            irq: Irq {
                waiting: share(counted.irq.waiting),
                taken: counted.irq.taken,
                contended: counted.irq.contended,
            },
            ..self
        }
    }

    /// By which share the model is off, if it says anything. One CPU it knows.
    fn off(&self) -> Option<f64> {
        self.predicted.filter(|_| self.cpus > 1).map(|predicted| predicted / self.speedup - 1.0)
    }
}

impl SmpLocks {
    /// All but the times of the machine that ran it: what two runs have in common, byte for byte.
    #[must_use]
    pub fn without_host(&self) -> Self {
        let mut same = self.clone();
        (same.seconds, same.repeat) = (0.0, Repeat::default());
        for run in &mut same.runs {
            run.host_seconds = 0.0;
        }
        same
    }

    /// The run with these locks on so many CPUs.
    pub fn run(&self, mode: LockMode, cpus: u32) -> Option<&LocksRun> {
        self.runs.iter().find(|run| run.mode == mode && run.cpus == cpus)
    }

    fn modes(&self) -> Vec<LockMode> {
        let mut modes: Vec<LockMode> = self.runs.iter().map(|run| run.mode).collect();
        modes.dedup();
        modes
    }

    fn cpus(&self) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.runs.iter().map(|run| run.cpus).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    fn figure(&self) -> Figure {
        let cpus = self.cpus();
        let classes = ["after", "before", "other", "quiet"];
        let lines = self.modes().into_iter().zip(classes).map(|(mode, class)| Line {
            label: mode.name().to_owned(),
            class,
            broken: false,
            values: cpus.iter().filter_map(|&cpus| Some(self.run(mode, cpus)?.speedup)).collect(),
        });
        let ideal = Line {
            label: "as many times as CPUs".to_owned(),
            class: "floor",
            broken: true,
            values: cpus.iter().map(|&cpus| f64::from(cpus)).collect(),
        };
        Figure::Steps {
            what: "speed-up".to_owned(),
            along: "CPUs".to_owned(),
            steps: cpus.iter().map(u32::to_string).collect(),
            lines: lines.chain([ideal]).collect(),
            scale: Scale::Linear,
        }
    }

    /// The runs, each with what it is called in the JSON.
    fn keyed(&self) -> impl Iterator<Item = (String, &LocksRun)> {
        self.runs.iter().enumerate().map(|(place, run)| (format!("runs.{place}"), run))
    }

    fn speedups(&self) -> Table {
        let rows = self.keyed().map(|(key, run)| {
            row![
                run.mode.name(),
                count(format!("{key}.cpus"), u64::from(run.cpus)),
                seconds(format!("{key}.seconds"), run.seconds),
                times(format!("{key}.speedup"), run.speedup),
                or_none(run.predicted, |value| times(format!("{key}.predicted"), value)),
                or_none(run.off(), |value| {
                    change_by(format!("{key}.predicted/{key}.speedup-1"), value)
                }),
                times(format!("{key}.amdahl"), run.amdahl),
                or_none(run.halved, |value| change_by(format!("{key}.halved"), value)),
            ]
        });
        let columns = [
            text("locks"),
            number("CPUs"),
            number("time"),
            number("speed-up"),
            number("model"),
            number("off by"),
            number("Amdahl"),
            number("half the quantum"),
        ];
        Table::new("Speed-up", columns, rows)
    }

    fn places(&self) -> Table {
        let tasks = |key: &str, what: &str| {
            Place::ALL.map(|place| format!("{key}.{what}.{}", place.name())).join("+")
        };
        let sum = |key: &str, what: &str| format!("{}+{key}.irq.{what}", tasks(key, what));
        let rows = self.keyed().map(|(key, run)| {
            row![
                run.mode.name(),
                count(format!("{key}.cpus"), u64::from(run.cpus)),
                share(format!("{key}.user"), run.user),
                share(tasks(&key, "kernel"), run.kernel.sum()),
                share(sum(&key, "waiting"), run.waiting.sum() + run.irq.waiting),
                share(format!("{key}.interrupts"), run.interrupts),
                share(format!("{key}.idle"), run.idle),
                count(sum(&key, "taken"), run.taken.sum() + run.irq.taken),
                count(sum(&key, "contended"), run.contended.sum() + run.irq.contended),
            ]
        });
        let columns = [
            text("locks"),
            number("CPUs"),
            number("user"),
            number("kernel"),
            number("waiting"),
            number("interrupts"),
            number("idle"),
            number("entries"),
            number("of these waited"),
        ];
        Table::new("What CPUs did", columns, rows)
    }

    fn subsystems(&self) -> Table {
        let rows = self.keyed().flat_map(|(key, run)| {
            let irq = (run.irq.taken > 0).then(|| {
                row![
                    run.mode.name(),
                    count(format!("{key}.cpus"), u64::from(run.cpus)),
                    "interrupts",
                    share(format!("{key}.interrupts"), run.interrupts),
                    share(format!("{key}.irq.waiting"), run.irq.waiting),
                    count(format!("{key}.irq.taken"), run.irq.taken),
                    count(format!("{key}.irq.contended"), run.irq.contended),
                ]
            });
            let places = Place::ALL.into_iter().filter(|&place| run.taken.of(place) > 0);
            let tasks = places.map(move |place| {
                let name = place.name();
                row![
                    run.mode.name(),
                    count(format!("{key}.cpus"), u64::from(run.cpus)),
                    name,
                    share(format!("{key}.kernel.{name}"), run.kernel.of(place)),
                    share(format!("{key}.waiting.{name}"), run.waiting.of(place)),
                    count(format!("{key}.taken.{name}"), run.taken.of(place)),
                    count(format!("{key}.contended.{name}"), run.contended.of(place)),
                ]
            });
            tasks.chain(irq)
        });
        let columns = [
            text("locks"),
            number("CPUs"),
            text("subsystem"),
            number("kernel"),
            number("waiting"),
            number("entries"),
            number("of these waited"),
        ];
        Table::new("By subsystem", columns, rows)
    }

    fn most(&self) -> Vec<Phrase> {
        let Some(&most) = self.cpus().last() else { return Vec::new() };
        let modes = self.modes().into_iter().filter_map(|mode| {
            let (key, run) = self.keyed().find(|(_, run)| run.mode == mode && run.cpus == most)?;
            Some(phrase![
                times(format!("{key}.speedup"), run.speedup),
                format!(" with {} locks", mode.name()),
            ])
        });
        let joined = trimtab_report::phrase::joined(modes, ", ");
        vec![phrase![
            count("", u64::from(most)),
            " CPUs do the work of one ",
            joined,
            ". On one, ",
            share("in_kernel", self.in_kernel),
            " of the time is in the kernel.",
        ]]
    }
}

impl Report for SmpLocks {
    const VERB: &'static str = "smp locks";
    const SCHEMA: &'static str = "trimtab.smp.locks/1";

    fn title(&self) -> String {
        format!("How {} gets faster with CPUs, by kinds of locks", self.workload)
    }

    fn head(&self) -> Head {
        Head {
            facts: vec![format!("Linux {}", self.kernel), self.workload.clone()],
            what: self.title().into(),
            summary: self.most(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let what = match self.each {
            true => "A copy runs on each CPU, bound to it.",
            false => "Linux decides which CPU runs what.",
        };
        let lede = phrase![
            code(self.command.join(" ")),
            format!(
                " in a guest with Linux {}. {what} Speed-ups are in times of one CPU with nothing locked. Each CPU \
                 has a clock of its own, on which an instruction takes a nanosecond; none is ahead of the slowest by \
                 more than the quantum, ",
                self.kernel
            ),
            count("quantum", u64::from(self.quantum)),
            " instructions. There are no caches. ",
            self.model_text(),
        ];
        let places = "Shares of the time of all CPUs. An entry is a call or a fault, or when its task went on after \
                      others had run: a lock is taken then, where there is one. With giant-irq locks an interrupt that \
                      takes the lock is one, too.";
        let mut sections = vec![
            Section::new("speedup", "Speed-up", lede).with(self.speedups()).with(self.figure()),
            Section::new("places", "Where the time goes", places)
                .with(self.places())
                .with(self.subsystems()),
        ];
        if let (false, Some(&cpus)) = (self.own_locks.is_empty(), self.cpus().last()) {
            let lede = format!(
                "For what the model has copies wait on {cpus} CPUs with fine locks, and which functions take that \
                 lock: what copies took which ran one after the other. Held is a share of the time, waiting one of \
                 that of all CPUs."
            );
            sections.push(own_locks::section(&self.own_locks, "taken in", lede));
        }
        if !self.calls.is_empty() {
            sections.push(calls::section(&self.calls));
        }
        sections
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

    fn sample() -> SmpLocks {
        let run = |mode, cpus: u32, speedup: f64| LocksRun {
            mode,
            cpus,
            copies: cpus,
            seconds: 0.0125,
            speedup,
            predicted: Some(speedup * 1.03),
            amdahl: 1.47,
            counted: 1.001,
            user: 0.55,
            idle: 0.01,
            interrupts: 0.02,
            kernel: ByPlace { files: 0.2, ..ByPlace::default() },
            waiting: ByPlace { files: 0.22, ..ByPlace::default() },
            taken: ByPlace { files: 2345, ..ByPlace::default() },
            contended: ByPlace { files: 678, ..ByPlace::default() },
            irq: Irq::default(),
            halved: (cpus > 1).then_some(-0.0125),
            console: "00ff".to_owned(),
            host_seconds: 2.0,
        };
        let runs = vec![
            run(LockMode::Giant, 1, 0.99),
            run(LockMode::Giant, 2, 1.2),
            run(LockMode::Fine, 1, 1.0),
            run(LockMode::Fine, 2, 1.99),
        ];
        SmpLocks {
            workload: "dial".to_owned(),
            command: vec!["dial".to_owned(), "<50>".to_owned()],
            each: true,
            kernel: "6.12.1".to_owned(),
            quantum: 1000,
            one_cpu: 0.015,
            in_kernel: 0.36,
            model: ModelError::of(&[LockMode::Giant, LockMode::Coarse, LockMode::Fine], &runs),
            runs,
            seconds: 9.0,
            ..SmpLocks::default()
        }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let found = sample();
        assert_eq!(SmpLocks::from_json(&found.to_json()).unwrap(), found);
        let text = found.terminal(120);
        for shown in ["1.20 ×", "36.0 %", "22.0 %", "2,345", "678", "1.47 ×", "+3.0 %", "1,000"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let page = found.page();
        assert!(page.contains("&lt;50&gt;") && !page.contains("<50>"));
        assert_eq!(page.matches("<svg").count(), 1);
        let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
        assert_eq!(json["schema"], "trimtab.smp.locks/1");
        assert_eq!(json["runs"][1]["waiting"]["files"], 0.22);
        assert_eq!(json["runs"][1]["mode"], "giant");
    }

    #[test]
    fn interrupts_that_take_the_lock_have_a_row_and_count_with_tasks() {
        let mut found = sample();
        let irq = Irq { waiting: 0.05, taken: 111, contended: 22 };
        found.runs.push(LocksRun {
            mode: LockMode::GiantIrq,
            irq,
            predicted: None,
            ..found.runs[1].clone()
        });
        let text = found.terminal(120);
        for shown in ["giant-irq", "interrupts", "5.0 %", "27.0 %", "2,456", "700"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
        assert_eq!(json["runs"][4]["mode"], "giant-irq");
        assert_eq!(json["runs"][4]["irq"]["contended"], 22);
        // What was stored before there was this mode is still read.
        let old = r#"{"mode":"giant","cpus":2}"#;
        assert_eq!(serde_json::from_str::<LocksRun>(old).unwrap().irq, Irq::default());
    }

    #[test]
    fn counters_are_compared_with_the_time() {
        let counted = Counted { user: 30_000_000, idle: 20_500_000, ..Counted::default() };
        let run = LocksRun { seconds: 0.025, cpus: 2, ..LocksRun::default() }.with(&counted);
        assert!((run.counted - 1.01).abs() < 1e-12, "{}", run.counted);
        assert!((run.user + run.idle - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_model_is_judged_on_more_than_one_cpu() {
        let found = sample();
        let modes: Vec<LockMode> = found.model.iter().map(|error| error.mode).collect();
        assert_eq!(modes, [LockMode::Giant, LockMode::Fine]);
        assert!(
            found.model.iter().all(|error| error.runs == 1 && (error.mean - 0.03).abs() < 1e-9)
        );
        let without = LocksRun { predicted: None, ..found.runs[1].clone() };
        assert!(ModelError::of(&[LockMode::Giant], &[without]).is_empty());
    }

    #[test]
    fn what_the_model_knows_is_said() {
        let text = |found: SmpLocks| {
            let page = found.terminal(2000);
            page.lines().find(|line| line.contains("The model")).unwrap_or_default().to_owned()
        };
        assert!(text(sample()).contains("knows only what copies did alone, is off by"));
        let lock_cost = Some(LockCost { taking: 22, passing: 13 });
        let cost = text(SmpLocks { lock_cost, ..sample() });
        let expected = "did alone and that a lock costs 22 instructions, and 13 more where it is not free, is off";
        assert!(cost.contains(expected), "{cost}");
        let none = SmpLocks { model: Vec::new(), recorded: Some(0.3), ..sample() };
        assert!(text(none).contains("recorded for only 30.0 % of its time"));
        let alone = SmpLocks { model: Vec::new(), recorded: Some(0.999), ..sample() };
        assert!(text(alone).contains("for copies that share nothing, and for threads that sleep"));
        let of_threads = text(SmpLocks { by_threads: true, ..sample() });
        assert!(
            of_threads.contains("only what threads did on one CPU and whom they waited for, is")
        );
    }

    #[test]
    fn what_the_host_took_is_no_part_of_what_repeats() {
        let (one, mut other) = (sample(), sample());
        other.seconds = 10.0;
        other.runs[1].host_seconds = 7.0;
        assert_ne!(one, other);
        assert_eq!(one.without_host(), other.without_host());
        other.runs[1].speedup += 0.1;
        assert_ne!(one.without_host(), other.without_host());
    }
}
