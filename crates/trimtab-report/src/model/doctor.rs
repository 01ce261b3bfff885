//! What `trimtab doctor` found: `trimtab.doctor/1`.

use crate::{ReportError, json};
use serde::{Deserialize, Serialize};

/// The schema's name; it has no other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoctorSchema {
    /// `trimtab.doctor/1`.
    #[default]
    #[serde(rename = "trimtab.doctor/1")]
    V1,
}

impl DoctorSchema {
    /// As the JSON has it.
    pub const NAME: &'static str = "trimtab.doctor/1";
}

/// Which tools this machine has, which it lacks, and how to install those.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Always [`DoctorSchema::V1`].
    pub schema: DoctorSchema,
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

    /// The JSON for people and for diffs: keys in the order of the fields, a line feed at the end.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Self::to_json`] wrote, by this version or a later one.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such result.
    pub fn from_json(text: &str) -> Result<Self, ReportError> {
        json::read(text, DoctorSchema::NAME)
    }
}
