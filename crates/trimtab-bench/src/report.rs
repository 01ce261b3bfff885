//! What `trimtab probe bench` measured: `trimtab.probe.bench/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Repeat, Target};
use trimtab_report::phrase::{count, hundredths, mark, or_none};
use trimtab_report::section::{Block, Column, Head, Section, Table, name, number};
use trimtab_report::{Kind, Phrase, Report, Schema, Trial, phrase, row};
use trimtab_stats::{CONFIDENCE_TEXT, Interval};

/// The kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] = &[Kind::of::<ProbeBench>()];

/// What instrumentation costs real programs, by us and by others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeBench {
    /// Its schema.
    pub schema: Schema<ProbeBench>,
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
    pub rewriting: Option<BenchRewrite>,
    /// Test suites that were run instrumented.
    #[serde(default)]
    pub suites: Vec<BenchSuite>,
    /// What had to be reached.
    pub targets: Vec<Target>,
    /// Ways that were left out, each with the reason.
    pub left_out: Vec<String>,
    /// What it takes to get it again.
    pub repeat: Repeat,
    /// The runs, one by one.
    #[serde(skip)]
    pub trials: Vec<Trial>,
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
pub struct BenchRewrite {
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

impl BenchRewrite {
    /// Bytes of objects that are rewritten in a second, in MB.
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

impl Report for ProbeBench {
    const VERB: &'static str = "probe bench";
    const SCHEMA: &'static str = "trimtab.probe.bench/1";

    fn title(&self) -> String {
        "What instrumented programs cost".to_owned()
    }

    fn head(&self) -> Head {
        let mut summary = vec![Phrase::from(format!(
            "Processor time beside the plain program by the same compiler, run in turn, with the \
             interval that covers {CONFIDENCE_TEXT}.",
        ))];
        summary.extend(self.counter_ns.map(|reading| {
            phrase![
                "Hooks that tell cycles read the machine's counter twice a call, ",
                hundredths("counter_ns", reading),
                " ns each.",
            ]
        }));
        Head {
            facts: vec![
                format!("{} programs", self.programs.len()),
                format!("{} runs in each way", self.rounds),
            ],
            what: "What instrumented programs cost".into(),
            summary,
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = self.means().into_iter().collect();
        sections.extend((0..self.programs.len()).map(|place| self.program(place)));
        sections.extend([self.rewritten(), self.tested(), self.without()].into_iter().flatten());
        sections
    }

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn trials(&self) -> Vec<Trial> {
        self.trials.clone()
    }
}

/// The columns that say which way it is.
fn ways() -> Vec<Column> {
    ["tool", "hook", "functions"].map(name).to_vec()
}

impl ProbeBench {
    fn means(&self) -> Option<Section> {
        let rows = self.summary.iter().enumerate().map(|(place, way)| {
            let key = |field: &str| format!("summary.{place}.{field}");
            let of =
                |field: &str, value| or_none(value, |value: f64| hundredths(key(field), value));
            row![
                &way.tool,
                &way.hook,
                &way.functions,
                count(key("programs"), way.programs),
                hundredths(key("time_ratio"), way.time_ratio),
                of("instruction_ratio", way.instruction_ratio),
                of("text_ratio", way.text_ratio),
                of("bytes_per_stub", way.bytes_per_stub),
            ]
        });
        let mut columns = ways();
        columns.extend(["programs", "time", "instructions", "code", "bytes a stub"].map(number));
        let lede = "Geometric means, in times of the plain programs'. Means over fewer programs, \
                    because others could not be instrumented so, are not to be held against means \
                    over all.";
        (!self.summary.is_empty()).then(|| {
            Section::new("summary", "All programs", lede).with(Table::new(
                "All programs",
                columns,
                rows,
            ))
        })
    }

