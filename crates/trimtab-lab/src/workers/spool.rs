//! The folder through which jobs go to workers and outcomes come back. Everything is written beside and
//! renamed, so that nobody reads half of it, on a network's file system, too:
//!
//! - `setup`: what workers are to know first;
//! - `jobs/NUMBER.TRIES`: a job that nobody does;
//! - `taken/WORKER.NUMBER.TRIES`: one that a worker does;
//! - `done/NUMBER`: what came of it;
//! - `ready/WORKER`: the worker came up;
//! - `gone/WORKER`: its process ended, as far as whoever gives jobs knows: if it lives after all, it leaves;
//! - `beat`: a number that grows as long as there is someone who gives jobs;
//! - `end`: there are no more.
//!
//! Whatever else is there is what workers say each other.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::workdir::write_at_once;

/// A job that is the end of so many workers is not tried again.
const MOST_TRIES: u32 = 5;

/// A spool.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

/// A job that a worker has.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Its number.
    pub number: u64,
    /// All that it depends on.
    pub input: Value,
    /// Its file, below `taken`.
    file: String,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// What it gave.
    Done(Value),
    /// What kept it from being done.
    Failed(Failure),
}

impl Spool {
    /// Makes a spool in an empty folder.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn make(folder: &Path, setup: &impl Serialize) -> Result<Self> {
        let spool = Self::at(folder);
        for name in ["jobs", "taken", "done", "ready", "gone"] {
            let path = folder.join(name);
            fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        spool.beat(0)?;
        spool.write("setup", &serde_json::to_vec(setup)?)?;
        Ok(spool)
    }

    /// The spool in a folder that was made elsewhere.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What workers are to know first.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn setup<T: DeserializeOwned>(&self) -> Result<T> {
        self.read("setup")
    }

    /// Has a job done.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn give(&self, number: u64, input: &Value) -> Result<()> {
        self.write(&format!("jobs/{number}.0"), &serde_json::to_vec(input)?)
    }

    /// What came of a job, once it is done.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn outcome(&self, number: u64) -> Result<Option<JobOutcome>> {
        let name = format!("done/{number}");
        match self.folder.join(&name).exists() {
            true => self.read(&name).map(Some),
            false => Ok(None),
        }
    }

    /// Takes the first job that nobody does, for the worker of this name.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub fn take(&self, worker: &str) -> Result<Option<Given>> {
        let mut waiting: Vec<(u64, String)> = self
            .names("jobs")?
            .into_iter()
            .filter_map(|name| Some((name.split('.').next()?.parse().ok()?, name)))
            .collect();
        waiting.sort_unstable();
        for (number, name) in waiting {
            let file = format!("taken/{worker}.{name}");
            match fs::rename(self.folder.join("jobs").join(&name), self.folder.join(&file)) {
                Ok(()) => return Ok(Some(Given { number, input: self.read(&file)?, file })),
                // Another was faster.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot take job {name}")),
            }
        }
        Ok(None)
    }

    /// Keeps what came of a job.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn finish(&self, job: &Given, outcome: &JobOutcome) -> Result<()> {
        self.write(&format!("done/{}", job.number), &serde_json::to_vec(outcome)?)?;
        ignore_missing(fs::remove_file(self.folder.join(&job.file)))
            .with_context(|| format!("cannot remove {}", job.file))
    }

    /// Gives what a worker did that has ended to others; a job that was the end of many has failed.
    ///
    /// # Errors
    /// That the folder cannot be read or written.
    pub fn put_back(&self, worker: &str, why: &str) -> Result<()> {
        let prefix = format!("{worker}.");
        for name in self.names("taken")? {
            let Some((number, tries)) = name.strip_prefix(&prefix).and_then(numbers) else {
                continue;
            };
            let path = self.folder.join("taken").join(&name);
            if self.outcome(number)?.is_some() {
                ignore_missing(fs::remove_file(&path))?;
            } else if tries + 1 >= MOST_TRIES {
                let why = format!("{MOST_TRIES} workers ended while they did it; the last: {why}");
                let outcome = serde_json::to_vec(&JobOutcome::Failed(Failure::new(why)))?;
                self.write(&format!("done/{number}"), &outcome)?;
                ignore_missing(fs::remove_file(&path))?;
            } else {
                let to = self.folder.join(format!("jobs/{number}.{}", tries + 1));
                ignore_missing(fs::rename(&path, to))?;
            }
        }
        Ok(())
    }

    /// Says that a worker's process has ended.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn dismiss(&self, worker: &str) -> Result<()> {
        self.write(&format!("gone/{worker}"), b"")
    }

    /// Whether a worker's process is said to have ended.
    pub fn is_dismissed(&self, worker: &str) -> bool {
        self.folder.join("gone").join(worker).exists()
    }

    /// Gives to others what is taken by workers whose process is said to have ended.
    ///
    /// # Errors
    /// That the folder cannot be read or written.
    pub fn put_back_strays(&self) -> Result<()> {
        for name in self.names("taken")? {
            if let Some(worker) = name.split('.').next().filter(|worker| self.is_dismissed(worker))
            {
                self.put_back(worker, "its process had ended")?;
            }
        }
        Ok(())
    }

    /// The names of jobs that workers do: other ones each time that one is taken.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub fn taken(&self) -> Result<Vec<String>> {
        self.names("taken")
    }

    /// Says that a worker came up.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn is_up(&self, worker: &str) -> Result<()> {
        self.write(&format!("ready/{worker}"), b"")
    }

    /// Whether a worker came up.
    pub fn is_ready(&self, worker: &str) -> bool {
        self.folder.join("ready").join(worker).exists()
    }

    /// Says that there is someone who gives jobs.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn beat(&self, number: u64) -> Result<()> {
        self.write("beat", number.to_string().as_bytes())
    }

    /// The last beat; none where the spool is gone.
    pub fn last_beat(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("beat")).ok()
    }

    /// Says that there are no more jobs.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn end(&self) -> Result<()> {
        self.write("end", b"")
    }

    /// Whether there are no more jobs.
    pub fn has_ended(&self) -> bool {
        self.folder.join("end").exists() || !self.folder.exists()
    }

    fn names(&self, below: &str) -> Result<Vec<String>> {
        let path = self.folder.join(below);
        let entries = fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.folder.join(name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is not what another process wrote", path.display()))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        // A disk that is busy would have every worker wait. After a crash there is nobody whose jobs these are.
        Ok(write_at_once(&self.folder.join(name), bytes)?)
    }
}

/// What the names of spools begin with.
pub const PREFIX: &str = "workers-";
/// A spool that is silent for so long was left behind by a process that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

/// Removes spools in `parent` that were left behind.
pub fn tidy(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let beat = entry.path().join("beat");
        let age = fs::metadata(&beat).and_then(|beat| beat.modified()).map(|time| time.elapsed());
        let is_left = matches!(age, Ok(Ok(age)) if age > LEFT_BEHIND);
        if is_left && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // What cannot be removed takes room, and does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Which worker has a job that is taken, and how often that was started before, of a name.
pub fn attempt(name: &str) -> Option<(usize, u64)> {
    let (slot, attempt) = name.split('.').next()?.split_once('-')?;
    Some((slot.parse().ok()?, attempt.parse().ok()?))
}

/// The number of a job and how often it was tried, of a name.
fn numbers(name: &str) -> Option<(u64, u32)> {
    let (number, tries) = name.split_once('.')?;
    Some((number.parse().ok()?, tries.parse().ok()?))
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
