//! How `trimtab swap sweep` shows what it found: the figures of the paper, and tables.

use super::{Latency, SwapSweep, SweptPolicy, SweptThreshold};
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::number::{self, plain};
use trimtab_report::phrase::{bytes, code, count, share, threshold, times};
use trimtab_report::section::{
    Column, Head, Headline, Section, Table, Tile, name, number as column,
};
use trimtab_report::{Phrase, Report, Trial, Value, phrase, row};

/// Colours of placements and policies.
const CLASSES: [&str; 5] = ["after", "before", "tone-bad", "tone-good", "floor"];

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

    fn trials(&self) -> Vec<Trial> {
        let point = |share: f64, placement: &str, policy: &str| {
            format!("threshold {}, {placement}, {policy}", plain(share))
        };
        let mut trials = Vec::new();
        let mut add = |variant: &str, sides: [&[u64]; 2]| {
            for (subject, faults) in ["the traces that made the plan", "held out"].iter().zip(sides)
            {
                for (frames, faults) in self.frames.iter().zip(faults) {
                    let values = vec![Value::count("page faults", *faults)];
                    let variant = format!("{variant}, {frames} frames");
                    trials.push(Trial::new(*subject, variant, Ok(values)));
                }
            }
        };
        for found in &self.thresholds {
            for placed in &found.placements {
                let variant = point(found.threshold, &placed.name, &self.policy);
                add(&variant, [&placed.faults, &placed.held_out]);
            }
        }
        let compared =
            self.thresholds.iter().find(|found| found.threshold == self.policy_threshold);
        let first = compared.and_then(|found| found.placements.first());
        // That policy is above already.
        for found in self.policies.iter().filter(|found| found.name != self.policy) {
            let placement = first.map_or("", |placed| placed.name.as_str());
            let variant = point(self.policy_threshold, placement, &found.name);
            add(&variant, [&found.faults, &found.held_out]);
        }
        trials
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
        let columns =
            [trimtab_report::section::text("trace"), name("used for"), column("instructions")];
        let lede = phrase![
            "Instructions of the kernel from the first execution of ",
            code(&self.from),
            " on.",
        ];
        Section::new("traces", "Traces", lede).with(Table::new("Traces", columns, rows))
    }
}
