//! What `trimtab probe bench` measured: `trimtab.probe.bench/1`.

use super::common::{Repeat, Target};
use crate::{ReportError, json};
use serde::{Deserialize, Serialize};
use trimtab_stats::Interval;

/// The schema's name; it has no other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeBenchSchema {
    /// `trimtab.probe.bench/1`.
    #[default]
    #[serde(rename = "trimtab.probe.bench/1")]
    V1,
}

impl ProbeBenchSchema {
    /// As the JSON has it.
    pub const NAME: &'static str = "trimtab.probe.bench/1";
}

/// What instrumentation costs real programs, by us and by others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeBench {
    /// Always [`ProbeBenchSchema::V1`].
    pub schema: ProbeBenchSchema,
    /// Times that each program was run in each way.
    pub rounds: u32,
    /// Nanoseconds that reading the machine's counter of cycles takes: hooks that tell cycles do it
    /// twice a call. None where no program could tell.
    #[serde(default)]
    pub counter_ns: Option<f64>,
    /// The programs, in the order in which they were measured.
    pub programs: Vec<BenchProgram>,
    /// What all programs together say.
    #[serde(default)]
    pub summary: Vec<BenchSummary>,
    /// How fast objects are rewritten; none where there were none.
    #[serde(default)]
    pub rewriting: Option<BenchRewriting>,
    /// Test suites that were run instrumented.
    #[serde(default)]
    pub suites: Vec<BenchSuite>,
    /// What had to be reached.
    pub targets: Vec<Target>,
    /// Ways that were left out, each with the reason.
    pub left_out: Vec<String>,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchProgram {
    /// Its name.
    pub name: String,
    /// The package that it is from; empty for one of our own.
    pub package: String,
    /// Functions of it that can be instrumented.
    pub functions: u64,
    /// Functions that make up 80 % of its cycles.
    pub hot: u64,
    /// Processor time of the plain program in seconds, the shortest of all runs.
    pub seconds: f64,
    /// Bytes of code in the plain program; 0 where they are not known.
    #[serde(default)]
    pub text_bytes: u64,
    /// Bytes of the plain program that are loaded from its file; 0 where they are not known.
    #[serde(default)]
    pub loaded_bytes: u64,
    /// The ways in which it was instrumented.
    pub tools: Vec<BenchTool>,
}

/// A program, instrumented in one way, beside the plain one by the same compiler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchTool {
    /// Who instruments.
    pub tool: String,
    /// What happens at entry and exit.
    pub hook: String,
    /// Which functions: `all`, or `hot` for those that make up 80 % of the cycles.
    pub functions: String,
    /// How often it was run.
    #[serde(default)]
    pub runs: u32,
    /// Processor time in seconds, the shortest of all runs.
    #[serde(default)]
    pub seconds: f64,
    /// Processor time, in times of the plain program's.
    pub time_ratio: Interval,
    /// Instructions, in times of the plain program's; none where they were not simulated.
    pub instruction_ratio: Option<f64>,
    /// Entries of instrumented functions in one run; none where they are not known.
    pub events: Option<u64>,
    /// Time above the plain program's for each call, in nanoseconds.
    pub ns_per_event: Option<f64>,
    /// Mispredicted branches, in times of the plain program's, simulated.
    pub branch_miss_ratio: Option<f64>,
    /// Misses of the first-level instruction cache, in times of the plain program's, simulated.
    pub l1i_miss_ratio: Option<f64>,
    /// Misses of the first-level data cache, in times of the plain program's, simulated.
    pub l1d_miss_ratio: Option<f64>,
    /// Bytes of code in the program, with the run time; none where the tool changes it in memory.
    #[serde(default)]
    pub text_bytes: Option<u64>,
    /// Bytes of code, in times of the plain program's.
    #[serde(default)]
    pub text_ratio: Option<f64>,
    /// Bytes of the program that are loaded from its file: code, unwind information and data.
    #[serde(default)]
    pub loaded_bytes: Option<u64>,
    /// Bytes that are loaded, in times of the plain program's.
    #[serde(default)]
    pub loaded_ratio: Option<f64>,
    /// Functions with a stub of ours; none with other tools.
    #[serde(default)]
    pub stubs: Option<u64>,
    /// Bytes of code that each of them added, without the run time's own.
    #[serde(default)]
    pub bytes_per_stub: Option<f64>,
}

/// One way of instrumentation over all programs from packages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchSummary {
    /// Who instruments.
    pub tool: String,
    /// What happens at entry and exit.
    pub hook: String,
    /// Which functions: `all` or `hot`.
    pub functions: String,
    /// How many programs: fewer than there are where it failed on some.
    pub programs: u32,
    /// Geometric mean of the ratios of processor time.
    pub time_ratio: f64,
    /// Geometric mean of the ratios of instructions; none where they were not simulated.
    pub instruction_ratio: Option<f64>,
    /// Geometric mean of the ratios of bytes of code; none where they are not known.
    #[serde(default)]
    pub text_ratio: Option<f64>,
    /// Bytes of code that each stub of ours added, over all programs, without the run time's own.
    #[serde(default)]
    pub bytes_per_stub: Option<f64>,
}

/// How fast objects are rewritten: read from files, rewritten, and written to files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRewriting {
    /// Bytes of objects.
    pub bytes: u64,
    /// Bytes that were written; 0 where nothing was.
    #[serde(default)]
    pub written: u64,
    /// Functions that were instrumented in them.
    pub functions: u64,
    /// From begin to end.
    pub seconds: f64,
    /// Cores that it ran on.
    pub cores: u32,
}

/// A package's own tests, run with every function instrumented that can be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchSuite {
    /// What it is called.
    pub name: String,
    /// The package that it is from.
    pub package: String,
    /// Functions in the programs that were linked.
    pub seen: u64,
    /// Functions of them that were instrumented.
    pub instrumented: u64,
    /// Recordings that the tests left.
    pub recordings: u64,
    /// Whether the tests pass without instrumentation.
    pub plain_passed: bool,
    /// Whether they pass with it.
    pub instrumented_passed: bool,
}

impl BenchRewriting {
    /// Bytes of objects that are rewritten in a second, in MB.
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

impl ProbeBench {
    /// The JSON for people and for diffs.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Self::to_json`] wrote, by this version or a later one.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such result.
    pub fn from_json(text: &str) -> Result<Self, ReportError> {
        json::read(text, ProbeBenchSchema::NAME)
    }
}
