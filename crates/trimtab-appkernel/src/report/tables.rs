//! The thesis's tables, as a report has them.

use serde::{Deserialize, Serialize};
use trimtab_report::common::Check;
use trimtab_report::phrase::{Phrase, count, hundredths, or_none, share, times};
use trimtab_report::row;
use trimtab_report::section::{Column, Section, Table, name, number as column};

/// A program on a number of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// Its name.
    pub name: String,
    /// Which table it is of: `single`, `parallel` or `multiprogramming`.
    pub kind: String,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Of how many boots each figure is the one in the middle.
    #[serde(default = "one")]
    pub boots: u32,
    /// How many times as fast it is as on Linux without SMP.
    pub speedup: Speedup,
    /// How long it takes, by the guest's clock: an instruction of a CPU takes one.
    pub nanoseconds: Times,
}

fn one() -> u32 {
    1
}

/// How many times as fast a program is as on one CPU and Linux without SMP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// On Linux with SMP.
    pub smp: f64,
    /// What the thesis has of its application kernel, with other programs of the same names; none if it has
    /// nothing of so many CPUs.
    pub paper: Option<f64>,
    /// On Linux without SMP, and the module.
    pub ours: f64,
    /// The same where the module's CPUs answer some system calls themselves; of programs with threads.
    #[serde(default)]
    pub answering: Option<f64>,
    /// On the same kernel and module, where each thread has a proxy, as in the thesis; not of programs that run
    /// together.
    #[serde(default)]
    pub proxy: Option<f64>,
}

/// Nanoseconds of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// On Linux without SMP, which has one CPU.
    pub up: u64,
    /// On Linux with SMP.
    pub smp: u64,
    /// On Linux without SMP, and the module.
    pub ours: u64,
    /// The same where the module's CPUs answer some system calls themselves; of programs with threads.
    #[serde(default)]
    pub answering: Option<u64>,
    /// On the same kernel and module, where each thread has a proxy, as in the thesis; not of programs that run
    /// together.
    #[serde(default)]
    pub proxy: Option<u64>,
}

/// What a CPU executes beside a thread that only computes there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noise {
    /// `smp`; `smp, isolated`: with `isolcpus`, `nohz_full` and `rcu_nocbs`; `ours`.
    pub setup: String,
    /// For how long it was watched, by its own clock.
    pub milliseconds: u32,
    /// Instructions that were not the thread's.
    pub instructions: u64,
    /// How often the thread was taken away from its CPU, where the module counts that.
    pub kicks: Option<u64>,
    /// What the same work took, again and again.
    pub quanta: Quanta,
}

/// Instructions that the CPU executed while the thread did the same work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quanta {
    /// How often it did.
    pub count: u64,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
    /// What all but one in 10,000 did not exceed.
    pub p9999: u64,
}

impl Quanta {
    /// The most in times of the least.
    pub fn spread(&self) -> f64 {
        self.max as f64 / self.min.max(1) as f64
    }
}

/// The most that [`Quanta::spread`] may be on a CPU of the module.
const SPREAD: f64 = 1.0001;

/// What must hold of a CPU that the module has, if it was watched.
pub(super) fn judged(noise: &[Noise]) -> Option<Check> {
    let ours = noise.iter().find(|noise| noise.setup == "ours")?;
    Some(Check::new(
        "A computing thread has its CPU for itself",
        ours.instructions == 0 && ours.quanta.count > 0 && ours.quanta.spread() <= SPREAD,
        format!("{} other instructions in {} turns", ours.instructions, ours.quanta.count),
    ))
}

/// The tables that there are.
pub(super) fn sections(programs: &[ProgramRun], noise: &[Noise], quantum: u32) -> Vec<Section> {
    let mut sections = Vec::new();
    if !programs.is_empty() {
        sections.push(speedups(programs, quantum));
    }
    if !noise.is_empty() {
        sections.push(quiet(noise));
    }
    sections
}

fn speedups(programs: &[ProgramRun], quantum: u32) -> Section {
    let lede = format!(
        "In times of the same on one CPU and Linux without SMP. Each CPU has a clock of its own, on which an \
         instruction takes a nanosecond; none is ahead of the slowest by more than {quantum} instructions. \
         \"Answering\": the module's CPUs answer some system calls themselves. \"Proxy\": each thread has one, as in \
         the thesis, on this kernel and module. The thesis has other sizes, an older Linux and another simulator.",
    );
    let section = Section::new("programs", "Programs", lede);
    KINDS.into_iter().fold(section, |section, (kind, title)| {
        let runs = programs.iter().enumerate().filter(|(_, run)| run.kind == kind);
        let rows: Vec<Vec<Phrase>> = runs.map(|(place, run)| speedup(place, run)).collect();
        match rows.is_empty() {
            true => section,
            false => section.with(Table::new(title, columns(), rows)),
        }
    })
}

/// What each kind is called.
const KINDS: [(&str, &str); 3] = [
    ("single", "Programs of one thread"),
    ("parallel", "Programs with eight threads"),
    ("multiprogramming", "A compiler, searches and programs with threads, together"),
];

fn columns() -> [Column; 9] {
    [
        name("program"),
        column("CPUs"),
        column("SMP"),
        column("ours"),
        column("ours of SMP"),
        column("answering"),
        column("answering of SMP"),
        column("proxy"),
        column("thesis"),
    ]
}

fn speedup(place: usize, run: &ProgramRun) -> Vec<Phrase> {
    let key = |field: &str| format!("programs.{place}.{field}");
    row![
        run.name.as_str(),
        count(key("cpus"), u64::from(run.cpus)),
        times(key("speedup.smp"), run.speedup.smp),
        times(key("speedup.ours"), run.speedup.ours),
        share(
            format!("{}/{}", key("speedup.ours"), key("speedup.smp")),
            run.speedup.ours / run.speedup.smp
        ),
        or_none(run.speedup.answering, |answering| times(key("speedup.answering"), answering)),
        or_none(run.speedup.answering, |answering| share(
            format!("{}/{}", key("speedup.answering"), key("speedup.smp")),
            answering / run.speedup.smp
        )),
        or_none(run.speedup.proxy, |proxy| times(key("speedup.proxy"), proxy)),
        or_none(run.speedup.paper, |paper| times(key("speedup.paper"), paper)),
    ]
}

fn quiet(noise: &[Noise]) -> Section {
    let rows = noise.iter().enumerate().map(|(place, noise)| {
        let key = |field: &str| format!("noise.{place}.{field}");
        row![
            noise.setup.as_str(),
            count(key("milliseconds"), u64::from(noise.milliseconds)),
            count(key("instructions"), noise.instructions),
            or_none(noise.kicks, |kicks| count(key("kicks"), kicks)),
            count(key("quanta.min"), noise.quanta.min),
            count(key("quanta.p9999"), noise.quanta.p9999),
            count(key("quanta.max"), noise.quanta.max),
            hundredths(
                format!("{}/{}", key("quanta.max"), key("quanta.min")),
                noise.quanta.spread()
            ),
        ]
    });
    let columns = [
        name("setup"),
        column("ms"),
        column("others'"),
        column("kicks"),
        column("least").of("a quantum of work"),
        column("99.99 %").of("a quantum of work"),
        column("most").of("a quantum of work"),
        column("most/least").of("a quantum of work"),
    ];
    let lede = "A thread computes on the second of two CPUs, while Linux has nothing else to do: instructions that its \
                CPU executes for others, and what the same work takes.";
    let title = "Noise";
    Section::new("noise", title, lede).with(Table::new(title, columns, rows))
}
