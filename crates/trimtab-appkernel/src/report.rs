//! What `trimtab smp bench-appkernel` found: `trimtab.smp.appkernel/1`.

pub mod tables;

use serde::{Deserialize, Serialize};
use trimtab_report::common::Check;
use trimtab_report::phrase::{Phrase, count, hundredths, mark};
use trimtab_report::section::{Head, Section, Table, Tile, name, number as column, text};
use trimtab_report::{Kind, Report, Schema, row};

/// Kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] = &[Kind::of::<AppKernelReport>()];

/// Published by the thesis that the idea is from, chapter 5: a system call through the application kernel,
/// in times of a native one, simulated (74 to 860 cycles).
const PUBLISHED_CALL: f64 = 860.0 / 74.0;
/// And its lines without comments.
const PUBLISHED_LINES: u64 = 3600;

/// What the module did in guests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AppKernelReport {
    /// Its schema.
    pub schema: Schema<AppKernelReport>,
    /// The guest's kernel.
    pub kernel: KernelFacts,
    /// CPUs of the guest, one of which is Linux's.
    pub cpus: u32,
    /// The module's tests, in the order in which they ran.
    pub tests: Vec<TestResult>,
    /// How often a thread left Linux's CPU while they ran.
    pub left: u64,
    /// Pages that a thread wrote through a stale translation.
    pub stale: Stale,
    /// The same things again and again.
    #[serde(default)]
    pub stress: Stress,
    /// Instructions of a system call.
    pub calls: Costs,
    /// Instructions of a fault on a fresh page.
    pub fault: Costs,
    /// Programs on several CPUs; none if they were not asked for.
    #[serde(default)]
    pub programs: Vec<tables::ProgramRun>,
    /// What CPUs execute beside a thread that only computes; none if that was not asked for.
    #[serde(default)]
    pub noise: Vec<tables::Noise>,
    /// By how many instructions a CPU may have been ahead of the slowest, for both.
    #[serde(default)]
    pub quantum: u32,
    /// The Debian package that their QEMU is built from.
    #[serde(default)]
    pub qemu: String,
    /// How large the module is; none where nobody counted.
    #[serde(default)]
    pub size: Option<Size>,
    /// What must hold.
    pub checks: Vec<Check>,
}

/// How large the module's source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines without comments and empty ones.
    pub lines: u64,
    /// Functions of C.
    pub functions: u64,
    /// The highest cyclomatic complexity of one.
    pub complexity_max: u64,
    /// Functions with one of at most 10.
    pub at_most_10: u64,
}

impl Size {
    /// Whether it is no larger than the thesis's application kernel, and its functions are simple.
    fn judged(&self) -> Check {
        let holds = self.lines <= PUBLISHED_LINES
            && self.complexity_max <= 15
            && self.at_most_10 * 100 >= self.functions * 95;
        let detail = format!(
            "{} lines, the thesis's {PUBLISHED_LINES}; {} of {} functions have a complexity of at most 10, none \
             above {}",
            self.lines, self.at_most_10, self.functions, self.complexity_max
        );
        Check::new("The module is small", holds, detail)
    }
}

/// The guest's kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// Its version.
    pub version: String,
    /// Whether it was built with SMP.
    pub smp: bool,
}

/// How a test ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
}

/// Pages that a thread elsewhere lost, while another gave them away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    /// With the module told of stale translations: it must be 0.
    pub told: u64,
    /// And with the module told to ignore them: it must not, or the test shows nothing.
    pub ignored: u64,
}

/// Calls, changes of page tables, signals and ends of processes, again and again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stress {
    /// How many of them.
    pub operations: u64,
    /// How often a thread left Linux's CPU meanwhile.
    pub forwarded: u64,
    /// How many went wrong: it must be none.
    pub errors: u64,
}

/// What something costs, by how Linux's CPU waits for the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// It is halted, in the thread's own context, until an interrupt comes.
    pub sleeping: Cost,
    /// It polls.
    pub polling: Cost,
    /// It switches to another context, here that of its idle thread, and back: the parameter `halt=0`, or what
    /// happens where others want to run there.
    #[serde(default)]
    pub switching: Cost,
    /// It is halted, and a proxy in user mode makes the call, or touches the page, as in the thesis.
    #[serde(default)]
    pub proxy: Cost,
}

