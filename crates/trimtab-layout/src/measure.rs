//! What a run touches: pages, the page-fault curve, and what the pages are touched for.

pub mod curve;
mod excess;
mod footprint;
pub mod pages;

pub use excess::{Excess, ExcessOverBytes};
pub use footprint::{Footprint, functions_run};
