//! What trimtab found, once: result models, and their renderings as a terminal table, as JSON and
//! as a self-contained HTML page.
//!
//! Values in, text out: nothing here measures, reads files or knows a terminal. A verb fills a
//! model from [`model`], and hands it to [`table`], [`html`] or its own `to_json`. The three always
//! agree because each shows the same fields.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod error;
pub mod html;
mod json;
pub mod model;
pub mod number;
mod paper;
mod svg;
pub mod table;

pub use error::ReportError;
pub use model::{CheckReport, CompareReport, DoctorReport, FitKernel, FitProgram, PagesReport};
