//! The verbs, one file each.

pub mod check;
pub mod doctor;
pub mod fit;
pub mod order;
pub mod pages;
pub mod report;
pub mod trace;

use crate::failure::Failure;

/// What verbs say whose body is yet to come.
fn not_built(verb: &str) -> anyhow::Result<()> {
    Err(Failure::new(format!("trimtab {verb} is not built yet")).into())
}
