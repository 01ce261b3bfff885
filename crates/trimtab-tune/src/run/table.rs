//! The table of what was tried: trials in the store, shared by all runs and processes of a work
//! directory. Nothing that has ended is done again, but for what failed by a shorter limit of time; what a
//! process does that still runs is waited for.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use trimtab_lab::interrupt;
use trimtab_lab::observe::say;
use trimtab_lab::store::{
    self, Claim, Measurement, NewExperiment, Outcome, Status, Store, Trial, TrialName,
};

use super::request::Limits;
use super::subject::is_limit;

/// The trials of one subject with one compiler.
#[derive(Debug)]
pub struct Table {
    store: Mutex<Store>,
    experiment: i64,
    subject: String,
    limits: Limits,
    /// Variants that this process does just now: the store tells processes apart, not threads.
    doing: Mutex<HashSet<String>>,
    done: Condvar,
}

/// A trial that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its number.
    pub id: i64,
    /// Whether it was measured, or has the image of one that was.
    pub is_good: bool,
    /// Why it failed, or was not measured.
    pub reason: Option<String>,
    /// SHA-256 of the image, where there was one.
    pub image: Option<String>,
    measurements: Vec<Measurement>,
}

impl Row {
    /// All that was measured.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter()
    }

    /// What was measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.measurements.iter().find(|found| found.metric == metric).map(|found| found.value)
    }

    /// Whether it failed by a limit that is longer now.
    fn has_longer_limit(&self, limits: Limits) -> bool {
        let longer = |metric, limit: Duration| {
            self.value(metric).is_some_and(|had| had < limit.as_secs_f64())
        };
        !self.is_good && (longer(BUILD_LIMIT, limits.build) || longer(RUN_LIMIT, limits.run))
    }
}

/// What one who wants a trial finds.
#[derive(Debug)]
pub enum Offer<'a> {
    /// It is theirs to do.
    OpenTrial(OpenTrial<'a>),
    /// It has ended.
    Known(Row),
}

/// A trial to be done, by the one who has this. Dropped without [`OpenTrial::end`] it is given back.
#[derive(Debug)]
pub struct OpenTrial<'a> {
    table: &'a Table,
    /// Its number, once it was taken and as long as it has not ended.
    id: Option<i64>,
    variant: String,
}

/// What is stored of a trial that failed by a limit of time: how long a build and a run could take, in seconds.
const BUILD_LIMIT: &str = "build limit";
const RUN_LIMIT: &str = "run limit";

/// How long to wait before another process is asked again.
const WAIT: Duration = Duration::from_millis(50);
/// How long a process of another host is waited for before that is said.
const SILENT: Duration = Duration::from_secs(5);

/// What tables are stored as.
pub(super) const VERB: &str = "tune table";

