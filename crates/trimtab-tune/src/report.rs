//! What `trimtab tune program` and `tune kernel` found: `trimtab.tune/1`.

mod bench;
mod core;
mod hot;
mod kernel;
mod profile;
mod sections;

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Check, Repeat};
use trimtab_report::phrase::{change_by, code, count, ratio};
use trimtab_report::section::{Head, Headline, Section, Tile};
use trimtab_report::{Kind, Phrase, Report, Schema, phrase};
use trimtab_stats::Interval;

use crate::space::linker_flags;

pub use self::core::{CoreCost, CoreCosts};
pub use bench::{BenchRow, BenchSummary, BenchTimed, TuneBench};
pub use hot::{AllObjects, HotObjects, OtherCode, SourceFile};
pub use kernel::{CallCost, KernelCalls, OtherSearch};
pub use profile::{CallRow, EcdfPoint, TuneProfile};

/// The kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] =
    &[Kind::of::<TuneProgram>(), Kind::of::<TuneBench>(), Kind::of::<TuneProfile>()];

/// What a program or a kernel became by other flags. Ratios are in times of it as it is built at the
/// level that was tuned on top of: below 1 is better.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuneProgram {
    /// Its schema.
    pub schema: Schema<TuneProgram>,
    /// The program, or the kernel.
    pub program: String,
    /// Where its source is from.
    pub origin: String,
    /// What the compiler says that it is.
    pub compiler: String,
    /// What was chosen among.
    pub space: SpaceSummary,
    /// How it was searched.
    pub search: String,
    /// Distinct sets of flags that the search was to try.
    pub budget: u64,
    /// Seed of the search.
    pub seed: u64,
    /// The flags with the fewest instructions.
    pub best: Best,
    /// The fewest flags that keep the gain.
    pub minimal: Smaller,
    /// What each flag of the fewest does, in their order.
    pub effects: Vec<FlagEffect>,
    /// What users would take instead.
    pub arms: Vec<ArmResult>,
    /// The model of a core by whose cycles all was judged; none where it was by instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreCosts>,
    /// What each call costs, where a kernel was tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCalls>,
    /// Which objects got the flags; none where all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot: Option<HotObjects>,
    /// How often what was done.
    pub evaluations: Evaluations,
    /// What was timed, the base first; none where nothing was.
    pub timed: Vec<TimedFlags>,
    /// The board on which it was timed; none where it was the machine that searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_on: Option<String>,
    /// What was to be timed and does not work, with the reason.
    #[serde(default)]
    pub not_timed: Vec<FailingFlags>,
    /// Place in `timed` of the fastest.
    pub fastest: Option<u64>,
    /// Spearman's rank correlation of instructions and time over what was timed.
    pub screen_rank_correlation: Option<f64>,
    /// For each hundred distinct sets of flags that the search tried, the share whose image it had seen
    /// before, so that nothing was run.
    #[serde(default)]
    pub known_by_hundred: Vec<f64>,
    /// The least ratio after each distinct set of flags; null as long as none worked.
    pub history: Vec<Option<f64>>,
    /// Flags that no others beat in both instructions and bytes, by instructions.
    pub front: Vec<FrontPoint>,
    /// Flags that do not go, alone or together, each with the reason.
    pub failing: Vec<FailingFlags>,
    /// The flags to take: the fewest that keep the gain, unless others are clearly faster.
    pub take: Take,
    /// What must hold.
    pub checks: Vec<Check>,
    /// Who built and counted; none where it was the process that searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<WorkerSummary>,
    /// How long it took.
    pub seconds: Seconds,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// What was chosen among.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceSummary {
    /// Flags and parameters that can be given or left.
    pub flags: u64,
    /// Their options in all.
    pub options: u64,
    /// The level where none is chosen.
    pub level: String,
    /// Options that the compiler lists or the file has, and the compiler refuses or ignores.
    pub refused: Vec<String>,
    /// Options of the file of flags that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<FailingFlags>,
}

/// Processes that built and counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSummary {
    /// How many there were at once.
    pub count: u64,
    /// What started them.
    pub starter: String,
    /// How many ended before the work did, and were started again.
    pub restarted: u64,
}

/// The flags with the fewest instructions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The flags.
    pub flags: String,
    /// Instructions.
    pub fitness_ratio: f64,
    /// Instructions of the run that is held out; none where there is none.
    pub held_out_ratio: Option<f64>,
    /// Lower end of the interval of processor time; none where it was not timed.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What is said where leaving flags out stopped.