    /// What the program at `place` costs in each way.
    fn program(&self, place: usize) -> Section {
        // Long: a column for each thing measured.
        let program = &self.programs[place];
        let rows = program.tools.iter().enumerate().map(|(at, tool)| {
            let key = |field: &str| format!("programs.{place}.tools.{at}.{field}");
            let of =
                |field: &str, value| or_none(value, |value: f64| hundredths(key(field), value));
            let whole = |field: &str, value| or_none(value, |value: u64| count(key(field), value));
            let time = tool.time_ratio;
            row![
                &tool.tool,
                &tool.hook,
                &tool.functions,
                hundredths(key("time_ratio.mean"), time.mean),
                phrase![
                    hundredths(key("time_ratio.low"), time.low),
                    " to ",
                    hundredths(key("time_ratio.high"), time.high),
                ],
                whole("events", tool.events),
                of("ns_per_event", tool.ns_per_event),
                of("instruction_ratio", tool.instruction_ratio),
                of("branch_miss_ratio", tool.branch_miss_ratio),
                of("l1i_miss_ratio", tool.l1i_miss_ratio),
                of("l1d_miss_ratio", tool.l1d_miss_ratio),
            ]
        });
        let mut columns = ways();
        columns.extend([
            number("time"),
            number(CONFIDENCE_TEXT),
            number("calls"),
            number("ns a call"),
            number("instructions"),
            number("branches").of("misses"),
            number("L1I").of("misses"),
            number("L1D").of("misses"),
        ]);
        let key = |field: &str| format!("programs.{place}.{field}");
        let title = match program.package.as_str() {
            "" => program.name.clone(),
            package => format!("{} ({package})", program.name),
        };
        let lede = phrase![
            count(key("functions"), program.functions),
            " functions, ",
            count(key("hot"), program.hot),
            " of them make up 80 % of the cycles. Instructions and misses are simulated; they, the \
             bytes of code and the bytes that are loaded are in times of the plain program's, which \
             has ",
            count(key("text_bytes"), program.text_bytes),
            " bytes of code, loads ",
            count(key("loaded_bytes"), program.loaded_bytes),
            " and takes ",
            hundredths(key("seconds"), program.seconds),
            " s.",
        ];
        Section::new(format!("program-{place}"), title, lede).with(Table::new(
            &program.name,
            columns,
            rows,
        ))
    }

    fn rewritten(&self) -> Option<Section> {
        let found = self.rewriting.as_ref()?;
        let row = row![
            count("rewriting.bytes", found.bytes),
            count("rewriting.written", found.written),
            count("rewriting.functions", found.functions),
            hundredths("rewriting.seconds", found.seconds),
            count("rewriting.cores", found.cores),
            hundredths("rewriting.bytes/1000000/rewriting.seconds", found.speed()),
        ];
        let columns =
            ["bytes of objects", "bytes written", "functions", "seconds", "cores", "MB/s"];
        let lede = "Objects are read from files, all that is in them is instrumented, and files are \
                    written.";
        Some(Section::new("rewriting", "Rewriting", lede).with(Table::new(
            "Rewriting",
            columns.map(number),
            [row],
        )))
    }

    fn tested(&self) -> Option<Section> {
        let rows = self.suites.iter().enumerate().map(|(place, suite)| {
            let key = |field: &str| format!("suites.{place}.{field}");
            row![
                &suite.package,
                phrase![
                    count(key("instrumented"), suite.instrumented),
                    " of ",
                    count(key("seen"), suite.seen),
                ],
                count(key("recordings"), suite.recordings),
                mark(suite.plain_passed, "pass", "fail"),
                mark(suite.instrumented_passed, "pass", "fail"),
            ]
        });
        let columns = [
            name("tests of"),
            number("functions"),
            number("recordings"),
            name("plain"),
            name("instrumented"),
        ];
        let lede = "The packages' own tests, with every function instrumented that can be.";
        (!self.suites.is_empty()).then(|| {
            Section::new("suites", "Test suites", lede).with(Table::new(
                "Test suites",
                columns,
                rows,
            ))
        })
    }

    fn without(&self) -> Option<Section> {
        let lede = "What was not measured, and what tools could not instrument.";
        let list = self.left_out.iter().map(Phrase::from).collect();
        (!self.left_out.is_empty())
            .then(|| Section::new("left-out", "Left out", lede).with(Block::List(list)))
    }
}
