//! What cycles of the model of a core are made of, before and after.

use serde::{Deserialize, Serialize};
use trimtab_report::phrase::{change_by, count};
use trimtab_report::section::{Section, Table, name, number};
use trimtab_report::{Phrase, phrase, row};

use super::TuneProgram;

/// The core whose cycles were counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreCosts {
    /// What it is.
    pub name: String,
    /// Cycles that a miss of a first-level cache takes.
    pub l1_cycles: u64,
    /// Cycles that a branch takes that was not predicted.
    pub branch_cycles: u64,
    /// Cycles, instructions, and what was not at hand; empty for a kernel, whose calls have their costs.
    pub counts: Vec<CoreCost>,
}

/// Something that is counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreCost {
    /// What.
    pub what: String,
    /// At the level that was tuned on top of.
    pub base: f64,
    /// With the fewest flags.
    pub tuned: f64,
    /// The latter in times of the former; none of nothing.
    pub ratio: Option<f64>,
}

impl TuneProgram {
    /// What everything was judged by, where nothing was timed.
    pub(crate) fn unit(&self) -> &'static str {
        if self.core.is_some() { "cycles" } else { "instructions" }
    }

    /// The same, at the beginning of a sentence.
    pub(super) fn unit_first(&self) -> &'static str {
        if self.core.is_some() { "Cycles" } else { "Instructions" }
    }

    pub(super) fn core_costs(&self) -> Option<Section> {
        let core = self.core.as_ref()?;
        let rows = core.counts.iter().enumerate().map(|(place, cost)| {
            let key = |field: &str| format!("core.counts.{place}.{field}");
            row![
                &cost.what,
                count(key("base"), cost.base as u64),
                count(key("tuned"), cost.tuned as u64),
                match cost.ratio {
                    Some(ratio) => Phrase::from(change_by(key("ratio-1"), ratio - 1.0)),
                    None => Phrase::from("–"),
                },
            ]
        });
        let mut lede = phrase![
            "Cycles are those of a model, a ",
            core.name.clone(),
            ": one for each instruction, ",
            count("core.l1_cycles", core.l1_cycles),
            " for each miss of a first-level cache and ",
            count("core.branch_cycles", core.branch_cycles),
            " for each branch that was not predicted. Nothing hides a miss.",
        ];
        if self.kernel.is_some() {
            lede.push(
                " Each call begins with empty caches, as where a program makes one now and then, and costs the \
                 median of all times that it was made; what the guest counts is not taken.",
            );
        }
        let columns =
            vec![name("what"), number(&self.space.level), number("tuned"), number("change")];
        let title = "What a core does";
        let section = Section::new("core", title, lede);
        Some(match core.counts.is_empty() {
            true => section,
            false => section.with(Table::new(title, columns, rows)),
        })
    }
}
