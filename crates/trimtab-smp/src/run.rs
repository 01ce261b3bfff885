//! The engine: finds trees, reads their files, and adds up what is in them; and boots guests.

mod cost;
mod makefiles;
mod options;
mod predict;
mod request;
mod scale;
mod study;
mod totals;
mod tree;
mod walk;

pub use cost::{CostRequest, cost};
pub use predict::{PredictRequest, predict};
pub use request::StudyRequest;
pub use scale::{Copies, Guest, MOST_CPUS, OwnWorkload, ScaleRequest, ScaleWorkload, scale};
pub use study::study;