/// Instructions of all CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// On Linux's CPU.
    pub native: u64,
    /// From another.
    pub forwarded: u64,
}

impl Cost {
    /// How many times as much it is from another CPU; 0 where nothing was measured.
    pub fn ratio(&self) -> f64 {
        match self.native {
            0 => 0.0,
            native => self.forwarded as f64 / native as f64,
        }
    }
}

impl AppKernelReport {
    /// Whether what must hold does, of all else in the report.
    pub fn judged(&self) -> Vec<Check> {
        let failed: Vec<&str> =
            self.tests.iter().filter(|test| !test.passed).map(|test| test.name.as_str()).collect();
        let detail = match failed.as_slice() {
            [] => format!("{} tests", self.tests.len()),
            some => some.join(", "),
        };
        let found = |pages: u64| format!("{pages} pages");
        let mut checks = vec![
            Check::new(
                "Threads find everything the same elsewhere",
                failed.is_empty() && !self.tests.is_empty(),
                detail,
            ),
            Check::new(
                "Threads really ran elsewhere",
                self.left > 0,
                format!("{} times", self.left),
            ),
            Check::new(
                "No stale translation is used",
                self.stale.told == 0,
                found(self.stale.told),
            ),
            Check::new(
                "Without being told of them, it would be",
                self.stale.ignored > 0,
                found(self.stale.ignored),
            ),
            Check::new(
                "Calls, page tables, signals and ends of processes go right each time",
                self.stress.errors == 0 && self.stress.forwarded >= self.stress.operations,
                format!(
                    "{} of {} went wrong; threads left {} times",
                    self.stress.errors, self.stress.operations, self.stress.forwarded
                ),
            ),
        ];
        checks.extend(tables::judged(&self.noise));
        checks.extend(self.size.as_ref().map(Size::judged));
        checks
    }

    fn costs(&self) -> Section {
        let line = |what: &str, key: &str, costs: &Costs| {
            let cost = |how: &str, cost: &Cost| -> [Phrase; 2] {
                let path = format!("{key}.{how}");
                [
                    count(format!("{path}.forwarded"), cost.forwarded).into(),
                    hundredths(format!("{path}.forwarded/{path}.native"), cost.ratio()).into(),
                ]
            };
            let mut cells: Vec<Phrase> = vec![
                what.into(),
                count(format!("{key}.sleeping.native"), costs.sleeping.native).into(),
            ];
            cells.extend(cost("sleeping", &costs.sleeping));
            cells.extend(cost("polling", &costs.polling));
            cells.extend(cost("switching", &costs.switching));
            cells.extend(cost("proxy", &costs.proxy));
            cells
        };
        let columns = [
            text("instructions"),
            column("native"),
            column("sleeping"),
            column("times"),
            column("polling"),
            column("times"),
            column("switching"),
            column("times"),
            column("proxy"),
            column("times"),
        ];
        Section::new(
            "costs",
            "What it costs to be elsewhere",
            "Instructions of both CPUs together. Until the thread needs it, Linux's is halted, polls, or switches to another \
             context. A proxy in user mode is the thesis's way.",
        )
        .with(Table::new(
            "Costs",
            columns,
            vec![
                line("a system call (getppid)", "calls", &self.calls),
                line("a fault on a fresh page", "fault", &self.fault),
            ],
        ))
    }
}

impl Report for AppKernelReport {
    const VERB: &'static str = "smp bench-appkernel";
    const SCHEMA: &'static str = "trimtab.smp.appkernel/1";

    fn title(&self) -> String {
        format!("Application kernel, Linux {}", self.kernel.version)
    }

