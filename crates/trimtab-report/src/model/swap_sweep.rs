//! What `trimtab swap sweep` found: `trimtab.swap.sweep/1`.

use crate::common::Input;
use crate::figure::{Figure, Line, Scale};
use crate::number::{self, plain};
use crate::phrase::{bytes, code, count, share, threshold, times};
use crate::section::{Column, Head, Headline, Section, Table, Tile, name, number as column};
use crate::{Phrase, Report, Schema, phrase, row};
use serde::{Deserialize, Serialize};

/// Bytes of a page frame.
const PAGE: u64 = 4096;

/// Colours of placements and policies.
const CLASSES: [&str; 5] = ["after", "before", "tone-bad", "tone-good", "floor"];

/// What swapping costs for thresholds, placements, cache sizes and policies. All faults are counted
/// in replays of traces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapSweep {
    /// Its schema.
    pub schema: Schema<SwapSweep>,
    /// The kernel.
    pub kernel: Input,
    /// How finely code was taken apart: `function` or `block`.
    pub granularity: String,
    /// The function from whose first execution on runs counted.
    pub from: String,
    /// The traces: those that made the plans, then those held out.
    pub traces: Vec<SweptTrace>,
    /// Cache sizes in page frames.
    pub frames: Vec<u64>,
    /// Policy of replacement that placements are compared with.
    pub policy: String,
    /// What each threshold leads to, ascending.
    pub thresholds: Vec<SweptThreshold>,
    /// What each policy leads to with the first placement at [`Self::policy_threshold`].
    pub policies: Vec<SweptPolicy>,
    /// The threshold that policies are compared at.
    pub policy_threshold: f64,
    /// Times that loading a page takes.
    pub latencies: Vec<Latency>,
    /// Nanoseconds that an instruction takes in the model of system time.
    pub nanoseconds_per_instruction: f64,
}

/// A trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptTrace {
    /// Its file.
    pub path: String,
    /// Whether it was kept from the plans.
    pub held_out: bool,
    /// Instructions of the kernel that it executed once swapping had begun.
    pub instructions: u64,
}

/// What a threshold leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptThreshold {
    /// Share of all executed instructions that stays in memory.
    pub threshold: f64,
    /// Bytes of all code that is not released when the kernel is up.
    pub original: u64,
    /// Bytes that are never absent.
    pub core: u64,
    /// Bytes that stay for speed.
    pub base: u64,
    /// Bytes that are loaded when called for.
    pub swappable: u64,
    /// Swappable pages of the first placement.
    pub pages: u64,
    /// Bytes of the page tables and of the driver's tables that swapping needs.
    pub tables: u64,
    /// Bytes of the swappable pages, each compressed alone with LZ4.
    pub store: u64,
    /// What each placement leads to.
    pub placements: Vec<SweptPlacement>,
}

/// What a placement leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptPlacement {
    /// Its name.
    pub name: String,
    /// Wall time that placing took, in seconds, once for each cache size.
    pub seconds: f64,
    /// Page faults for each cache size, of the traces that made it.
    pub faults: Vec<u64>,
    /// Page faults for each cache size, of the traces held out; empty without any.
    pub held_out: Vec<u64>,
}

/// What a policy leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptPolicy {
    /// Its name.
    pub name: String,
    /// Page faults for each cache size, of all traces that made the plan.
    pub faults: Vec<u64>,
    /// Page faults for each cache size, of the traces held out; empty without any.
    pub held_out: Vec<u64>,
}

/// How long loading a page takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// What it is loaded from.
    pub name: String,
    /// Microseconds.
    pub microseconds: f64,
}

impl SwapSweep {
    /// Instructions of the kernel in all traces that made the plans, or in all held out.
    pub fn instructions(&self, held_out: bool) -> u64 {
        let traces = self.traces.iter().filter(|trace| trace.held_out == held_out);
        traces.map(|trace| trace.instructions).sum()
    }

    /// System time as a multiple of that without swapping: instructions and page faults, nothing
    /// else.
    pub fn slowdown(&self, faults: u64, latency: &Latency, held_out: bool) -> f64 {
        let run = self.instructions(held_out) as f64 * self.nanoseconds_per_instruction;
        if run == 0.0 { 1.0 } else { 1.0 + faults as f64 * latency.microseconds * 1000.0 / run }
    }

    /// Whether any trace was held out.
    pub fn has_held_out(&self) -> bool {
        self.traces.iter().any(|trace| trace.held_out)
    }
}

impl SweptThreshold {
    /// Bytes that stay in memory with a cache of so many frames.
    pub fn resident(&self, frames: u64) -> u64 {
        self.core + self.base + self.tables + frames * PAGE
    }
}