/// The table of a subject as an experiment, which is never finished: whoever tunes the same goes on with the same trials.
pub(super) fn beginning(subject: &str) -> NewExperiment {
    NewExperiment {
        verb: VERB.to_owned(),
        command: vec![subject.to_owned()],
        ..NewExperiment::default()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Opens the table of `subject` in the store of a work directory. The subject names all that trials
    /// depend on but the flags and limits of time.
    ///
    /// # Errors
    /// That the store cannot be opened or written.
    pub fn open(work: &Path, subject: &str, limits: Limits) -> Result<Self> {
        let path = work.join(store::FILE);
        let mut store = Store::open(&path)?;
        let (experiment, _) = store.begin(&beginning(subject))?;
        // On Ctrl-C the process may end before whoever does a trial comes to give it back.
        interrupt::on_stop(move || {
            _ = Store::open_existing(&path).and_then(|mut store| store.give_back(None));
        });
        Ok(Self {
            store: Mutex::new(store),
            experiment,
            subject: subject.to_owned(),
            limits,
            doing: Mutex::new(HashSet::new()),
            done: Condvar::new(),
        })
    }

    /// Takes a trial, once nobody else does it.
    ///
    /// # Errors
    /// That the store cannot be read or written, or the program is asked to end.
    pub fn take(&self, variant: &str) -> Result<Offer<'_>> {
        let mut doing = locked(&self.doing);
        while !doing.insert(variant.to_owned()) {
            doing = self.done.wait(doing).unwrap_or_else(PoisonError::into_inner);
        }
        drop(doing);
        // From here on it is given back however this ends.
        let mut mine = OpenTrial { table: self, id: None, variant: variant.to_owned() };
        let name = TrialName::new(&self.subject, variant);
        let (start, mut is_said) = (Instant::now(), false);
        loop {
            if interrupt::requested() {
                bail!("interrupted");
            }
            let claim = locked(&self.store).claim(self.experiment, &name)?;
            match claim {
                Claim::Yours(id) => {
                    mine.id = Some(id);
                    return Ok(Offer::OpenTrial(mine));
                }
                Claim::Ended(trial) => {
                    let row = self.row(trial)?;
                    if !row.has_longer_limit(self.limits) {
                        return Ok(Offer::Known(row));
                    }
                    if locked(&self.store).reopen(row.id)? {
                        mine.id = Some(row.id);
                        return Ok(Offer::OpenTrial(mine));
                    }
                }
                Claim::Taken { process, host } => {
                    if let Some(host) = host.filter(|_| !is_said && start.elapsed() > SILENT) {
                        say(&waits(variant, process, &host));
                        is_said = true;
                    }
                    std::thread::sleep(WAIT);
                }
            }
        }
    }

    fn row(&self, trial: Trial) -> Result<Row> {
        let measurements = locked(&self.store).measurements(trial.id)?;
        Ok(Row {
            id: trial.id,
            is_good: matches!(trial.status, Status::Done | Status::Skipped),
            reason: trial.reason,
            image: trial.image_hash,
            measurements,
        })
    }
}

/// What is said where a process of another host is waited for, which may be gone.
fn waits(variant: &str, process: u32, host: &str) -> String {
    format!(
        "trimtab: waiting for {variant:?}, which process {process} on {host} tries\n  \
         hint: if that process is gone, stop this one and go on in another work directory with what was tried: \
         trimtab tune trials --work OLD --export tried.jsonl, then trimtab tune trials --work NEW --import \
         tried.jsonl"
    )
}

impl OpenTrial<'_> {
    /// Stores how it ended; gives what is stored.
    ///
    /// # Errors
    /// That the store cannot be written.
    pub fn end(mut self, outcome: &Outcome, measurements: &[Measurement]) -> Result<Row> {
        let id = self.id.context("a trial was ended that was not taken")?;
        let mut measurements = measurements.to_vec();
        let is_good = outcome.status != Status::Failed;
        if !is_good && outcome.reason.as_deref().is_some_and(is_limit) {
            let Limits { build, run, .. } = self.table.limits;
            // What failed as its image did has them already.
            measurements.retain(|one| ![BUILD_LIMIT, RUN_LIMIT].contains(&one.metric.as_str()));
            measurements.extend([
                Measurement::new(BUILD_LIMIT, "s", build.as_secs_f64()),
                Measurement::new(RUN_LIMIT, "s", run.as_secs_f64()),
            ]);
        }
        locked(&self.table.store).end(id, outcome, &measurements)?;
        self.id = None;
        Ok(Row {
            id,
            is_good,
            reason: outcome.reason.clone(),
            image: outcome.image_hash.clone(),
            measurements,
        })
    }
}

