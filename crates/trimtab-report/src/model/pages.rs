//! What `trimtab pages` found: `trimtab.pages/1`.

use super::common::*;
use crate::{ReportError, json};
use serde::{Deserialize, Serialize};

/// The schema's name; it has no other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PagesSchema {
    /// `trimtab.pages/1`.
    #[default]
    #[serde(rename = "trimtab.pages/1")]
    V1,
}

impl PagesSchema {
    /// As the JSON has it.
    pub const NAME: &'static str = "trimtab.pages/1";
}

/// Which pages of a program a trace touches, and how few would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PagesReport {
    /// Always [`PagesSchema::V1`].
    pub schema: PagesSchema,
    /// The program.
    pub program: Input,
    /// The trace.
    pub trace: Input,
    /// Bytes in a page.
    pub page_size: u32,
    /// The program's text.
    pub text: PagesText,
    /// Text pages that the trace touched.
    pub touched: u32,
    /// Fewest pages that would do.
    pub minimum: Minimum,
    /// Functions of the text.
    pub functions: Functions,
    /// How much of the trace was found in the program.
    pub coverage: Coverage,
    /// First names or addresses of the trace that were not found.
    pub missing: Vec<String>,
    /// Area under the page-fault curve, in pages times events.
    pub curve_area: f64,
    /// The page-fault curve.
    pub curve: TracedCurve,
    /// Executed bytes of each page of the text, by address.
    pub page_map: Vec<u32>,
    /// Sections or input regions of the text, by address.
    pub sections: Vec<PagesSection>,
    /// Where the pages above the function-level minimum come from; they add up to them. Empty
    /// where that is not known.
    #[serde(default)]
    pub excess: Vec<Cause>,
}

/// A cause of pages above the function-level minimum.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What it is, for people.
    pub cause: String,
    /// Pages; below zero where it saves some.
    pub pages: f64,
}

/// A file that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Where it is, as the command line gave it.
    pub path: String,
    /// What it is, for people: `ELF x86-64`, `trace of the QEMU plugin`.
    pub kind: String,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// A program's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesText {
    /// Pages from its first to its last byte.
    pub pages_spanned: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// Distinct pages touched against events. Point i is the state after
/// `min((i + 1) * step, events)` events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCurve {
    /// Events between two points, 1 or more.
    pub step: u32,
    /// Events in all.
    pub events: u64,
    /// Distinct pages touched.
    pub pages: Vec<u32>,
}

impl TracedCurve {
    /// From one number of pages per event, keeping at most `most` points.
    pub fn sampled(pages: &[u32], most: usize) -> Self {
        let (step, mut curves) = sample_curve(&[pages], most);
        Self { step, events: pages.len() as u64, pages: curves.pop().unwrap_or_default() }
    }
}

/// A section or input region of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesSection {
    /// Its name.
    pub name: String,
    /// Its first byte.
    pub address: Address,
    /// Its bytes.
    pub bytes: u64,
    /// Pages from its first to its last byte.
    pub pages_spanned: u32,
    /// Those that the trace touched.
    pub touched: u32,
    /// Its bytes that ran.
    pub executed_bytes: u64,
    /// Fewest pages that would do for this section alone.
    pub minimum: Minimum,
}

impl PagesReport {
    /// The JSON for people and for diffs: keys in the order of the fields, a line feed at the end.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Self::to_json`] wrote, by this version or a later one.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such result.
    pub fn from_json(text: &str) -> Result<Self, ReportError> {
        json::read(text, PagesSchema::NAME)
    }

    /// Pages touched as a multiple of the function-level minimum.
    pub fn ratio_to_minimum(&self) -> f64 {
        ratio(self.touched, self.minimum.function_pages)
    }
}
