//! A report as data: what a verb found, and the sections that show it.

use crate::common::{Check, Repeat, Target};
use crate::section::{Head, Section};
use crate::{ReportError, Trial, html, json, terminal};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// What a verb found. The names of its fields are the keys of its JSON and are stable: keys are added,
/// never renamed. Numbers that follow from others are methods, so that they cannot contradict them.
///
/// A capability owns its reports: a file with the model and with the sections that show it. All
/// renderings come from these, so that they always agree.
pub trait Report: Serialize + DeserializeOwned {
    /// The verb that finds it: `fit kernel`.
    const VERB: &'static str;
    /// Name and version of the JSON: `trimtab.fit.kernel/1`.
    const SCHEMA: &'static str;

    /// What it is about, for the title of a window.
    fn title(&self) -> String;

    /// What stands at its top.
    fn head(&self) -> Head;

    /// What it shows, in order.
    fn sections(&self) -> Vec<Section>;

    /// What must hold.
    fn checks(&self) -> &[Check] {
        &[]
    }

    /// What does not hold that must, a clause each: checks, as far as the report knows nothing else.
    fn failures(&self) -> Vec<String> {
        Check::failures(self.checks())
    }

    /// Numbers to reach.
    fn targets(&self) -> &[Target] {
        &[]
    }

    /// What it takes to get it again.
    fn repeat(&self) -> Option<&Repeat> {
        None
    }

    /// How long each part of it took: name, key in the JSON, seconds. The first is all of it.
    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        Vec::new()
    }

    /// Where its files are: what each is, and its path.
    fn files(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What to do with the result, a sentence.
    fn advice(&self) -> Option<String> {
        None
    }

    /// What was measured one by one, as far as it is known: not where it was read from its JSON and
    /// that does not say.
    fn trials(&self) -> Vec<Trial> {
        Vec::new()
    }

    /// The JSON for people and for diffs: keys in the order of the fields, a line feed at the end.
    fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads what [`Self::to_json`] wrote, by this version or a later one.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such result.
    fn from_json(text: &str) -> Result<Self, ReportError> {
        json::read(text, Self::SCHEMA)
    }

    /// The report as a self-contained HTML page.
    fn page(&self) -> String {
        html::page(self)
    }

    /// The report as plain text, at most `width` columns wide (40 or more).
    fn terminal(&self, width: u16) -> String {
        terminal::report(self, width)
    }
}

/// The first field of a report: the name of its schema, which has no other value.
pub struct Schema<R>(PhantomData<fn() -> R>);

impl<R> Default for Schema<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<R> Clone for Schema<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Schema<R> {}

impl<R> PartialEq for Schema<R> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<R> Eq for Schema<R> {}

impl<R> fmt::Debug for Schema<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

impl<R: Report> Serialize for Schema<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(R::SCHEMA)
    }
}

impl<'de, R: Report> Deserialize<'de> for Schema<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        match found == R::SCHEMA {
            true => Ok(Self::default()),
            false => {
                Err(D::Error::custom(format!("the schema is {found:?}, expected {:?}", R::SCHEMA)))
            }
        }
    }
}

/// A kind of report, for who has its JSON and knows no type: one line in the list of who can draw all.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The verb that finds it.
    pub verb: &'static str,
    /// Its schema.
    pub schema: &'static str,
    draw: fn(&str, u16) -> Result<Drawing, ReportError>,
}

/// All renderings of a report.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// The JSON, as this version writes it.
    pub json: String,
    /// The page.
    pub page: String,
    /// The text for a terminal.
    pub terminal: String,
}

impl Kind {
    /// The kind of `R`.
    pub const fn of<R: Report>() -> Self {
        Self {
            verb: R::VERB,
            schema: R::SCHEMA,
            draw: |text, width| {
                let report = R::from_json(text)?;
                Ok(Drawing {
                    json: report.to_json(),
                    page: report.page(),
                    terminal: report.terminal(width),
                })
            },
        }
    }

    /// Draws a report of this kind from its JSON, for a terminal `width` columns wide.
    ///
    /// # Errors
    /// [`ReportError`] where the text is no such report.
    pub fn draw(&self, text: &str, width: u16) -> Result<Drawing, ReportError> {
        (self.draw)(text, width)
    }
}
