//! Jobs side by side in threads of this process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// Does each job, as many side by side as there are CPUs; the results are in the order of the jobs. `work`
/// is given the place of a job among them, and the job; `done` is called with the number done.
///
/// # Errors
/// The error of the first job, by its place, that failed; none is begun after a failure.
pub fn each<Job: Sync, Outcome: Send>(
    jobs: &[Job],
    work: impl Fn(usize, &Job) -> Result<Outcome> + Sync,
    done: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>> {
    each_on(thread::available_parallelism().map_or(2, usize::from), jobs, work, done)
}

/// The same with so many side by side, as where each waits for a [worker](crate::workers).
///
/// # Errors
/// As [`each`].
pub fn each_on<Job: Sync, Outcome: Send>(
    threads: usize,
    jobs: &[Job],
    work: impl Fn(usize, &Job) -> Result<Outcome> + Sync,
    done: impl Fn(usize) + Sync,
) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Result<Outcome>>>> =
        Mutex::new(jobs.iter().map(|_| None).collect());
    let one_after_the_other = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else { return };
            let outcome = work(place, job);
            done(finished.fetch_add(1, Ordering::Relaxed) + 1);
            if outcome.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            outcomes.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1).min(jobs.len()) {
            scope.spawn(one_after_the_other);
        }
    });
    // What was not begun comes after something that failed.
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<usize> = (0..100).collect();
        let most = AtomicUsize::new(0);
        for threads in [0, 1, 7] {
            let squares = each_on(
                threads,
                &jobs,
                |place, job| Ok(place * job),
                |done| _ = most.fetch_max(done, Ordering::Relaxed),
            );
            assert_eq!(squares.ok(), Some(jobs.iter().map(|job| job * job).collect()));
        }
        assert_eq!(most.into_inner(), jobs.len());
        assert_eq!(each(&[0; 0], |_, job| Ok(*job), |_| ()).ok(), Some(vec![]));
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
