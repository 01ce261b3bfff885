//! What `trimtab compare` found: `trimtab.compare/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Coverage, Input, Minimum, TracedCurve};
use trimtab_report::figure::{Figure, Series};
use trimtab_report::phrase::{bytes, code, count, or_none, ratio, seconds, share};
use trimtab_report::section::{
    Column, Head, Headline, Section, Table, Tile, name, number as column, text,
};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

/// What each algorithm's order costs on each trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// Its schema.
    pub schema: Schema<CompareReport>,
    /// The program.
    pub program: Input,
    /// Whether the linker's map gave the pieces, or they were guessed from symbols.
    pub exact: bool,
    /// Whether each trace was held out in turn, and orders made from all others.
    #[serde(default)]
    pub leave_one_out: bool,
    /// Pieces that an order may move.
    pub pieces: u64,
    /// The traces: those that made the orders, then those held out.
    pub traces: Vec<ComparedTrace>,
    /// What was modelled.
    pub model: ModelCosts,
    /// Each algorithm, first the program as it is.
    pub algorithms: Vec<Comparison>,
    /// What went wrong without being an error: a peer that is not there.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A trace that orders were made from, or judged by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedTrace {
    /// Its file.
    pub path: String,
    /// What it is, for people.
    pub kind: String,
    /// Whether it was kept from the algorithms.
    pub held_out: bool,
    /// Movable pieces that it executed.
    pub executed: u64,
    /// How much of it was found in the program.
    pub coverage: Coverage,
    /// Whether every execution is known, or only the first of each block: then caches and paging
    /// see each block once.
    pub complete: bool,
    /// Fewest pages that would do.
    pub minimum: Minimum,
}

/// The machine that costs were modelled on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCosts {
    /// Bytes of the instruction cache.
    pub l1i_bytes: u64,
    /// Entries of the TLB for pages of 4 KiB.
    pub itlb_4k_entries: u64,
    /// Entries of the TLB for pages of 2 MiB.
    pub itlb_2m_entries: u64,
    /// Pages of code that memory has room for, in the model of demand paging.
    pub frames: u64,
    /// Seed of random choices.
    pub seed: u64,
}

/// An algorithm and what its order costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Its name.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
    /// What it was given: `first-execution`, `observed` or `approximated` flow; empty where none.
    pub input: String,
    /// Wall time that ordering took, in seconds; of all times, where traces were left out in turn.
    pub seconds: f64,
    /// Pieces that its order lists.
    pub listed: u64,
    /// What its order costs, for each trace in the order of [`CompareReport::traces`].
    pub costs: Vec<Cost>,
}

/// What one order costs on one trace. Each is a count, less is better.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Pages of 4 KiB that hold a byte that ran.
    pub touched: u64,
    /// Area under the page-fault curve: pages times first executions of blocks.
    pub area: u64,
    /// The same as `llvm-profdata order` counts it: 32 listed functions make a page. `null` for the
    /// program as it is, which lists none.
    pub function_area: Option<u64>,
    /// Misses of the instruction cache.
    pub l1i: u64,
    /// Misses of the TLB with pages of 4 KiB.
    pub itlb_4k: u64,
    /// Misses of the TLB with pages of 2 MiB.
    pub itlb_2m: u64,
    /// Page faults with little memory.
    pub paging: Paging,
    /// The page-fault curve.
    pub curve: TracedCurve,
}

/// Page faults by the policy of replacement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paging {
    /// Least recently used.
    pub lru: u64,
    /// First in, first out.
    pub fifo: u64,
    /// At random.
    pub random: u64,
    /// Not recently used.
    pub nru: u64,
    /// Belady's optimum.
    pub optimum: u64,
}

impl CompareReport {
    /// Whether any trace was held out.
    pub fn has_held_out(&self) -> bool {
        self.traces.iter().any(|trace| trace.held_out)
    }

