//! Reports as data: what a verb found, once, and three renderings of it.
//!
//! A [`Report`] is a model, whose JSON is what its `--json` writes, with the [`section`]s that show it:
//! tables of typed cells, figures and text. One renderer makes plain text for a terminal of them, one a
//! self-contained HTML page; they always agree because both show the same sections. Values in, text
//! out: nothing here measures, reads files or knows a terminal.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod common;
mod error;
pub mod figure;
mod html;
mod json;
pub mod number;
pub mod phrase;
mod report;
pub mod section;
mod svg;
pub mod terminal;
mod trial;

pub use error::ReportError;
pub use phrase::Phrase;
pub use report::{Drawing, Kind, Report, Schema};
pub use trial::{Trial, Value};
