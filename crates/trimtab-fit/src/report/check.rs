//! What `trimtab check` found: `trimtab.check/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Address, Check, OrderCounts};
use trimtab_report::number;
use trimtab_report::phrase::{code, count, mark};
use trimtab_report::section::{Head, Section, Table, name, number as column, text};
use trimtab_report::{Report, Schema, row};

/// Names shown per fate.
const NAMES: usize = 10;

/// Whether a linked file honours an order, and what became of each of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Its schema.
    pub schema: Schema<CheckReport>,
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
            schema: Schema::default(),
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
}

impl Report for CheckReport {
    const VERB: &'static str = "check";
    const SCHEMA: &'static str = "trimtab.check/1";

    fn title(&self) -> String {
        format!("{} against {}", self.program, self.order_file)
    }

    fn head(&self) -> Head {
        let verdict =
            if self.ok() { "The link honours the order." } else { "The link is NOT right." };
        Head {
            what: format!("{} against {}: {verdict}", self.program, self.order_file).into(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.lines()];
        if !self.boundaries.is_empty() {
            sections.push(self.symbols());
        }
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }
}

impl CheckReport {
    fn lines(&self) -> Section {
        let (order, names) = (&self.order, &self.names);
        let counts = &order.counts;
        let fates: [(&str, u64, &[String]); 6] = [
            ("placed", counts.placed, &[]),
            ("misplaced", order.misplaced, &names.misplaced),
            ("unknown", counts.unknown, &names.unknown),
            ("duplicate", counts.duplicate, &names.duplicate),
            ("discarded", counts.discarded, &names.discarded),
            ("pinned", counts.pinned, &names.pinned),
        ];
        let mut rows: Vec<_> = fates
            .iter()
            .map(|(fate, lines, names)| {
                row![*fate, count(format!("order.{fate}"), *lines), number::some(names, NAMES)]
            })
            .collect();
        rows.push(row!["all", count("", order.total()), ""]);
        let columns = [text("order"), column("lines"), text("names")];
        Section::new("order", "Every line of the order", "").with(Table::new(
            "Lines of the order",
            columns,
            rows,
        ))
    }

    fn symbols(&self) -> Section {
        // Without anything to compare with, nothing is new.
        let compared = self.boundaries.iter().any(|boundary| boundary.before.is_some());
        let rows = self.boundaries.iter().map(|boundary| {
            row![
                code(&boundary.symbol),
                boundary.after.map_or(number::NONE.to_owned(), |address| address.to_string()),
                if compared { boundary.moved() } else { number::NONE.to_owned() },
                mark(boundary.ok, "ok", "failed"),
                &boundary.detail,
            ]
        });
        let columns = [name("symbol"), name("address"), column("moved by"), name(""), text("")];
        Section::new("boundaries", "Boundary symbols", "").with(Table::new(
            "Boundary symbols",
            columns,
            rows,
        ))
    }
}

impl Boundary {
    /// How far it moved, in hexadecimal: shorter beside its address than a second address.
    fn moved(&self) -> String {
        match (self.before, self.after) {
            (None, None) => number::NONE.to_owned(),
            (None, Some(_)) => "new".to_owned(),
            (Some(_), None) => "gone".to_owned(),
            (Some(before), Some(after)) if after == before => "0".to_owned(),
            (Some(before), Some(after)) if after > before => format!("+{:#x}", after.0 - before.0),
            (Some(before), Some(after)) => format!("−{:#x}", before.0 - after.0),
        }
    }
}
