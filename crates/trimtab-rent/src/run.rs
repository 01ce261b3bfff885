//! The engine: reads files.

mod plan;

pub use plan::{MOST_MIB, PlanRequest, plan};
