//! Where jobs are done. A [`Batch`] is jobs that do not depend on one another; an [`Executor`] does
//! them: [`Local`] in this process, others on other machines. Whoever has jobs made of closures
//! calls [`each`].

mod closures;
mod local;

pub use closures::each;
pub use local::Local;

use anyhow::{Result, bail};
use serde_json::Value;

/// Jobs that can be done in any order, or at once.
pub trait Batch: Sync {
    /// How many jobs there are; they are numbered from 0.
    fn len(&self) -> usize;

    /// Whether there is nothing to do.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does a job in this process, and keeps what comes out.
    ///
    /// # Errors
    /// Whatever keeps the job from being done.
    fn run(&self, index: usize) -> Result<()>;

    /// A job as data, for another process or machine; none where it can only be done in this one.
    fn description(&self, _index: usize) -> Option<Description> {
        None
    }

    /// Keeps what came out of a job that was done elsewhere by its description.
    ///
    /// # Errors
    /// That it is not what such a job gives, or that the job can only be done in this process.
    fn keep(&self, index: usize, _outcome: Value) -> Result<()> {
        bail!("job {index} was done elsewhere, but can only be done in this process")
    }
}

/// A job as data: whoever knows jobs of this kind can do it, and gives its outcome as data, too.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// What kind of job it is, as `fit.boot`.
    pub kind: &'static str,
    /// All else that it depends on.
    pub input: Value,
}

/// Does jobs somewhere.
pub trait Executor: Sync {
    /// Does all jobs; `done` is called with the number done.
    ///
    /// # Errors
    /// The error of the first job, by number, that failed; none is begun after a failure.
    fn execute(&self, batch: &dyn Batch, done: &(dyn Fn(usize) + Sync)) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;

    /// Squares numbers, here or by description.
    struct Squares {
        numbers: Vec<u64>,
        found: Mutex<Vec<Option<u64>>>,
    }

    impl Squares {
        fn new(numbers: Vec<u64>) -> Self {
            Self { found: Mutex::new(vec![None; numbers.len()]), numbers }
        }
    }

    impl Batch for Squares {
        fn len(&self) -> usize {
            self.numbers.len()
        }

        fn run(&self, index: usize) -> Result<()> {
            self.keep(index, json!(self.numbers[index] * self.numbers[index]))
        }

        fn description(&self, index: usize) -> Option<Description> {
            Some(Description { kind: "square", input: json!(self.numbers[index]) })
        }

        fn keep(&self, index: usize, outcome: Value) -> Result<()> {
            self.found.lock().unwrap()[index] = outcome.as_u64();
            Ok(())
        }
    }

    /// Does the job that it gets as text, as another machine would.
    struct Elsewhere;

    impl Executor for Elsewhere {
        fn execute(&self, batch: &dyn Batch, done: &(dyn Fn(usize) + Sync)) -> Result<()> {
            for index in 0..batch.len() {
                let Some(job) = batch.description(index) else { bail!("job {index} is no data") };
                assert_eq!(job.kind, "square");
                let number: u64 = serde_json::from_str(&job.input.to_string())?;
                batch.keep(index, json!(number * number))?;
                done(index + 1);
            }
            Ok(())
        }
    }

    #[test]
    fn jobs_that_are_data_give_the_same_anywhere() {
        for executor in [&Local as &dyn Executor, &Elsewhere] {
            let squares = Squares::new((0..20).collect());
            executor.execute(&squares, &|_| ()).unwrap();
            let expected: Vec<_> = (0..20).map(|number| Some(number * number)).collect();
            assert_eq!(squares.found.into_inner().unwrap(), expected);
        }
    }

    #[test]
    fn closures_are_done_in_this_process_only() {
        let failed = each(&Elsewhere, &[1], |_, _| Ok(()), |_| ());
        assert_eq!(failed.unwrap_err().to_string(), "job 0 is no data");
    }
}