impl Drop for OpenTrial<'_> {
    fn drop(&mut self) {
        if self.id.is_some() {
            // Where that fails, others see that this process is gone, if they are on its host.
            let _ = locked(&self.table.store).give_back(self.id);
        }
        locked(&self.table.doing).remove(&self.variant);
        self.table.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn limits(build: u64, run: u64) -> Limits {
        let (build, run) = (Duration::from_secs(build), Duration::from_secs(run));
        Limits { build, run, memory: 1 << 30 }
    }

    fn mine<'a>(table: &'a Table, variant: &str) -> OpenTrial<'a> {
        match table.take(variant).unwrap() {
            Offer::OpenTrial(mine) => mine,
            Offer::Known(row) => panic!("{row:?}"),
        }
    }

    #[test]
    fn what_ended_is_known_to_all_who_open_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::open(folder.path(), "app", limits(5, 5)).unwrap();
        let measured = [Measurement::new("instructions", "1", 5.0)];
        let row = mine(&table, "-O2").end(&Outcome::done().image("abc"), &measured).unwrap();
        mine(&table, "-O3").end(&Outcome::failed("it hangs"), &[]).unwrap();
        // Taken, and not ended: as when the process is killed.
        drop(mine(&table, "-O1"));
        let again = Table::open(folder.path(), "app", limits(9, 9)).unwrap();
        let Offer::Known(found) = again.take("-O2").unwrap() else { panic!("it is done") };
        assert_eq!((&found, found.value("instructions")), (&row, Some(5.0)));
        let Offer::Known(found) = again.take("-O3").unwrap() else { panic!("it is done") };
        assert_eq!((found.is_good, found.reason.as_deref()), (false, Some("it hangs")));
        mine(&again, "-O1");
        let other = Table::open(folder.path(), "another", limits(5, 5)).unwrap();
        mine(&other, "-O2");
    }

    #[test]
    fn what_failed_by_a_limit_is_done_again_where_it_is_longer() {
        const SLOW: &str = "the build took longer than its limit of 5 s, and `sh` was ended";
        let folder = tempfile::tempdir().unwrap();
        let open = |build, run| Table::open(folder.path(), "app", limits(build, run)).unwrap();
        mine(&open(5, 5), "-O3").end(&Outcome::failed(SLOW), &[]).unwrap();
        for (build, run) in [(5, 5), (1, 1)] {
            let table = open(build, run);
            let Offer::Known(row) = table.take("-O3").unwrap() else { panic!("it failed") };
            assert_eq!(row.reason.as_deref(), Some(SLOW));
        }
        for (build, run) in [(6, 5), (6, 7)] {
            let table = open(build, run);
            let mine = mine(&table, "-O3");
            // As where an image had failed before, whose measurements its flags have, too.
            let known = [Measurement::new(RUN_LIMIT, "s", 5.0)];
            mine.end(&Outcome::failed(SLOW), &known).unwrap();
            let Offer::Known(_) = table.take("-O3").unwrap() else { panic!("it failed again") };
        }
        let measured = [Measurement::new("instructions", "1", 5.0)];
        mine(&open(8, 7), "-O3").end(&Outcome::done().image("abc"), &measured).unwrap();
        let table = open(1, 1);
        let Offer::Known(row) = table.take("-O3").unwrap() else { panic!("it works") };
        assert_eq!((row.is_good, row.measurements), (true, measured.to_vec()));
    }

    #[test]
    fn who_waits_for_another_host_is_told_for_whom_and_what_to_do() {
        let text = waits("-O2 -fweb", 17, "node7");
        for part in ["-O2 -fweb", "process 17 on node7", "\n  hint: ", "--export", "--import"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_has_not_ended_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::open(folder.path(), "app", limits(5, 5)).unwrap();
        let ended = mine(&table, "-O2").end(&Outcome::done().image("abc"), &[]);
        let open = mine(&table, "-O3");
        let progress = || locked(&table.store).progress(table.experiment).unwrap();
        assert_eq!(progress(), [(Status::Running, 1), (Status::Done, 1)], "{ended:?}");
        drop(open);
        assert_eq!(progress(), [(Status::Done, 1)]);
    }

    #[test]
    fn of_threads_that_want_the_same_one_does_it() {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::open(folder.path(), "app", limits(5, 5)).unwrap();
        let done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for variant in ["a", "b", "c"] {
                        if let Offer::OpenTrial(mine) = table.take(variant).unwrap() {
                            done.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(5));
                            mine.end(&Outcome::done(), &[]).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 3);
    }
}
