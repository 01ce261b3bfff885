//! Trials: what of an experiment is measured one by one.

use std::time::SystemTime;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::owner::Owner;
use super::{Store, StoreError, seconds, time};

/// Which trial of an experiment is meant. No two have the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialName {
    /// What is measured: a program, a workload.
    pub subject: String,
    /// The version of it, or of what it runs on: a layout, a configuration, the flags of a build.
    pub variant: String,
    /// Which repetition, from 0.
    pub round: u32,
}

impl TrialName {
    /// The first repetition.
    pub fn new(subject: impl Into<String>, variant: impl Into<String>) -> Self {
        TrialName { subject: subject.into(), variant: variant.into(), round: 0 }
    }

    /// Another repetition, counted from 0.
    #[must_use]
    pub fn round(mut self, round: u32) -> Self {
        self.round = round;
        self
    }
}

/// How far a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A process does it.
    Running,
    /// It was measured.
    Done,
    /// It could not be measured: the build failed, a run crashed or hung.
    Failed,
    /// It was not measured, as its outcome is known without: the image is that of another trial, say.
    Skipped,
}

impl Status {
    const ALL: [Status; 4] = [Status::Running, Status::Done, Status::Failed, Status::Skipped];

    /// Its name, as it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        }
    }
}

/// A trial of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its number, from 1.
    pub id: i64,
    /// The number of its experiment.
    pub experiment: i64,
    /// Which of the experiment's it is.
    pub name: TrialName,
    /// How far it is.
    pub status: Status,
    /// Why it failed or was skipped.
    pub reason: Option<String>,
    /// SHA-256 of the image or program that was measured.
    pub image_hash: Option<String>,
    /// When it was taken last; kept to the second.
    pub begun: SystemTime,
    /// When it ended, if it did; kept to the second.
    pub ended: Option<SystemTime>,
}

/// What one wants to do a trial finds.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It is to be done by the one who asked, and has this number.
    Yours(i64),
    /// It has ended.
    Ended(Trial),
    /// Another process does it.
    Taken {
        /// The number of that process, on the host where it runs.
        process: u32,
        /// That host, where it is another: whether the process still runs cannot be seen.
        host: Option<String>,
    },
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// [`Status::Done`], [`Status::Failed`] or [`Status::Skipped`].
    pub status: Status,
    /// Why it failed or was skipped.
    pub reason: Option<String>,
    /// SHA-256 of the image or program, where there was one.
    pub image_hash: Option<String>,
}

impl Outcome {
    /// It was measured.
    pub fn done() -> Self {
        Outcome { status: Status::Done, reason: None, image_hash: None }
    }

    /// It could not be measured.
    pub fn failed(reason: impl Into<String>) -> Self {
        Outcome { status: Status::Failed, reason: Some(reason.into()), image_hash: None }
    }

    /// It need not be measured.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Outcome { status: Status::Skipped, reason: Some(reason.into()), image_hash: None }
    }

    /// Says what was measured, by its SHA-256.
    #[must_use]
    pub fn image(mut self, hash: impl Into<String>) -> Self {
        self.image_hash = Some(hash.into());
        self
    }
}

/// One number of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What was measured: `instructions`.
    pub metric: String,
    /// In what: `s`, `B`, `1` for a count.
    pub unit: String,
    /// How much; a finite number.
    pub value: f64,
}

impl Measurement {
    /// A number.
    pub fn new(metric: impl Into<String>, unit: impl Into<String>, value: f64) -> Self {
        Measurement { metric: metric.into(), unit: unit.into(), value }
    }
}

/// A trial that has ended, to be stored together with its experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialEnd {
    /// Which of the experiment's it is.
    pub name: TrialName,
    /// How it ended.
    pub outcome: Outcome,
    /// What was measured.
    pub measurements: Vec<Measurement>,
}

const COLUMNS: &str = "id, experiment, subject, variant, round, status, reason, image_hash, begun, \
                       ended, owner";

impl Store {
    /// Takes a trial of an experiment, to do it. One that a process had taken that ended since is
    /// taken over.
    ///
    /// # Errors
    /// [`StoreError::Database`], also where there is no such experiment; [`StoreError::Process`].
    pub fn claim(&mut self, experiment: i64, name: &TrialName) -> Result<Claim, StoreError> {
        let this = Owner::this().map_err(StoreError::Process)?;
        let path = self.path.clone();
        let failed = |source| StoreError::database(&path, "written", source);
        let now = seconds(SystemTime::now());
        let transaction = self.transaction()?;
        let query = format!(
            "select {COLUMNS} from trial
             where experiment = ?1 and subject = ?2 and variant = ?3 and round = ?4"
        );
        let key = params![experiment, name.subject, name.variant, name.round];
        let found = transaction
            .prepare_cached(&query)
            .and_then(|mut statement| statement.query_row(key, RawTrial::read).optional())
            .map_err(failed)?;
        let id = match found {
            None => transaction
                .prepare_cached(
                    "insert into trial
                         (experiment, subject, variant, round, status, owner, begun)
                         values (?1, ?2, ?3, ?4, 'running', ?5, ?6)",
                )
                .and_then(|mut statement| {
                    statement.insert(params![
                        experiment,
                        name.subject,
                        name.variant,
                        name.round,
                        this.to_string(),
                        now
                    ])
                })
                .map_err(failed)?,
            Some(raw) => {
                let owner = raw.owner.as_deref().and_then(Owner::parse);
                let (id, is_running) = (raw.id, raw.status == Status::Running.name());
                match owner {
                    _ if !is_running => {
                        drop(transaction);
                        return Ok(Claim::Ended(self.decode_trial(raw)?));
                    }
                    Some(owner) if owner != this && !owner.is_gone(&this) => {
                        let host = (owner.host() != this.host()).then(|| owner.host().to_owned());
                        return Ok(Claim::Taken { process: owner.process(), host });
                    }
                    _ => {}
                }
                transaction
                    .execute(
                        "update trial set owner = ?2, begun = ?3 where id = ?1",
                        params![id, this.to_string(), now],
                    )
                    .map_err(failed)?;
                id
            }
        };
        transaction.commit().map_err(failed)?;
        self.checkpointer.written();
        Ok(Claim::Yours(id))
    }

