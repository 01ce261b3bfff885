//! Jobs side by side in this process. A [`Batch`] is jobs that do not depend on one another; an
//! [`Executor`] does them: [`Local`] as many as there are CPUs, [`Threads`] as many as are asked for, as
//! where each waits for a [worker](crate::workers) elsewhere. Whoever has jobs made of closures calls
//! [`each`].

mod closures;
mod local;

pub use closures::each;
pub use local::{Local, Threads};

use anyhow::Result;

/// Jobs that can be done in any order, or at once.
pub trait Batch: Sync {
    /// How many jobs there are; they are numbered from 0.
    fn len(&self) -> usize;

    /// Whether there is nothing to do.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does a job, and keeps what comes out.
    ///
    /// # Errors
    /// Whatever keeps the job from being done.
    fn run(&self, index: usize) -> Result<()>;
}

/// Does jobs.
pub trait Executor: Sync {
    /// Does all jobs; `done` is called with the number done.
    ///
    /// # Errors
    /// The error of the first job, by number, that failed; none is begun after a failure.
    fn execute(&self, batch: &dyn Batch, done: &(dyn Fn(usize) + Sync)) -> Result<()>;
}
