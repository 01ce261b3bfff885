//! What `trimtab tune bench` found: `trimtab.tune.bench/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Check, Repeat};
use trimtab_report::phrase::{count, or_none, ratio, seconds, share};
use trimtab_report::section::{Block, Head, Section, Table, name, number};
use trimtab_report::{Phrase, Report, Schema, phrase, row};
use trimtab_stats::{CONFIDENCE_TEXT, Interval};

/// Searches beside each other. Ratios are of instructions, in times of the program at the level that is
/// tuned on top of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuneBench {
    /// Its schema.
    pub schema: Schema<TuneBench>,
    /// Seeds that each search was begun with, from 1.
    pub seeds: u64,
    /// Numbers of sets of flags after which searches were looked at.
    pub budgets: Vec<u64>,
    /// All programs together.
    pub summary: Vec<BenchSummary>,
    /// Each program, search and budget.
    pub rows: Vec<BenchRow>,
    /// What the first search found with its first seed, timed; a program each.
    #[serde(default)]
    pub timed: Vec<BenchTimed>,
    /// Searches that were left out, each with the reason.
    pub left_out: Vec<String>,
    /// What must hold.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// How long it took.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A search after a number of sets of flags, over all programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchSummary {
    /// The search.
    pub search: String,
    /// Sets of flags.
    pub budget: u64,
    /// The best found: geometric mean over programs, and interval over seeds.
    pub ratio: Interval,
    /// The same in times of what the first search found with the same seed: above 1 is worse.
    pub beside_first: Interval,
}

/// A search after a number of sets of flags, on one program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// The program.
    pub program: String,
    /// The search.
    pub search: String,
    /// Sets of flags.
    pub budget: u64,
    /// The best found: geometric mean and interval over seeds.
    pub ratio: Interval,
    /// The best found with each seed.
    pub samples: Vec<f64>,
    /// Seeds with which it found better flags than the first search.
    pub wins: u64,
    /// Seeds with which it found worse ones.
    pub losses: u64,
    /// Share of the sets of flags that gave an image which the same search had seen: they are not run.
    #[serde(default)]
    pub known: f64,
    /// Seconds that the search takes itself to decide on a set of flags.
    #[serde(default)]
    pub deciding: f64,
}

/// The best that a search found for a program, in times of the level that is tuned on top of. Runs are in turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchTimed {
    /// The program.
    pub program: String,
    /// The search.
    pub search: String,
    /// What it found; empty where nothing was better.
    pub flags: String,
    /// Instructions; none where nothing was better.
    pub fitness_ratio: Option<f64>,
    /// Processor time; none where nothing was timed.
    pub time_ratio: Option<Interval>,
    /// Time on the clock.
    pub wall_ratio: Option<Interval>,
    /// Runs of each.
    pub rounds: u32,
    /// Why it was not timed.
    pub reason: Option<String>,
}

/// Searches over all programs.
fn together(summary: &[BenchSummary]) -> Section {
    let rows = summary.iter().enumerate().map(|(place, found)| {
        let key = |field: &str| format!("summary.{place}.{field}");
        row![
            &found.search,
            count(key("budget"), found.budget),
            ratio(key("ratio.mean"), found.ratio.mean),
            within(&key("ratio"), found.ratio),
            ratio(key("beside_first.mean"), found.beside_first.mean),
            within(&key("beside_first"), found.beside_first),
        ]
    });
    let columns = [
        name("search"),
        number("tried"),
        number("found"),
        number(CONFIDENCE_TEXT),
        number("beside the first"),
        number(CONFIDENCE_TEXT),
    ];
    let title = "All programs";
    let lede = "Geometric means over programs; beside the first search with the same seed, above 1 \
                is worse.";
    Section::new("summary", title, lede).with(Table::new(title, columns, rows))
}

/// Programs with what was found for them, beside themselves without.
fn times(timed: &[BenchTimed]) -> Option<Section> {
    let rows = timed.iter().enumerate().map(|(place, found)| {
        let key = |field: &str| format!("timed.{place}.{field}");
        let mean = |field: &str, interval: Option<Interval>| {
            or_none(interval, |interval| ratio(key(&format!("{field}.mean")), interval.mean))
        };
        let between = |field: &str, interval: Option<Interval>| {
            or_none(interval, |interval| within(&key(field), interval))
        };
        row![
            &found.program,
            or_none(found.fitness_ratio, |found| ratio(key("fitness_ratio"), found)),
            mean("time_ratio", found.time_ratio),
            between("time_ratio", found.time_ratio),
            mean("wall_ratio", found.wall_ratio),
            between("wall_ratio", found.wall_ratio),
            count(key("rounds"), u64::from(found.rounds)),
        ]
    });
    let columns = [
        name("program"),
        number("instructions"),
        number("processor time"),
        number(CONFIDENCE_TEXT),
        number("on the clock"),
        number(CONFIDENCE_TEXT),
        number("runs"),
    ];
    let lede = "What the first search found with its first seed, in times of the program without it. Both run in turn, \
                until it is clear which is faster.";
    let section = Section::new("time", "Time", lede).with(Table::new("Time", columns, rows));
    (!timed.is_empty()).then_some(section)
}

fn within(key: &str, interval: Interval) -> Phrase {
    phrase![
        ratio(format!("{key}.low"), interval.low),
        " to ",
        ratio(format!("{key}.high"), interval.high)
    ]
}

impl Report for TuneBench {
    const VERB: &'static str = "tune bench";
    const SCHEMA: &'static str = "trimtab.tune.bench/1";

    fn title(&self) -> String {
        "Searches for compiler flags".to_owned()
    }

    fn head(&self) -> Head {
        Head {
            facts: vec![format!("{} seeds", self.seeds)],
            what: "Searches for compiler flags".into(),
            summary: vec![
                format!(
                    "The least number of instructions that each search found, in times of the program \
                     without tuning; intervals cover {CONFIDENCE_TEXT}."
                )
                .into(),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let rows = self.rows.iter().enumerate().map(|(place, found)| {
            let key = |field: &str| format!("rows.{place}.{field}");
            row![
                &found.program,
                &found.search,
                count(key("budget"), found.budget),
                ratio(key("ratio.mean"), found.ratio.mean),
                within(&key("ratio"), found.ratio),
                count(key("wins"), found.wins),
                count(key("losses"), found.losses),
                share(key("known"), found.known),
                seconds(key("deciding"), found.deciding),
            ]
        });
        let columns = [
            name("program"),
            name("search"),
            number("tried"),
            number("found"),
            number(CONFIDENCE_TEXT),
            number("better").of("than the first"),
            number("worse").of("than the first"),
            number("known"),
            number("deciding"),
        ];
        let title = "Each program";
        let lede = "Geometric means over seeds. Known is the share of sets of flags whose image the same \
                    search had seen, deciding what it takes itself for each.";
        let each = Section::new("programs", title, lede).with(Table::new(title, columns, rows));
        let mut sections = vec![together(&self.summary), each];
        sections.extend(times(&self.timed));
        if !self.left_out.is_empty() {
            let list = self.left_out.iter().map(Phrase::from).collect();
            sections.push(Section::new("left-out", "Left out", "").with(Block::List(list)));
        }
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("total", "seconds", self.seconds)]
    }
}
