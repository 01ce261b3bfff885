//! Jobs that are closures: they can only be done in this process.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::{Batch, Executor};

/// Does each job; the results are in the order of the jobs. `work` is given the place of a job among
/// them, and the job; `done` is called with the number done.
///
/// # Errors
/// The first error of any, by the order of the jobs; no further jobs are begun then.
pub fn each<Job: Sync, Outcome: Send>(
    executor: &dyn Executor,
    jobs: &[Job],
    work: impl Fn(usize, &Job) -> Result<Outcome> + Sync,
    done: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>> {
    let outcomes = Mutex::new(jobs.iter().map(|_| None).collect());
    executor.execute(&Closures { jobs, work, outcomes: &outcomes }, &done)?;
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(outcomes.into_iter().flatten().collect())
}

struct Closures<'a, Job, Work, Outcome> {
    jobs: &'a [Job],
    work: Work,
    outcomes: &'a Mutex<Vec<Option<Outcome>>>,
}

impl<Job, Work, Outcome> Batch for Closures<'_, Job, Work, Outcome>
where
    Job: Sync,
    Work: Fn(usize, &Job) -> Result<Outcome> + Sync,
    Outcome: Send,
{
    fn len(&self) -> usize {
        self.jobs.len()
    }

    fn run(&self, index: usize) -> Result<()> {
        let outcome = (self.work)(index, &self.jobs[index])?;
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(outcome);
        Ok(())
    }
}
