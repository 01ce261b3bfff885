//! The side of a worker.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::spool::{JobOutcome, Spool};
use crate::failure::Failure;
use crate::interrupt;

/// A worker, in its own process.
#[derive(Debug)]
pub struct Worker {
    spool: Spool,
    name: String,
    /// Whoever gives jobs is gone after so much silence.
    silence: Duration,
}

/// The worker cannot do this job nor any other: it ends, and another does the job.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Lost(pub String);

/// How long whoever gives jobs may be silent: a network's file system shows what is new after a while.
const SILENCE: Duration = Duration::from_secs(90);
/// How often is looked for jobs: soon after there was one, and after a while without any.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(300);

impl Worker {
    /// The worker of this name at a spool.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self { spool: Spool::at(folder), name: name.to_owned(), silence: SILENCE }
    }

    /// The same, which leaves after another time of silence.
    #[cfg(test)]
    pub(super) fn silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// What it is to know before the first job.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn setup<T: DeserializeOwned>(&self) -> Result<T> {
        self.spool.setup()
    }

    /// Does jobs until there are no more, or nobody is there who gives any.
    ///
    /// # Errors
    /// That the spool cannot be read or written, and [`Lost`].
    pub fn work(&self, mut one: impl FnMut(Value) -> Result<Value>) -> Result<()> {
        self.spool.is_up(&self.name)?;
        let mut heard = (self.spool.last_beat(), Instant::now());
        let mut pause = SOON;
        let is_over = || self.spool.has_ended() || self.spool.is_dismissed(&self.name);
        while !is_over() && !interrupt::requested() {
            let Some(job) = self.spool.take(&self.name)? else {
                let beat = self.spool.last_beat();
                if beat != heard.0 {
                    heard = (beat, Instant::now());
                } else if heard.1.elapsed() > self.silence {
                    return Ok(());
                }
                thread::sleep(pause);
                pause = (pause + SOON / 4).min(LATER);
                continue;
            };
            pause = SOON;
            let outcome = match one(job.input.clone()) {
                Ok(value) => JobOutcome::Done(value),
                // Not done: it is put back when this process has ended.
                Err(_) if interrupt::requested() => return Ok(()),
                Err(error) if error.is::<Lost>() => return Err(error),
                Err(error) => JobOutcome::Failed(Failure::of(&error, &[crate::hint])),
            };
            self.spool.finish(&job, &outcome)?;
        }
        Ok(())
    }
}