    /// [`Self::function_area`] as a share of that of `llvm-profdata order`; `None` without it.
    pub fn to_peer(&self, algorithm: &Comparison, held_out: bool) -> Option<f64> {
        let peer = self.algorithms.iter().find(|other| other.name == "llvm-profdata")?;
        let (ours, theirs) =
            (self.function_area(algorithm, held_out)?, self.function_area(peer, held_out)?);
        (theirs > 0).then(|| ours as f64 / theirs as f64)
    }

    /// The sum of a cost over the training traces, or over those held out.
    pub fn sum(&self, algorithm: &Comparison, held_out: bool, cost: impl Fn(&Cost) -> u64) -> u64 {
        self.traces
            .iter()
            .zip(&algorithm.costs)
            .filter(|(trace, _)| trace.held_out == held_out)
            .map(|(_, found)| cost(found))
            .sum()
    }

    /// As [`Self::sum`] of the area that `llvm-profdata order` counts; `None` where an order lists
    /// nothing.
    pub fn function_area(&self, algorithm: &Comparison, held_out: bool) -> Option<u64> {
        algorithm
            .costs
            .iter()
            .all(|cost| cost.function_area.is_some())
            .then(|| self.sum(algorithm, held_out, |cost| cost.function_area.unwrap_or(0)))
    }
}

/// Classes of the curves that are drawn together; their colours tell them apart.
const CURVES: [&str; 4] = ["before", "after", "tone-good", "tone-bad"];

impl Report for CompareReport {
    const VERB: &'static str = "compare";
    const SCHEMA: &'static str = "trimtab.compare/1";

    fn title(&self) -> String {
        format!("Orders of {}", self.program.path)
    }

