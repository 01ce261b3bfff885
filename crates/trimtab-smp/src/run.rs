//! The engine: finds trees, reads their files, and adds up what is in them.

mod makefiles;
mod request;
mod study;
mod totals;
mod tree;
mod walk;

pub use request::StudyRequest;
pub use study::study;
