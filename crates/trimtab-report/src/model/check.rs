//! What `trimtab check` found: `trimtab.check/1`.

use super::common::*;
use crate::{ReportError, json};
use serde::{Deserialize, Serialize};

/// The schema's name; it has no other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckSchema {
    /// `trimtab.check/1`.
    #[default]
    #[serde(rename = "trimtab.check/1")]
    V1,
}

impl CheckSchema {
    /// As the JSON has it.
    pub const NAME: &'static str = "trimtab.check/1";
}

/// Whether a linked file honours an order, and what became of each of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Always [`CheckSchema::V1`].
    pub schema: CheckSchema,
    /// The linked file.
    pub program: String,
    /// The order.
    pub order_file: String,
    /// How many lines met which fate.
    pub order: CheckCounts,
    /// The lines that were not placed, by fate.
    pub names: OrderNames,
    /// Symbols that bound what must stay where it is.
    pub boundaries: Vec<Boundary>,
    /// Whatever else must hold.
    pub checks: Vec<Check>,
}

/// What became of the lines of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCounts {
    /// Those that no linker could do better.
    #[serde(flatten)]
    pub counts: OrderCounts,
    /// In the text, but not where the order wants it.
    #[serde(default)]
    pub misplaced: u64,
}

impl CheckCounts {
    /// All lines of the order.
    pub fn total(&self) -> u64 {
        self.counts.total() + self.misplaced
    }
}

/// The lines of an order that were not placed, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderNames {
    /// The program has no such name.
    pub unknown: Vec<String>,
    /// The name occurs more than once.
    pub duplicate: Vec<String>,
    /// The linker threw the section away.
    pub discarded: Vec<String>,
    /// The kernel keeps it in a section of its own.
    pub pinned: Vec<String>,
    /// In the text, but not where the order wants it.
    #[serde(default)]
    pub misplaced: Vec<String>,
}

/// A symbol that bounds what must stay where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    /// Its name.
    pub symbol: String,
    /// Where it was; `null` where there was none.
    pub before: Option<Address>,
    /// Where it is; `null` where there is none.
    pub after: Option<Address>,
    /// Whether that is right.
    pub ok: bool,
    /// Why.
    pub detail: String,
}

impl CheckReport {
    /// A report whose counts are those of `names`.
    pub fn new(
        program: impl Into<String>,
        order_file: impl Into<String>,
        placed: u64,
        names: OrderNames,
        boundaries: Vec<Boundary>,
    ) -> Self {
        Self {
            schema: CheckSchema::V1,
            program: program.into(),
            order_file: order_file.into(),
            order: CheckCounts {
                counts: OrderCounts {
                    placed,
                    unknown: names.unknown.len() as u64,
                    duplicate: names.duplicate.len() as u64,
                    discarded: names.discarded.len() as u64,
                    pinned: names.pinned.len() as u64,
                },
                misplaced: names.misplaced.len() as u64,
            },
            names,
            boundaries,
            checks: Vec::new(),
        }
    }

    /// Whether every boundary and every check holds. Lines that were not placed are no failure of
    /// the link: they are counted and named.
    pub fn ok(&self) -> bool {
        self.boundaries.iter().all(|boundary| boundary.ok)
            && self.checks.iter().all(|check| check.ok)
    }

    /// The JSON for people and for diffs: keys in the order of the fields, a line feed at the end.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Self::to_json`] wrote, by this version or a later one.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such result.
    pub fn from_json(text: &str) -> Result<Self, ReportError> {
        json::read(text, CheckSchema::NAME)
    }
}