    fn head(&self) -> Head {
        let model = &self.model;
        Head {
            result: self.result(),
            facts: vec![self.program.path.clone(), self.program.kind.clone()],
            headline: Headline::One(self.algorithms.len().to_string().into()),
            what: "orders of the same code, and what each costs".into(),
            summary: self.notes.iter().map(Phrase::from).collect(),
            tiles: vec![
                Tile::new(count("pieces", self.pieces), "movable pieces", "in the program's text"),
                Tile::new(
                    count("model.frames", model.frames),
                    "page frames",
                    "in the model of demand paging",
                ),
                Tile::new(
                    bytes("model.l1i_bytes", model.l1i_bytes),
                    "instruction cache",
                    phrase![
                        "and TLBs of ",
                        count("model.itlb_4k_entries", model.itlb_4k_entries),
                        " and ",
                        count("model.itlb_2m_entries", model.itlb_2m_entries),
                        " entries",
                    ],
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = self.curves().into_iter().collect();
        for held_out in [true, false] {
            if self.traces.iter().any(|trace| trace.held_out == held_out) {
                sections.extend([self.costs(held_out), self.paging(held_out)]);
            }
        }
        sections.extend([self.used(), self.orders()]);
        sections
    }
}

impl CompareReport {
    /// What the best order comes to, beside the program as it is: on held-out traces, where there are
    /// any.
    fn result(&self) -> Phrase {
        let Some((first, orders)) = self.algorithms.split_first() else { return phrase![] };
        let held_out = self.has_held_out();
        let touched = |algorithm| self.sum(algorithm, held_out, |cost| cost.touched);
        let Some(best) = orders.iter().min_by_key(|algorithm| touched(algorithm)) else {
            return phrase![];
        };
        let (before, after) = (touched(first), touched(best));
        let on = phrase![" on ", self.which(held_out), ", all together"];
        match after < before {
            true => phrase![
                count("", before),
                " → ",
                count("", after),
                " pages of code touched",
                on,
                ": by ",
                code(&best.name),
                ", the best of ",
                count("", orders.len() as u64),
                " orders.",
            ],
            false => phrase![
                "No gain to expect: no order touches fewer than the ",
                count("", before),
                " pages of code that the program touches as it is",
                on,
                ".",
            ],
        }
    }

    /// The curves of one trace: the first held-out one, or the first. As many as there are colours:
    /// the program as it is, and the orders with the smallest areas.
    fn curves(&self) -> Option<Section> {
        let place = self.traces.iter().position(|trace| trace.held_out).unwrap_or(0);
        let (trace, first) = (self.traces.get(place)?, self.algorithms.first()?);
        let cost =
            |algorithm: &'_ Comparison| algorithm.costs.get(place).map_or(0, |cost| cost.area);
        let mut best: Vec<&Comparison> = self.algorithms.iter().skip(1).collect();
        best.sort_by_key(|algorithm| cost(algorithm));
        best.truncate(CURVES.len() - 1);
        let drawn = std::iter::once(first).chain(best).zip(CURVES);
        let series = drawn.filter_map(|(algorithm, class)| {
            let curve = &algorithm.costs.get(place)?.curve;
            let (label, points) = (algorithm.name.clone(), curve.pages.clone());
            Some(Series { label, class, points, events: curve.events })
        });
        let lede = phrase![
            "The page-fault curve of ",
            code(&trace.path),
            ": the program as it is, and the three orders with the smallest area.",
        ];
        Some(Section::new("curve", "When pages are first touched", lede).with(Figure::Curve {
            series: series.collect(),
            step: first.costs.get(place).map_or(1, |cost| cost.curve.step),
            minimum: trace.minimum.function_pages,
        }))
    }

    /// What traces are called.
    fn which(&self, held_out: bool) -> &'static str {
        match (held_out, self.leave_one_out) {
            (false, _) => "training traces",
            (true, false) => "held-out traces",
            (true, true) => "traces left out in turn",
        }
    }

    /// A row for each algorithm, of sums over traces, which the JSON has only one by one.
    fn sums(&self, held_out: bool, costs: &[fn(&Cost) -> u64]) -> Vec<Vec<Phrase>> {
        let row = |algorithm: &Comparison| {
            let sums = costs.iter().map(|cost| self.sum(algorithm, held_out, cost));
            let mut row = row![code(&algorithm.name)];
            row.extend(sums.map(|sum| Phrase::from(count("", sum))));
            row
        };
        self.algorithms.iter().map(row).collect()
    }

    fn costs(&self, held_out: bool) -> Section {
        let costs: [fn(&Cost) -> u64; 5] = [
            |cost| cost.touched,
            |cost| cost.area,
            |cost| cost.l1i,
            |cost| cost.itlb_4k,
            |cost| cost.itlb_2m,
        ];
        let mut rows = self.sums(held_out, &costs);
        for (row, algorithm) in rows.iter_mut().zip(&self.algorithms) {
            let area = self.function_area(algorithm, held_out);
            row.insert(3, area.map_or(phrase![], |area| count("", area).into()));
            let to_peer = self.to_peer(algorithm, held_out);
            row.insert(4, to_peer.map_or(phrase![], |to_peer| ratio("", to_peer).into()));
        }
        let columns = [
            name("order"),
            column("pages touched"),
            column("area"),
            column("area, 32 functions a page"),
            column("that to LLVM's"),
            column("L1I misses"),
            column("TLB misses, 4 KiB"),
            column("TLB misses, 2 MiB"),
        ];
        let which = if held_out { "held-out" } else { "training" };
        let lede = "Summed over the traces. The area is that under the page-fault curve; with 32 \
                    functions a page it is what llvm-profdata order counts.";
        Section::new(format!("costs-{which}"), format!("Costs on {}", self.which(held_out)), lede)
            .with(Table::new("Costs", columns, rows))
    }

    fn paging(&self, held_out: bool) -> Section {
        let costs: [fn(&Cost) -> u64; 5] = [
            |cost| cost.paging.lru,
            |cost| cost.paging.fifo,
            |cost| cost.paging.random,
            |cost| cost.paging.nru,
            |cost| cost.paging.optimum,
        ];
        let mut columns: Vec<Column> = vec![name("order")];
        columns.extend(["LRU", "FIFO", "random", "NRU", "optimum"].map(column));
        let which = if held_out { "held-out" } else { "training" };
        let title = format!("Page faults of {} with little memory", self.which(held_out));
        let lede = phrase![
            "Memory has room for ",
            count("model.frames", self.model.frames),
            " pages of code; the columns differ in which page makes room.",
        ];
        Section::new(format!("paging-{which}"), title, lede).with(Table::new(
            "Page faults",
            columns,
            self.sums(held_out, &costs),
        ))
    }

    fn used(&self) -> Section {
        let rows = self.traces.iter().enumerate().map(|(place, trace)| {
            let key = |name: &str| format!("traces.{place}.{name}");
            let minimum = trace.minimum;
            row![
                code(&trace.path),
                if trace.held_out { "held out" } else { "training" },
                &trace.kind,
                if trace.complete { "all" } else { "first" },
                count(key("executed"), trace.executed),
                count(key("minimum.function_pages"), minimum.function_pages),
                count(key("minimum.executed_pages"), minimum.executed_pages),
                share(key("coverage.names"), trace.coverage.names),
            ]
        });
        let columns = [
            text("trace"),
            name("use"),
            text("kind").aside(),
            name("executions"),
            column("pieces executed"),
            column("functions").of("minimum, pages"),
            column("bytes").of("minimum, pages"),
            column("coverage"),
        ];
        let lede = "Orders were made from the training traces alone.";
        Section::new("traces", "Traces", lede).with(Table::new("Traces", columns, rows))
    }

    fn orders(&self) -> Section {
        let rows = self.algorithms.iter().enumerate().map(|(place, algorithm)| {
            let key = |name: &str| format!("algorithms.{place}.{name}");
            let took = (algorithm.listed > 0).then_some(algorithm.seconds);
            row![
                code(&algorithm.name),
                &algorithm.description,
                &algorithm.input,
                count(key("listed"), algorithm.listed),
                or_none(took, |took| seconds(key("seconds"), took)),
            ]
        });
        let columns =
            [name("order"), text("what it does"), name("from"), column("listed"), column("time")];
        let lede = "An approximated flow is guessed from first executions alone.";
        Section::new("algorithms", "Orders", lede).with(Table::new("Orders", columns, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two orders and the program as it is, on a training trace and two held out.
    fn sample() -> CompareReport {
        let trace = |path: &str, held_out| ComparedTrace {
            path: path.to_owned(),
            held_out,
            ..ComparedTrace::default()
        };
        let row = |name: &str, listed: u64, areas: [Option<u64>; 3]| Comparison {
            name: name.to_owned(),
            listed,
            costs: areas
                .map(|area| Cost { touched: 7, function_area: area, ..Cost::default() })
                .into(),
            ..Comparison::default()
        };
        CompareReport {
            traces: vec![trace("one", false), trace("two", true), trace("<three>", true)],
            algorithms: vec![
                row("as it is", 0, [None; 3]),
                row("fault-curve", 9, [Some(10), Some(30), Some(60)]),
                row("llvm-profdata", 9, [Some(10), Some(40), Some(60)]),
            ],
            notes: vec!["A remark.".to_owned()],
            ..CompareReport::default()
        }
    }

    #[test]
    fn sums_keep_training_and_held_out_traces_apart() {
        let report = sample();
        let ours = &report.algorithms[1];
        assert_eq!(report.sum(ours, true, |cost| cost.touched), 14);
        assert_eq!(report.function_area(ours, false), Some(10));
        assert_eq!(report.function_area(ours, true), Some(90));
        assert_eq!(report.to_peer(ours, true), Some(0.9));
        assert_eq!(report.to_peer(&report.algorithms[0], true), None);
        assert!(report.has_held_out());
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let report = sample();
        assert_eq!(CompareReport::from_json(&report.to_json()).unwrap(), report);
        let text = report.terminal(80);
        for shown in ["held-out traces", "0.9000", "A remark.", "llvm-profdata"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = report.page();
        assert!(page.contains("&lt;three&gt;") && !page.contains("<three>"));
        assert!(page.contains("trimtab.compare/1"));
    }
}