impl Report for SwapSweep {
    const VERB: &'static str = "swap sweep";
    const SCHEMA: &'static str = "trimtab.swap.sweep/1";

    fn title(&self) -> String {
        format!("Swapping the code of {}", self.kernel.path)
    }

    fn head(&self) -> Head {
        let facts = vec![
            self.kernel.path.clone(),
            self.kernel.kind.clone(),
            format!("by {}", self.granularity),
            format!("{} traces", self.traces.len()),
            format!("faults by {}", self.policy),
        ];
        let same = |found: &SweptThreshold| found.threshold == self.policy_threshold;
        let Some(place) = self.thresholds.iter().position(same) else {
            return Head { facts, ..Head::default() };
        };
        let (found, frames) = (&self.thresholds[place], self.first_frames());
        let key = |name: &str| format!("thresholds.{place}.{name}");
        let stays = found.resident(frames) as f64 / found.original.max(1) as f64;
        Head {
            facts,
            headline: Headline::One(share("", stays).into()),
            what: phrase![
                "of the kernel's code stays in memory at T = ",
                threshold("policy_threshold", found.threshold),
                format!(" with {frames} page frames"),
            ],
            tiles: vec![
                Tile::new(bytes(key("core"), found.core), "core", "must never be absent"),
                Tile::new(bytes(key("base"), found.base), "base", "runs too often"),
                Tile::new(
                    bytes(key("swappable"), found.swappable),
                    "swappable",
                    phrase!["on ", count(key("pages"), found.pages), " pages"],
                ),
                Tile::new(
                    bytes(key("store"), found.store),
                    "store",
                    "the swappable pages, each compressed with LZ4",
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = self.figures();
        sections.extend([self.sizes(), self.by_placement(), self.by_policy(), self.used()]);
        sections
    }
}

impl SwapSweep {
    /// The figures 4 to 8 of Chanet et al. (LCTES 2005) for this kernel.
    pub fn figures(&self) -> Vec<Section> {
        vec![
            self.size_figure(),
            self.fault_figure(),
            self.time_figure(),
            self.policy_figure(),
            self.policy_time_figure(),
        ]
    }

    fn first_frames(&self) -> u64 {
        self.frames.first().copied().unwrap_or(0)
    }

    fn first_latency(&self) -> Latency {
        self.latencies.first().cloned().unwrap_or_default()
    }

    /// Lines by threshold, or by cache size.
    fn lines(&self, what: &str, by_threshold: bool, lines: Vec<Line>, scale: Scale) -> Figure {
        let (along, steps) = match by_threshold {
            true => (
                "threshold T",
                self.thresholds.iter().map(|found| number::threshold(found.threshold)).collect(),
            ),
            false => {
                ("page frames", self.frames.iter().map(|frames| number::count(*frames)).collect())
            }
        };
        Figure::Steps { what: what.to_owned(), along: along.to_owned(), steps, lines, scale }
    }

    /// Figure 4: code by threshold.
    fn size_figure(&self) -> Section {
        let line = |label: &str, class, broken, value: &dyn Fn(&SweptThreshold) -> u64| Line {
            label: label.to_owned(),
            class,
            broken,
            values: self.thresholds.iter().map(|found| value(found) as f64 / 1024.0).collect(),
        };
        let frames = self.first_frames();
        let with_cache = format!("with a cache of {frames} frames");
        let lines = vec![
            line("all code", "floor", true, &|found| found.original),
            line("what stays", "before", false, &|found| found.resident(0)),
            line(&with_cache, "after", false, &|found| found.resident(frames)),
        ];
        let lede = "Core and base code and tables, by the share of executed instructions that stays. \
                    What is released when the kernel is up is not counted.";
        Section::new("size", "Code that stays in memory", lede).with(self.lines(
            "KiB",
            true,
            lines,
            Scale::Linear,
        ))
    }

    /// A line for each placement and cache size.
    fn placement_lines(&self, value: &dyn Fn(u64) -> f64) -> Vec<Line> {
        let names = self.thresholds.first().map_or(&[][..], |found| found.placements.as_slice());
        let mut lines = Vec::new();
        for (place, (first, class)) in names.iter().zip(CLASSES).enumerate() {
            for (size, frames) in self.frames.iter().enumerate() {
                let faults = |found: &SweptThreshold| {
                    found.placements.get(place)?.faults.get(size).map(|faults| value(*faults))
                };
                lines.push(Line {
                    label: format!("{}, {frames} frames", first.name),
                    class,
                    broken: size > 0,
                    values: self.thresholds.iter().filter_map(faults).collect(),
                });
            }
        }
        lines
    }

    /// Figure 5: faults by placement.
    fn fault_figure(&self) -> Section {
        let lines = self.placement_lines(&|faults| faults as f64);
        let lede = format!(
            "In replays of the traces that made the plans, by threshold, placement and cache size; \
             replacement is {}. Each line of the grid is ten times the one below.",
            self.policy
        );
        Section::new("faults", "Page faults by placement", lede).with(self.lines(
            "page faults",
            true,
            lines,
            Scale::Logarithmic,
        ))
    }

    /// Figure 6: system time by placement.
    fn time_figure(&self) -> Section {
        let latency = self.first_latency();
        let lines = self.placement_lines(&|faults| 100.0 * self.slowdown(faults, &latency, false));
        let lede = format!(
            "Modelled: {} ns for each instruction of the kernel, and {} µs for each page fault ({}). \
             Caches are not in the model.",
            plain(self.nanoseconds_per_instruction),
            plain(latency.microseconds),
            latency.name
        );
        let what = "system time in % of that without swapping";
        Section::new("time", "System time by placement", lede).with(self.lines(
            what,
            true,
            lines,
            Scale::Logarithmic,
        ))
    }

    fn policy_lines(&self, value: &dyn Fn(u64) -> f64) -> Vec<Line> {
        let line = |(policy, class): (&SweptPolicy, &'static str)| Line {
            label: policy.name.clone(),
            class,
            broken: false,
            values: policy.faults.iter().map(|faults| value(*faults)).collect(),
        };
        self.policies.iter().zip(CLASSES).map(line).collect()
    }

    /// Figure 7: faults by policy.
    fn policy_figure(&self) -> Section {
        let lines = self.policy_lines(&|faults| faults as f64);
        let lede = phrase![
            "At T = ",
            number::threshold(self.policy_threshold),
            ", by cache size. The optimum knows the future; no policy can do better.",
        ];
        Section::new("policies", "Page faults by policy of replacement", lede).with(self.lines(
            "page faults",
            false,
            lines,
            Scale::Linear,
        ))
    }

    /// Figure 8: system time by policy.
    fn policy_time_figure(&self) -> Section {
        let latency = self.first_latency();
        let lines = self.policy_lines(&|faults| 100.0 * self.slowdown(faults, &latency, false));
        let lede = format!(
            "The same as modelled system time, with {} µs a page.",
            plain(latency.microseconds)
        );
        let what = "system time in % of that without swapping";
        Section::new("policy-time", "System time by policy of replacement", lede).with(self.lines(
            what,
            false,
            lines,
            Scale::Linear,
        ))
    }

    fn sizes(&self) -> Section {
        let frames = self.first_frames();
        let rows = self.thresholds.iter().enumerate().map(|(place, found)| {
            let key = |name: &str| format!("thresholds.{place}.{name}");
            let stays = found.resident(frames);
            row![
                threshold(key("threshold"), found.threshold),
                bytes(key("core"), found.core),
                bytes(key("base"), found.base),
                bytes(key("swappable"), found.swappable),
                count(key("pages"), found.pages),
                bytes("", stays),
                share("", stays as f64 / found.original.max(1) as f64),
                bytes(key("store"), found.store),
            ]
        });
        let columns = ["T", "core", "base", "swappable", "pages", "stays", "of all", "store"];
        let lede = format!("What stays is core, base, tables and a cache of {frames} frames.");
        Section::new("code", "Code by threshold", lede).with(Table::new(
            "Code",
            columns.map(column),
            rows,
        ))
    }

    /// All faults, and the system time that they come to.
    fn by_placement(&self) -> Section {
        let mut rows = Vec::new();
        for (at, found) in self.thresholds.iter().enumerate() {
            for (of, placement) in found.placements.iter().enumerate() {
                for (place, frames) in self.frames.iter().enumerate() {
                    let key =
                        |name: &str| format!("thresholds.{at}.placements.{of}.{name}.{place}");
                    let faults = placement.faults.get(place).copied().unwrap_or(0);
                    let held_out = placement.held_out.get(place).copied();
                    let held = |faults: u64| Phrase::from(count(key("held_out"), faults));
                    let mut row = row![
                        threshold(format!("thresholds.{at}.threshold"), found.threshold),
                        code(&placement.name),
                        count(format!("frames.{place}"), *frames),
                        count(key("faults"), faults),
                        held_out.map_or(phrase![], held),
                    ];
                    for latency in &self.latencies {
                        row.push(times("", self.slowdown(faults, latency, false)).into());
                    }
                    for latency in self.latencies.iter().filter(|_| self.has_held_out()) {
                        row.push(held_out.map_or(phrase![], |faults| {
                            times("", self.slowdown(faults, latency, true)).into()
                        }));
                    }
                    rows.push(row);
                }
            }
        }
        let mut columns: Vec<Column> = vec![
            name("T"),
            name("placement"),
            name("frames"),
            column("training").of("page faults"),
            column("held out").of("page faults"),
        ];
        columns.extend(self.time_columns("system time"));
        if self.has_held_out() {
            columns.extend(self.time_columns("system time, held out"));
        }
        let latencies = self
            .latencies
            .iter()
            .map(|latency| format!("{}, {} µs", latency.name, plain(latency.microseconds)));
        let lede = format!(
            "System time is a multiple of that without swapping. Pages come from: {}.",
            latencies.collect::<Vec<_>>().join("; ")
        );
        Section::new("numbers", "Page faults and system time by placement", lede).with(Table::new(
            "All numbers",
            columns,
            rows,
        ))
    }

    fn time_columns(&self, group: &str) -> Vec<Column> {
        self.latencies.iter().map(|latency| column(&latency.name).of(group)).collect()
    }

    fn by_policy(&self) -> Section {
        let mut rows = Vec::new();
        for (at, policy) in self.policies.iter().enumerate() {
            for (which, all) in [("faults", &policy.faults), ("held_out", &policy.held_out)] {
                if all.is_empty() {
                    continue;
                }
                let traces = if which == "faults" { "training" } else { "held out" };
                let mut row = row![&policy.name, traces];
                for (place, faults) in all.iter().enumerate() {
                    row.push(count(format!("policies.{at}.{which}.{place}"), *faults).into());
                }
                rows.push(row);
            }
        }
        let mut columns: Vec<Column> = vec![name("policy"), name("traces")];
        let frames = self.frames.iter();
        columns.extend(frames.map(|frames| column(number::count(*frames)).of("frames")));
        let lede = phrase!["At T = ", threshold("policy_threshold", self.policy_threshold), "."];
        Section::new("policy-numbers", "Page faults by policy", lede).with(Table::new(
            "Page faults by policy",
            columns,
            rows,
        ))
    }

    fn used(&self) -> Section {
        let rows = self.traces.iter().enumerate().map(|(place, trace)| {
            row![
                code(&trace.path),
                if trace.held_out { "held out" } else { "training" },
                count(format!("traces.{place}.instructions"), trace.instructions),
            ]
        });
        let columns = [crate::section::text("trace"), name("used for"), column("instructions")];
        let lede = phrase![
            "Instructions of the kernel from the first execution of ",
            code(&self.from),
            " on.",
        ];
        Section::new("traces", "Traces", lede).with(Table::new("Traces", columns, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_as_long_as_everywhere() {
        assert_eq!(PAGE, trimtab_program::PAGE_SIZE);
    }

    fn sample() -> SwapSweep {
        let trace = |path: &str, held_out| SweptTrace {
            path: path.to_owned(),
            held_out,
            instructions: 1_000_000,
        };
        let placement = |name: &str, faults: [u64; 2]| SweptPlacement {
            name: name.to_owned(),
            faults: faults.into(),
            held_out: faults.map(|faults| faults * 2).into(),
            ..SweptPlacement::default()
        };
        let threshold = |threshold: f64, base: u64| SweptThreshold {
            threshold,
            original: 4 << 20,
            core: 100 << 10,
            base,
            swappable: 3 << 20,
            placements: vec![placement("recency", [70, 30]), placement("profile-based", [90, 40])],
            ..SweptThreshold::default()
        };
        SwapSweep {
            traces: vec![trace("one", false), trace("<two>", true)],
            frames: vec![16, 32],
            policy: "nru".to_owned(),
            thresholds: vec![threshold(0.9, 10 << 10), threshold(1.0, 300 << 10)],
            policies: vec![SweptPolicy {
                name: "round robin".to_owned(),
                faults: vec![80, 35],
                held_out: vec![100, 50],
            }],
            policy_threshold: 1.0,
            latencies: vec![Latency { name: "flash".to_owned(), microseconds: 442.0 }],
            nanoseconds_per_instruction: 1.0,
            ..SwapSweep::default()
        }
    }

    #[test]
    fn time_is_instructions_and_faults() {
        let sweep = sample();
        assert_eq!(sweep.slowdown(10, &sweep.latencies[0], false), 1.0 + 4.42);
        assert_eq!(SwapSweep::default().slowdown(10, &sweep.latencies[0], false), 1.0);
        assert_eq!(sweep.thresholds[0].resident(16), (100 + 10 + 64) << 10);
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let sweep = sample();
        assert_eq!(SwapSweep::from_json(&sweep.to_json()).unwrap(), sweep);
        let text = sweep.terminal(80);
        for shown in ["90.0 %", "recency", "round robin", "held out"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = sweep.page();
        assert!(page.contains("&lt;two&gt;") && !page.contains("<two>"));
        assert!(page.contains(SwapSweep::SCHEMA));
        assert_eq!(page.matches("<svg").count(), 5, "the five figures of the paper");
    }
}
