//! Observing a job: what it does just now, in stages. Whoever does something that takes longer than
//! a moment is given an [`Observe`]; how that is shown, if at all, is not its business.

mod lines;
mod silent;
mod stage;

pub use lines::{Lines, say};
pub use silent::Silent;
pub use stage::Stage;

/// Whoever watches a job.
pub trait Observe: Sync {
    /// Shows that a stage begins, and gives what shows the rest of it.
    fn begin(&self, name: &str) -> Box<dyn View>;

    /// Begins a stage; `name` says what is done, as in "build the kernel".
    fn stage(&self, name: &str) -> Stage {
        Stage::new(name, self.begin(name))
    }
}

/// What shows one stage. Whatever cannot be shown is left out: no job fails over it.
pub trait View: Send + Sync {
    /// The stage is made of this many parts.
    fn parts(&self, _total: u64) {}

    /// So many of the parts are done.
    fn at(&self, _part: u64) {}

    /// What is being done just now.
    fn note(&self, _text: &str) {}

    /// The stage has ended; `line` says how, without an end of line.
    fn end(&self, _line: &str) {}
}
