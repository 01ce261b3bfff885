//! The engine: finds trees, reads their files, and adds up what is in them.

mod cost;
mod makefiles;
mod options;
mod predict;
mod request;
mod study;
mod totals;
mod tree;
mod walk;

pub use cost::{CostRequest, cost};
pub use predict::{PredictRequest, predict};
pub use request::StudyRequest;
pub use study::study;
