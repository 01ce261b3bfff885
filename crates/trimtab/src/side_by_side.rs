//! Jobs on all processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// Does each job, as many side by side as there are CPUs, in any order; the results are in the order of
/// the jobs. `progress` is told how many are done.
///
/// # Errors
/// The first error of any, by the order of the jobs; no further jobs are begun then.
pub fn each<Job: Sync, Outcome: Send>(
    jobs: &[Job],
    work: impl Fn(usize, &Job) -> Result<Outcome> + Sync,
    progress: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Outcome>>>> =
        Mutex::new(jobs.iter().map(|_| None).collect());
    let workers = thread::available_parallelism().map_or(2, usize::from).min(jobs.len());
    let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let result = work(index, job);
                    let failed = result.is_err();
                    lock()[index] = Some(result);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                    if failed {
                        next.store(jobs.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let results = std::mem::take(&mut *lock());
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<usize> = (0..100).collect();
        let most = AtomicUsize::new(0);
        let squares = each(
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