const STOPPED: &str =
    "Leaving flags out stopped at --ablation: some of the fewest flags may do nothing.";

/// Fewer flags.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Smaller {
    /// The flags.
    pub flags: String,
    /// Instructions.
    pub fitness_ratio: f64,
    /// Instructions of the run that is held out; none where there is none.
    pub held_out_ratio: Option<f64>,
    /// Bytes of the program without symbols.
    pub bytes_ratio: f64,
    /// Whether leaving flags out stopped at its limit: there might be fewer.
    #[serde(default)]
    pub stopped: bool,
}

/// What a flag does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlagEffect {
    /// The flag.
    pub flag: String,
    /// Instructions without it, in times of those with all; none where it does not work without.
    pub fitness_ratio: Option<f64>,
    /// Processor time without it, in times of that with all; none where it was not timed.
    pub time_ratio: Option<f64>,
    /// Lower end of the interval of that.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What a user would take instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    /// What it is called.
    pub name: String,
    /// The flags.
    pub flags: String,
    /// Instructions; none where it does not work.
    pub ratio: Option<f64>,
    /// Bytes of the program without symbols.
    pub bytes_ratio: Option<f64>,
    /// Why it does not work.
    pub reason: Option<String>,
    /// Whether the search could choose it.
    pub is_in_space: bool,
    /// What built it, where that is not the compiler that is tuned.
    #[serde(default)]
    pub other_compiler: Option<String>,
    /// The line of the kernel's configuration that makes it, where it is a choice of that.
    #[serde(default)]
    pub configuration: Option<String>,
}

/// How often what was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluations {
    /// Sets of flags that the search named, those that it named again with them.
    pub proposed: u64,
    /// Sets that were built, also for arms and ablation.
    pub built: u64,
    /// Images that were run and counted.
    pub measured: u64,
    /// Sets that do not build, run or work.
    pub failed: u64,
    /// Sets whose image was known once they were built.
    pub deduplicated: u64,
    /// Sets of which an earlier run or another process had found out.
    pub known: u64,
}

/// How long flags take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimedFlags {
    /// What they are called.
    pub name: String,
    /// The flags.
    pub flags: String,
    /// Instructions; none where they cannot be counted.
    pub fitness_ratio: Option<f64>,
    /// Processor time, from runs in turn.
    pub time_ratio: Interval,
    /// Time on the clock, from the same runs.
    pub wall_ratio: Interval,
    /// Rounds that they ran in: those that are clearly slower leave.
    pub rounds: u32,
    /// Whether they ran to the end.
    pub is_left: bool,
}

/// Flags that no others beat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// The flags.
    pub flags: String,
    /// Instructions.
    pub fitness_ratio: f64,
    /// Bytes of the program without symbols.
    pub bytes_ratio: f64,
}

/// Flags that do not go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingFlags {
    /// The flags: one, or some that do not go together.
    pub flags: String,
    /// What came of them.
    pub reason: String,
}

/// The flags to take.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// What they are called in `timed`.
    pub name: String,
    /// The flags.
    pub flags: String,
    /// Lines to paste, by what they are for.
    pub lines: Vec<Line>,
}

/// A line to paste.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What it is for.
    pub what: String,
    /// The line.
    pub line: String,
}

/// How long it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// All of it.
    pub total: f64,
    /// The search, with its builds and runs.
    pub search: f64,
    /// The search's own part of that: deciding what to try.
    pub deciding: f64,
    /// Builds and runs, on all processors together.
    pub evaluating: f64,
    /// Time of processors that all of it took, with all that was started.
    #[serde(default)]
    pub processor: f64,
}

impl Take {
    /// These flags, with lines for the usual builds.
    pub fn new(name: impl Into<String>, flags: &str) -> Self {
        let cmake = format!(
            "cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=\"{flags}\" \
             -DCMAKE_CXX_FLAGS_RELEASE=\"{flags}\""
        );
        let mut shells = format!("CFLAGS=\"{flags}\" CXXFLAGS=\"{flags}\"");
        if let Some(line) = for_linker(flags) {
            shells = format!("{shells} {line}");
        }
        let cargo = format!("CFLAGS = \"{flags}\"\nCXXFLAGS = \"{flags}\"");
        let lines = [
            ("make and shells", shells),
            ("CMake", cmake),
            ("cargo, for C and C++ in crates: .cargo/config.toml, [env]", cargo),
        ];
        let lines = lines.map(|(what, line)| Line { what: what.to_owned(), line });
        Self { name: name.into(), flags: flags.to_owned(), lines: lines.to_vec() }
    }
}

