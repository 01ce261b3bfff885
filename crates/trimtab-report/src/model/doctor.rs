//! What `trimtab doctor` found: `trimtab.doctor/1`.

use crate::number::NONE;
use crate::phrase::mark;
use crate::section::{Block, Head, Section, Table, name, text};
use crate::{Report, Schema, row};
use serde::{Deserialize, Serialize};

/// Which tools this machine has, which it lacks, and how to install those.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Its schema.
    pub schema: Schema<DoctorReport>,
    /// The tools, those that most verbs need first.
    pub tools: Vec<Tool>,
}

/// A tool that some verb needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// The command or file looked for.
    pub name: String,
    /// The verbs that need it.
    pub needed_by: Vec<String>,
    /// Where it is; `null` where it is missing.
    pub found: Option<String>,
    /// Its version; `null` where it is missing or does not say.
    pub version: Option<String>,
    /// The version wanted, for people: `16 or later`, `any`.
    pub wanted: String,
    /// Whether it is there and of that version.
    pub ok: bool,
    /// The exact command that installs it.
    pub install: String,
}

impl DoctorReport {
    /// Whether nothing is missing.
    pub fn ok(&self) -> bool {
        self.tools.iter().all(|tool| tool.ok)
    }
}

impl Report for DoctorReport {
    const VERB: &'static str = "doctor";
    const SCHEMA: &'static str = "trimtab.doctor/1";

    fn title(&self) -> String {
        "What this machine has".to_owned()
    }

    fn head(&self) -> Head {
        let missing = self.tools.iter().filter(|tool| !tool.ok).count();
        let what = match missing {
            0 => "Nothing is missing.".to_owned(),
            _ => {
                format!("{missing} of {} tools are missing or of a wrong version", self.tools.len())
            }
        };
        Head { what: what.into(), ..Head::default() }
    }

    fn sections(&self) -> Vec<Section> {
        let rows = self.tools.iter().map(|tool| {
            let state = match (tool.ok, &tool.found) {
                (true, _) => mark(true, "ok", ""),
                (false, None) => mark(false, "", "missing"),
                (false, Some(_)) => mark(false, "", "wrong"),
            };
            let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
            row![
                &tool.name,
                state,
                or_none(&tool.version),
                &tool.wanted,
                tool.needed_by.join(", "),
                or_none(&tool.found),
            ]
        });
        let columns = [
            name("tool"),
            name("state"),
            text("version"),
            text("wanted"),
            text("needed by"),
            text("found").aside(),
        ];
        let tools = Section::new("tools", "Tools", "").with(Table::new("Tools", columns, rows));
        let mut commands: Vec<String> = Vec::new();
        for tool in self.tools.iter().filter(|tool| !tool.ok) {
            if !commands.contains(&tool.install) {
                commands.push(tool.install.clone());
            }
        }
        match commands.is_empty() {
            true => vec![tools],
            false => vec![
                tools,
                Section::new("install", "Install them with", "").with(Block::Commands(commands)),
            ],
        }
    }
}
