//! Jobs that other processes do, on this machine or others: *workers*. Whoever has jobs starts them by a
//! command, such as `srun` of a cluster, and they find their jobs in a folder that all machines share,
//! the *spool*. So a job system has to do nothing but start processes and end them.
//!
//! A worker that dies, or that takes too long for a job, is started again, and what it did is done again by
//! another. A worker whose jobs come from a process that is gone leaves by itself.

mod serve;
mod spool;

pub use serve::{Lost, Worker};

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use serde::Serialize;
use serde_json::Value;
use spool::{JobOutcome, Spool};
use tempfile::TempDir;

use crate::interrupt;
use crate::process::Job;

/// Workers, and the spool that they work on. Dropped, it ends them.
#[derive(Debug)]
pub struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Where the spool is, until all workers have ended.
    _folder: TempDir,
}

#[derive(Debug)]
struct Shared {
    spool: Spool,
    next: AtomicU64,
    /// Raised to end the processes.
    end: Arc<AtomicBool>,
    /// Why there are no workers.
    failed: Mutex<Option<String>>,
    restarted: AtomicU64,
    /// Workers of which there is still one, or will be.
    slots: AtomicUsize,
    /// The process of each.
    processes: Vec<WorkerProcess>,
    /// A worker that takes longer for a job is ended.
    limit: Duration,
}

/// How many workers there are, and what they may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    /// Workers.
    pub count: usize,
    /// A job takes no longer: a worker that does hangs, and is ended.
    pub limit: Duration,
}

/// The process of a worker, which may be started again and again.
#[derive(Debug, Default)]
struct WorkerProcess {
    /// How often it was.
    attempt: AtomicU64,
    /// Raised to end it.
    end: Arc<AtomicBool>,
}

/// A worker that ends so often before it is ready, one time after the other, will never be.
const NEVER_READY: u32 = 3;
/// A worker that is started again waits so long: what ended it may take a moment to be over.
const PAUSE: Duration = Duration::from_millis(500);
/// How often the giver of jobs says that it is still there.
const BEAT: Duration = Duration::from_secs(2);
/// How long a worker has to leave before its process is ended.
const LEAVE: Duration = Duration::from_secs(5);
/// How often is looked whether a job is done, at first and after a while.
const SOON: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(100);
/// A worker lives as long as there are jobs.
const LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

impl Workers {
    /// Starts workers with a spool below `parent`, a folder that all their machines have. `setup` is what they
    /// are to know before the first job; `command` is the process of a worker, given the spool's folder, which
    /// of the crew it is, and its name: one that is started again has another.
    ///
    /// # Errors
    /// That the spool cannot be made. That workers do not come up is said by [`Self::call`].
    pub fn start(
        parent: &Path,
        setup: &impl Serialize,
        crew: Crew,
        command: impl Fn(&Path, usize, &str) -> Job + Send + Sync + 'static,
    ) -> Result<Self> {
        spool::tidy(parent);
        let folder = tempfile::Builder::new().prefix(spool::PREFIX).tempdir_in(parent)?;
        let spool = Spool::make(folder.path(), setup)?;
        let (next, restarted) = Default::default();
        let (end, failed) = Default::default();
        let Crew { count, limit } = crew;
        let slots = AtomicUsize::new(count);
        let processes = (0..count).map(|_| WorkerProcess::default()).collect();
        let shared =
            Arc::new(Shared { spool, next, end, failed, restarted, slots, processes, limit });
        let command = Arc::new(command);
        let mut threads: Vec<JoinHandle<()>> = (0..count)
            .map(|slot| {
                let (shared, command) = (Arc::clone(&shared), Arc::clone(&command));
                thread::spawn(move || shared.keep_one(slot, command.as_ref()))
            })
            .collect();
        let beating = Arc::clone(&shared);
        threads.push(thread::spawn(move || beating.beat()));
        Ok(Self { shared, threads, _folder: folder })
    }

    /// Has a worker do a job, and waits for what comes of it.
    ///
    /// # Errors
    /// What the worker says; that workers do not come up, or die of this job again and again; an
    /// interrupt.
    pub fn call(&self, input: &Value) -> Result<Value> {
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.spool.give(number, input)?;
        let start = Instant::now();
        loop {
            match self.shared.spool.outcome(number)? {
                Some(JobOutcome::Done(value)) => return Ok(value),
                Some(JobOutcome::Failed(failure)) => return Err(failure.into()),
                None => {}
            }
            if interrupt::requested() {
                bail!("interrupted");
            }
            if let Some(why) = self.failed() {
                return Err(anyhow!("{why}"));
            }
            thread::sleep(if start.elapsed() < Duration::from_secs(5) { SOON } else { LATER });
        }
    }