    /// Gives back a trial that this process has taken and not ended, or all of them: they are as if they had not
    /// been taken, so that nobody waits for them.
    ///
    /// # Errors
    /// [`StoreError::Database`]; [`StoreError::Process`].
    pub fn give_back(&mut self, trial: Option<i64>) -> Result<(), StoreError> {
        let this = Owner::this().map_err(StoreError::Process)?.to_string();
        let path = self.path.clone();
        let failed = |source| StoreError::database(&path, "written", source);
        let transaction = self.transaction()?;
        transaction
            .execute(
                "delete from trial
                 where status = 'running' and owner = ?1 and (?2 is null or id = ?2)",
                params![this, trial],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.checkpointer.written();
        Ok(())
    }

    /// Takes a trial that failed, to do it again: what is stored of how it failed is gone. Whether it
    /// was taken: another process may have been faster.
    ///
    /// # Errors
    /// [`StoreError::Database`]; [`StoreError::Process`].
    pub fn reopen(&mut self, id: i64) -> Result<bool, StoreError> {
        let this = Owner::this().map_err(StoreError::Process)?.to_string();
        let path = self.path.clone();
        let failed = |source| StoreError::database(&path, "written", source);
        let transaction = self.transaction()?;
        let taken = transaction
            .execute(
                "update trial
                 set status = 'running', reason = null, image_hash = null, ended = null,
                     owner = ?2, begun = ?3
                 where id = ?1 and status = 'failed'",
                params![id, this, seconds(SystemTime::now())],
            )
            .map_err(failed)?;
        if taken > 0 {
            transaction
                .execute("delete from measurement where trial = ?1", [id])
                .map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.checkpointer.written();
        Ok(taken > 0)
    }

    /// Stores how a trial ended that this process has taken, and what was measured: all of it, or
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError::Trial`] where it is not this process that does it, [`StoreError::NoNumber`],
    /// [`StoreError::Database`], also for a metric that is named twice.
    pub fn end(
        &mut self,
        id: i64,
        outcome: &Outcome,
        measurements: &[Measurement],
    ) -> Result<(), StoreError> {
        let this = Owner::this().map_err(StoreError::Process)?.to_string();
        let path = self.path.clone();
        let failed = |source| StoreError::database(&path, "written", source);
        let wrong = |found: String, expected| {
            Err(StoreError::Trial { path: path.clone(), id, found, expected })
        };
        if outcome.status == Status::Running {
            return wrong("to end as running".to_owned(), "done, failed or skipped");
        }
        let transaction = self.transaction()?;
        let taken = transaction
            .query_row("select status, owner from trial where id = ?1", [id], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
            })
            .optional()
            .map_err(failed)?;
        match taken {
            Some((status, owner))
                if status == Status::Running.name() && owner.as_ref() == Some(&this) => {}
            Some((status, _)) if status != Status::Running.name() => {
                return wrong(status, "one that runs");
            }
            Some(_) => return wrong("taken by another process".to_owned(), "taken by this one"),
            None => return wrong("not there".to_owned(), "one that was taken"),
        }
        transaction
            .prepare_cached(
                "update trial set status = ?2, reason = ?3, image_hash = ?4, ended = ?5, owner = null
                 where id = ?1",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    id,
                    outcome.status.name(),
                    outcome.reason,
                    outcome.image_hash,
                    seconds(SystemTime::now())
                ])
            })
            .map_err(failed)?;
        insert_measurements(&transaction, id, measurements, failed)?;
        transaction.commit().map_err(failed)?;
        self.checkpointer.written();
        Ok(())
    }

    /// Trials of an experiment, by number, `most` at once: those behind the number `after`, which is
    /// 0 for the first of them.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn trials(
        &self,
        experiment: i64,
        after: i64,
        most: usize,
    ) -> Result<Vec<Trial>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        // The sign keeps SQLite from the index by status, behind which all would have to be sorted.
        let condition = "+experiment = ?1 and id > ?2 order by id limit ?3";
        self.select_trials(condition, params![experiment, after, most])
    }

    /// Trials that have ended, of all experiments of a verb, by number, `most` at once: those behind the number `after`,
    /// which is 0 for the first of them.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn ended_trials(
        &self,
        verb: &str,
        after: i64,
        most: usize,
    ) -> Result<Vec<Trial>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let condition = "experiment in (select id from experiment where verb = ?1)
                         and status <> 'running' and id > ?2 order by id limit ?3";
        self.select_trials(condition, params![verb, after, most])
    }

    /// One trial, if there is one of this number.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn trial(&self, id: i64) -> Result<Option<Trial>, StoreError> {
        Ok(self.select_trials("id = ?1", params![id])?.pop())
    }

    /// How many trials of an experiment there are in each status that any is in.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn progress(&self, experiment: i64) -> Result<Vec<(Status, u64)>, StoreError> {
        let mut counts = Vec::new();
        for status in Status::ALL {
            let count: u64 = self
                .connection
                .prepare_cached("select count(*) from trial where experiment = ?1 and status = ?2")
                .and_then(|mut statement| {
                    statement.query_row(params![experiment, status.name()], |row| row.get(0))
                })
                .map_err(|source| self.read(source))?;
            counts.extend((count > 0).then_some((status, count)));
        }
        Ok(counts)
    }

    /// What was measured in a trial, by metric.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn measurements(&self, trial: i64) -> Result<Vec<Measurement>, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(Measurement { metric: row.get(0)?, unit: row.get(1)?, value: row.get(2)? })
        };
        self.connection
            .prepare_cached(
                "select metric, unit, value from measurement where trial = ?1 order by metric",
            )
            .and_then(|mut statement| statement.query_map([trial], read)?.collect())
            .map_err(|source| self.read(source))
    }

    fn select_trials(
        &self,
        condition: &str,
        parameters: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<Trial>, StoreError> {
        let query = format!("select {COLUMNS} from trial where {condition}");
        let raw: Vec<RawTrial> = self
            .connection
            .prepare_cached(&query)
            .and_then(|mut statement| statement.query_map(parameters, RawTrial::read)?.collect())
            .map_err(|source| self.read(source))?;
        raw.into_iter().map(|raw| self.decode_trial(raw)).collect()
    }

    fn decode_trial(&self, raw: RawTrial) -> Result<Trial, StoreError> {
        let status = Status::ALL.into_iter().find(|status| status.name() == raw.status);
        let damaged = |column| self.damaged(raw.experiment, column);
        Ok(Trial {
            id: raw.id,
            experiment: raw.experiment,
            name: TrialName {
                subject: raw.subject,
                variant: raw.variant,
                round: u32::try_from(raw.round).map_err(|_| damaged("round of a trial"))?,
            },
            status: status.ok_or_else(|| damaged("status of a trial"))?,
            reason: raw.reason,
            image_hash: raw.image_hash,
            begun: time(raw.begun),
            ended: raw.ended.map(time),
        })
    }
}

/// Stores trials that have ended, of an experiment that ended at the time `finished`.
pub(super) fn insert_ended(
    transaction: &Transaction<'_>,
    experiment: i64,
    finished: i64,
    trials: &[TrialEnd],
    failed: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<(), StoreError> {
    for TrialEnd { name, outcome, measurements } in trials {
        let id = transaction
            .prepare_cached(
                "insert into trial (experiment, subject, variant, round, status, reason, image_hash,
                     begun, ended)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
            )
            .and_then(|mut statement| {
                statement.insert(params![
                    experiment,
                    name.subject,
                    name.variant,
                    name.round,
                    outcome.status.name(),
                    outcome.reason,
                    outcome.image_hash,
                    finished
                ])
            })
            .map_err(&failed)?;
        insert_measurements(transaction, id, measurements, &failed)?;
    }
    Ok(())
}

fn insert_measurements(
    transaction: &Transaction<'_>,
    trial: i64,
    measurements: &[Measurement],
    failed: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<(), StoreError> {
    for Measurement { metric, unit, value } in measurements {
        if !value.is_finite() {
            return Err(StoreError::NoNumber { metric: metric.clone(), value: *value });
        }
        transaction
            .prepare_cached("insert into measurement values (?1, ?2, ?3, ?4)")
            .and_then(|mut statement| statement.execute(params![trial, metric, unit, value]))
            .map_err(&failed)?;
    }
    Ok(())
}

/// A row as SQLite gives it.
struct RawTrial {
    id: i64,
    experiment: i64,
    subject: String,
    variant: String,
    round: i64,
    status: String,
    reason: Option<String>,
    image_hash: Option<String>,
    begun: i64,
    ended: Option<i64>,
    owner: Option<String>,
}

impl RawTrial {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(RawTrial {
            id: row.get(0)?,
            experiment: row.get(1)?,
            subject: row.get(2)?,
            variant: row.get(3)?,
            round: row.get(4)?,
            status: row.get(5)?,
            reason: row.get(6)?,
            image_hash: row.get(7)?,
            begun: row.get(8)?,
            ended: row.get(9)?,
            owner: row.get(10)?,
        })
    }
}
