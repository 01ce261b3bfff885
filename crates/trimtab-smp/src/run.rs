//! The engine: finds trees, reads their files, and adds up what is in them; and boots guests.

mod cost;
mod guest;
mod locks;
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
pub use guest::{
    Copies, Guest, GuestRequest, GuestSetup, KernelKind, MOST_CPUS, OwnWorkload, ScaleWorkload,
};
pub use locks::{LocksRequest, locks};
pub use predict::{PredictRequest, predict};
pub use request::StudyRequest;
pub use scale::{ScaleRequest, scale};
pub use study::study;