    /// How many workers died and were started again.
    pub fn restarted(&self) -> u64 {
        self.shared.restarted.load(Ordering::Relaxed)
    }

    fn failed(&self) -> Option<String> {
        self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // A spool that cannot be written any more is left by the workers in their own time.
        let _ = self.shared.spool.end();
        let start = Instant::now();
        while start.elapsed() < LEAVE && self.threads.iter().any(|thread| !thread.is_finished()) {
            thread::sleep(SOON);
        }
        self.shared.end.store(true, Ordering::SeqCst);
        for process in &self.shared.processes {
            process.end.store(true, Ordering::SeqCst);
        }
        for thread in self.threads.drain(..) {
            // It does not panic; and if it did, there would be nothing left to do.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Says again and again that whoever has jobs is there, and gives others what workers still took whose
    /// process was said to have ended: it may have been only the connection to it.
    fn beat(&self) {
        let mut beats = 0;
        let mut last = None::<Instant>;
        let mut seen = HashMap::new();
        while !self.spool.has_ended() && !self.end.load(Ordering::SeqCst) {
            if last.is_none_or(|last| last.elapsed() >= BEAT) {
                beats += 1;
                // Where it cannot be written, workers leave after a while, and that is said.
                let _ = self.spool.beat(beats);
                if let Err(error) =
                    self.spool.put_back_strays().and_then(|()| self.end_late(&mut seen))
                {
                    self.fails(not_given(&error));
                }
                last = Some(Instant::now());
            }
            thread::sleep(SOON);
        }
    }

    /// Ends workers that take too long for a job; `seen` is since when each job is known to be done.
    fn end_late(&self, seen: &mut HashMap<String, Instant>) -> Result<()> {
        let taken = self.spool.taken()?;
        seen.retain(|name, _| taken.contains(name));
        for name in taken {
            let attempt = spool::attempt(&name);
            let since = *seen.entry(name).or_insert_with(Instant::now);
            if let Some((slot, attempt)) = attempt
                && since.elapsed() > self.limit
                && let Some(process) = self.processes.get(slot)
                && process.attempt.load(Ordering::SeqCst) == attempt
            {
                process.end.store(true, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// Runs a worker, and runs it again as long as there is work.
    fn keep_one(&self, slot: usize, command: &(dyn Fn(&Path, usize, &str) -> Job + Send + Sync)) {
        let Some(process) = self.processes.get(slot) else { return };
        let mut in_vain = 0;
        for attempt in 0_u64.. {
            let name = format!("{slot}-{attempt}");
            process.end.store(false, Ordering::SeqCst);
            process.attempt.store(attempt, Ordering::SeqCst);
            if self.end.load(Ordering::SeqCst) {
                return;
            }
            let job = command(self.spool.folder(), slot, &name);
            let job = job.limit(LIFE).interrupt(process.end.clone());
            let ended = job.run();
            if self.spool.has_ended() || self.end.load(Ordering::SeqCst) {
                return;
            }
            let why = match ended {
                _ if process.end.load(Ordering::SeqCst) => {
                    format!("it took longer than {} s for a job", self.limit.as_secs())
                }
                Ok(_) => "it ended, though there was work".to_owned(),
                Err(error) => error.to_string(),
            };
            in_vain = if self.spool.is_ready(&name) { 0 } else { in_vain + 1 };
            let put_back =
                self.spool.dismiss(&name).and_then(|()| self.spool.put_back(&name, &why));
            if let Err(error) = put_back {
                self.fails(not_given(&error));
                return;
            }
            if in_vain == NEVER_READY {
                // The others may be on machines where it works.
                if self.slots.fetch_sub(1, Ordering::SeqCst) == 1 {
                    self.fails(format!("workers do not come up, {NEVER_READY} in a row: {why}"));
                }
                return;
            }
            self.restarted.fetch_add(1, Ordering::Relaxed);
            thread::sleep(PAUSE);
        }
    }

    fn fails(&self, why: String) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }
}

fn not_given(error: &Error) -> String {
    format!("what a worker did cannot be given to another: {error:#}")
}

#[cfg(test)]
mod tests;
