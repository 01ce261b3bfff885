//! Jobs in threads of this process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Error, Result};

use super::{Batch, Executor};

/// Does jobs in this process, as many side by side as there are CPUs, in any order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local;

impl Executor for Local {
    fn execute(&self, batch: &dyn Batch, report: &(dyn Fn(usize) + Sync)) -> Result<()> {
        let processors = thread::available_parallelism().map_or(2, usize::from);
        Threads(processors).execute(batch, report)
    }
}

/// Does jobs in this process, so many side by side, in any order.
#[derive(Debug, Clone, Copy)]
pub struct Threads(pub usize);

impl Executor for Threads {
    fn execute(&self, batch: &dyn Batch, report: &(dyn Fn(usize) + Sync)) -> Result<()> {
        let count = batch.len();
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        // The failure of the first job, by number, that failed.
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let threads = self.0.max(1).min(count);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    break;
                }
                let result = batch.run(index);
                report(done.fetch_add(1, Ordering::Relaxed) + 1);
                if let Err(error) = result {
                    next.store(count, Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|(first, _)| index < *first) {
                        *failed = Some((index, error));
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::each;
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<usize> = (0..100).collect();
        let most = AtomicUsize::new(0);
        let squares = each(
            &Local,
            &jobs,
            |place, job| Ok(place * job),
            |done| _ = most.fetch_max(done, Ordering::Relaxed),
        );
        assert_eq!(squares.ok(), Some(jobs.iter().map(|job| job * job).collect()));
        assert_eq!(most.into_inner(), jobs.len());
    }

    #[test]
    fn a_job_that_fails_is_the_last_that_is_begun() {
        let jobs: Vec<usize> = (0..10_000).collect();
        let begun = AtomicUsize::new(0);
        let failed: Result<Vec<()>> = each(
            &Local,
            &jobs,
            |_, job| {
                begun.fetch_add(1, Ordering::Relaxed);
                anyhow::bail!("job {job} failed")
            },
            |_| (),
        );
        assert_eq!(failed.err().map(|error| error.to_string()).as_deref(), Some("job 0 failed"));
        assert!(begun.into_inner() <= thread::available_parallelism().map_or(2, usize::from));
    }
}
