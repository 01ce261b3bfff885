//! What `trimtab compare` found: `trimtab.compare/1`.

use super::common::*;
use super::pages::Input;
use crate::{ReportError, json};
use serde::{Deserialize, Serialize};

/// The schema's name; it has no other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareSchema {
    /// `trimtab.compare/1`.
    #[default]
    #[serde(rename = "trimtab.compare/1")]
    V1,
}

impl CompareSchema {
    /// As the JSON has it.
    pub const NAME: &'static str = "trimtab.compare/1";
}

/// What each algorithm's order costs on each trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// Always [`CompareSchema::V1`].
    pub schema: CompareSchema,
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
    pub model: Modelled,
    /// Each algorithm, first the program as it is.
    pub algorithms: Vec<Compared>,
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
pub struct Modelled {
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
pub struct Compared {
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
    pub curve: super::pages::TracedCurve,
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
    /// The JSON for people and for diffs: keys in the order of the fields, a line feed at the end.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Self::to_json`] wrote, by this version or a later one.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such result.
    pub fn from_json(text: &str) -> Result<Self, ReportError> {
        json::read(text, CompareSchema::NAME)
    }

    /// Whether any trace was held out.
    pub fn has_held_out(&self) -> bool {
        self.traces.iter().any(|trace| trace.held_out)
    }

    /// [`Self::function_area`] as a share of that of `llvm-profdata order`; `None` without it.
    pub fn to_peer(&self, algorithm: &Compared, held_out: bool) -> Option<f64> {
        let peer = self.algorithms.iter().find(|other| other.name == "llvm-profdata")?;
        let (ours, theirs) =
            (self.function_area(algorithm, held_out)?, self.function_area(peer, held_out)?);
        (theirs > 0).then(|| ours as f64 / theirs as f64)
    }

    /// The sum of a cost over the training traces, or over those held out.
    pub fn sum(&self, algorithm: &Compared, held_out: bool, cost: impl Fn(&Cost) -> u64) -> u64 {
        self.traces
            .iter()
            .zip(&algorithm.costs)
            .filter(|(trace, _)| trace.held_out == held_out)
            .map(|(_, found)| cost(found))
            .sum()
    }

    /// As [`Self::sum`] of the area that `llvm-profdata order` counts; `None` where an order lists
    /// nothing.
    pub fn function_area(&self, algorithm: &Compared, held_out: bool) -> Option<u64> {
        algorithm
            .costs
            .iter()
            .all(|cost| cost.function_area.is_some())
            .then(|| self.sum(algorithm, held_out, |cost| cost.function_area.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{html, table};

    /// Two orders and the program as it is, on a training trace and two held out.
    fn sample() -> CompareReport {
        let trace = |path: &str, held_out| ComparedTrace {
            path: path.to_owned(),
            held_out,
            ..ComparedTrace::default()
        };
        let row = |name: &str, listed: u64, areas: [Option<u64>; 3]| Compared {
            name: name.to_owned(),
            listed,
            costs: areas
                .map(|area| Cost { touched: 7, function_area: area, ..Cost::default() })
                .into(),
            ..Compared::default()
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
        let text = table::compare(&report, 80);
        for shown in ["held-out traces", "0.9000", "A remark.", "llvm-profdata"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = html::compare(&report);
        assert!(page.contains("&lt;three&gt;") && !page.contains("<three>"));
        assert!(page.contains("trimtab.compare/1"));
    }
}