    fn head(&self) -> Head {
        let passed = self.tests.iter().filter(|test| test.passed).count();
        let what = format!(
            "Linux {} knows one CPU of {}; the module ran its threads on the others: {passed} of {} tests \
             pass there.",
            self.kernel.version,
            self.cpus,
            self.tests.len(),
        );
        Head {
            what: what.into(),
            tiles: vec![
                Tile::new(
                    hundredths(
                        "calls.polling.forwarded/calls.polling.native",
                        self.calls.polling.ratio(),
                    ),
                    "times a native system call",
                    format!("the thesis: {PUBLISHED_CALL:.1}"),
                ),
                Tile::new(
                    hundredths(
                        "fault.polling.forwarded/fault.polling.native",
                        self.fault.polling.ratio(),
                    ),
                    "times a native page fault",
                    "polling",
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let rows = self
            .tests
            .iter()
            .map(|test| row![test.name.as_str(), mark(test.passed, "passed", "failed")]);
        let tests = Section::new("tests", "Tests of threads elsewhere", "").with(Table::new(
            "Tests",
            [name("test"), text("result")],
            rows.collect::<Vec<_>>(),
        ));
        let mut sections = vec![self.costs()];
        sections.extend(tables::sections(&self.programs, &self.noise, self.quantum));
        sections.push(tests);
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::tables::{Noise, ProgramRun, Quanta, Speedup, Times};
    use super::*;

    fn report() -> AppKernelReport {
        let test = |name: &str| TestResult { name: name.to_owned(), passed: true };
        let cost = |native, forwarded| Cost { native, forwarded };
        AppKernelReport {
            kernel: KernelFacts { version: "6.12.1".to_owned(), smp: false },
            cpus: 3,
            tests: vec![test("calls"), test("faults")],
            left: 70,
            stale: Stale { told: 0, ignored: 8 },
            stress: Stress { operations: 100, forwarded: 120, errors: 0 },
            calls: Costs {
                sleeping: cost(200, 1000),
                polling: cost(200, 900),
                switching: cost(200, 3000),
                proxy: cost(200, 2200),
            },
            fault: Costs {
                sleeping: cost(2000, 2500),
                polling: cost(2000, 2200),
                switching: cost(2000, 4000),
                proxy: cost(2000, 3400),
            },
            programs: vec![ProgramRun {
                name: "fft".to_owned(),
                kind: "parallel".to_owned(),
                cpus: 2,
                boots: 3,
                speedup: Speedup {
                    smp: 2.0,
                    paper: Some(1.04),
                    ours: 1.9,
                    answering: Some(1.98),
                    proxy: Some(1.6),
                },
                nanoseconds: Times {
                    up: 380,
                    smp: 190,
                    ours: 200,
                    answering: Some(192),
                    proxy: Some(240),
                },
            }],
            noise: vec![Noise {
                setup: "ours".to_owned(),
                milliseconds: 10,
                instructions: 0,
                kicks: Some(0),
                quanta: Quanta { count: 50, min: 200_011, max: 200_011, p9999: 200_011 },
            }],
            quantum: 1000,
            ..AppKernelReport::default()
        }
    }

    #[test]
    fn it_is_shown_and_read_again() {
        let report = report();
        let text = report.terminal(100);
        assert!(text.contains("2 of 2 tests pass there"), "{text}");
        assert!(
            text.contains("95.0 %") && text.contains("99.0 %") && text.contains("200,011"),
            "{text}"
        );
        assert!(
            text.contains("4.50") && text.contains("15.00") && text.contains("11.00"),
            "{text}"
        );
        assert_eq!(AppKernelReport::from_json(&report.to_json()).unwrap(), report);
    }

    #[test]
    fn what_must_hold_is_looked_at() {
        assert!(report().judged().iter().all(|check| check.ok));
        let holds = |change: fn(&mut AppKernelReport)| {
            let mut report = report();
            change(&mut report);
            report.judged().iter().filter(|check| !check.ok).count()
        };
        assert_eq!(holds(|report| report.tests[1].passed = false), 1);
        assert_eq!(holds(|report| report.tests.clear()), 1);
        assert_eq!(holds(|report| report.stale.told = 1), 1);
        assert_eq!(holds(|report| report.stale.ignored = 0), 1);
        assert_eq!(holds(|report| report.left = 0), 1);
        assert_eq!(holds(|report| report.stress.errors = 1), 1);
        assert_eq!(holds(|report| report.stress.forwarded = 1), 1);
        assert_eq!(holds(|report| report.noise[0].instructions = 1), 1);
        assert_eq!(holds(|report| report.noise[0].quanta.max = 200_032), 1);
        assert_eq!(holds(|report| report.noise[0].quanta.max = 200_030), 0);
    }
}