/// What shells tell the linker, where flags need it.
fn for_linker(flags: &str) -> Option<String> {
    let told = linker_flags(flags);
    (!told.is_empty()).then(|| format!("LDFLAGS=\"{told}\""))
}

impl Report for TuneProgram {
    const VERB: &'static str = "tune";
    const SCHEMA: &'static str = "trimtab.tune/1";

    fn title(&self) -> String {
        format!("Flags for {}", self.program)
    }

    fn head(&self) -> Head {
        let gain = |key: &str, ratio: f64| change_by(format!("{key}-1"), ratio - 1.0);
        let tried = phrase![
            count("space.flags", self.space.flags),
            " flags and parameters with ",
            count("space.options", self.space.options),
            " options, on top of ",
            code(&self.space.level),
            "; tried by the search ",
            code(&self.search),
            ", seed ",
            count("seed", self.seed),
            ".",
        ];
        let mut summary = vec![tried];
        if let Some(held_out) = self.minimal.held_out_ratio {
            let share = gain("minimal.held_out_ratio", held_out);
            summary.push(phrase![self.what_is_held_out(), share, " ", self.unit(), "."]);
        }
        let better = self.arms.iter().enumerate().filter(|(_, arm)| !arm.is_in_space);
        let better = better.filter_map(|(place, arm)| Some((place, arm, arm.ratio?)));
        if let Some((place, arm, ratio)) = better.min_by(|a, b| a.2.total_cmp(&b.2))
            && ratio < self.best.fitness_ratio
        {
            let share = gain(&format!("arms.{place}.ratio"), ratio);
            let words = match arm.configuration {
                Some(_) => ", a choice of the configuration, does better: ",
                None => ", which was not among the flags to choose from, does better: ",
            };
            summary.push(phrase![code(&arm.name), words, share, " ", self.unit(), "."]);
        }
        if self.minimal.stopped {
            summary.push(phrase![STOPPED]);
        }
        summary.push(self.time_in_words());
        let evaluations = self.evaluations;
        Head {
            facts: vec![self.origin.clone(), self.compiler.clone()],
            headline: Headline::One(
                gain("minimal.fitness_ratio", self.minimal.fitness_ratio).into(),
            ),
            what: self.what(),
            summary,
            tiles: vec![
                Tile::new(
                    gain("best.fitness_ratio", self.best.fitness_ratio),
                    &format!("{} with the best flags", self.unit()),
                    "",
                ),
                Tile::new(count("evaluations.built", evaluations.built), "sets of flags built", ""),
                Tile::new(
                    count("evaluations.deduplicated", evaluations.deduplicated),
                    "images known once built",
                    "",
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let parts = [
            self.to_take(),
            self.hot_objects(),
            self.calls(),
            self.core_costs(),
            self.beside(),
            self.times(),
            self.flag_effects(),
            self.convergence(),
            self.speed_and_size(),
            self.what_fails(),
            self.what_was_done(),
        ];
        parts.into_iter().flatten().collect()
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![
            ("total", "seconds.total", self.seconds.total),
            ("search", "seconds.search", self.seconds.search),
            ("deciding", "seconds.deciding", self.seconds.deciding),
            ("processors", "seconds.processor", self.seconds.processor),
        ]
    }
}

impl TuneProgram {
    /// Share of what the search named, arms and ablation that needed no build or no run; 0 of nothing.
    pub fn saved(&self) -> f64 {
        let Evaluations { proposed, built, deduplicated, known, .. } = self.evaluations;
        let all = (built + known).max(proposed);
        let saved = all - built.min(all) + deduplicated.min(built);
        if all == 0 { 0.0 } else { saved as f64 / all as f64 }
    }

    fn time_in_words(&self) -> Phrase {
        match self.fastest.and_then(|place| self.timed.get(usize::try_from(place).ok()?)) {
            None => phrase!["It was not timed: ", self.unit(), " alone do not say what is faster."],
            Some(fastest) => phrase![
                "In runs in turn ",
                code(&fastest.name),
                " was the fastest: ",
                ratio("", fastest.time_ratio.mean),
                " of the time (",
                ratio("", fastest.time_ratio.low),
                " to ",
                ratio("", fastest.time_ratio.high),
                ").",
            ],
        }
    }
}

#[cfg(test)]
mod tests;
