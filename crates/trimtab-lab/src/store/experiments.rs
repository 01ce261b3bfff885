//! Experiments as they are stored: one run of a verb each, with its whole result.

use std::collections::BTreeMap;
use std::time::SystemTime;

use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;
use serde_json::Value;

use super::trials::{TrialEnd, insert_ended};
use super::{Store, StoreError, seconds, time};

/// An experiment that has ended, to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// When it ended; kept to the second.
    pub finished: SystemTime,
    /// What was done: `fit kernel`, `pages`.
    pub verb: String,
    /// The command line, one string an argument.
    pub command: Vec<String>,
    /// Versions of the tools that took part, by name.
    pub tools: BTreeMap<String, String>,
    /// The seed of its random choices, where it made any.
    pub seed: Option<u64>,
    /// SHA-256 of what went in and of what was built, by what it is.
    pub hashes: BTreeMap<String, String>,
    /// The result, as `--json` prints it.
    pub result: Value,
}

/// An experiment that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewExperiment {
    /// What is done: `probe bench`.
    pub verb: String,
    /// The command line, one string an argument.
    pub command: Vec<String>,
    /// Versions of the tools that take part, by name.
    pub tools: BTreeMap<String, String>,
    /// The seed of its random choices, where it makes any.
    pub seed: Option<u64>,
    /// SHA-256 of what goes in, by what it is.
    pub hashes: BTreeMap<String, String>,
}

/// An experiment of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredExperiment {
    /// Its number, from 1.
    pub id: i64,
    /// What was stored.
    pub experiment: Experiment,
}

/// One line of the list of experiments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Its number, from 1.
    pub id: i64,
    /// When it ended, as in `2025-01-31T12:00:00Z`.
    pub finished: String,
    /// What was done.
    pub verb: String,
    /// The command line, one string an argument.
    pub command: Vec<String>,
}

/// Which experiment is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The last one stored.
    Latest,
    /// The one of this number.
    Id(i64),
}

impl Store {
    /// Stores an experiment and gives its number.
    ///
    /// # Errors
    /// [`StoreError::Database`]; then nothing was stored.
    pub fn insert(&mut self, experiment: &Experiment) -> Result<i64, StoreError> {
        self.insert_with(experiment, &[])
    }

    /// Stores an experiment with its trials, whose begin is not known, and gives its number.
    ///
    /// # Errors
    /// [`StoreError::Database`], also for two trials of one name; [`StoreError::NoNumber`]. Then
    /// nothing was stored.
    pub fn insert_with(
        &mut self,
        experiment: &Experiment,
        trials: &[TrialEnd],
    ) -> Result<i64, StoreError> {
        let finished = seconds(experiment.finished);
        let path = self.path.clone();
        let failed = |source| StoreError::database(&path, "written", source);
        let transaction = self.transaction()?;
        transaction
            .execute(
                "insert into experiment (finished, verb, command, tools, seed, hashes, result)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    finished,
                    experiment.verb,
                    serde_json::to_string(&experiment.command).map_err(StoreError::Json)?,
                    serde_json::to_string(&experiment.tools).map_err(StoreError::Json)?,
                    // As text: SQLite's integers end at half of what a seed can be.
                    experiment.seed.map(|seed| seed.to_string()),
                    serde_json::to_string(&experiment.hashes).map_err(StoreError::Json)?,
                    serde_json::to_string(&experiment.result).map_err(StoreError::Json)?,
                ],
            )
            .map_err(failed)?;
        let id = transaction.last_insert_rowid();
        insert_ended(&transaction, id, finished, trials, failed)?;
        transaction.commit().map_err(failed)?;
        self.checkpointer.written();
        Ok(id)
    }

    /// Stores that an experiment is under way, and gives its number. Where the same was begun before
    /// and not finished, that is gone on with: its number is given, and that it is so.
    ///
    /// # Errors
    /// [`StoreError::Database`]; then nothing was stored.
    pub fn begin(&mut self, beginning: &NewExperiment) -> Result<(i64, bool), StoreError> {
        let json = |value| serde_json::to_string(value).map_err(StoreError::Json);
        let command = serde_json::to_string(&beginning.command).map_err(StoreError::Json)?;
        let (tools, hashes) = (json(&beginning.tools)?, json(&beginning.hashes)?);
        let seed = beginning.seed.map(|seed| seed.to_string());
        let path = self.path.clone();
        let failed = |source| StoreError::database(&path, "written", source);
        let transaction = self.transaction()?;
        let same = transaction
            .query_row(
                "select id from experiment where finished = 0 and verb = ?1 and command = ?2
                 and tools = ?3 and seed is ?4 and hashes = ?5 order by id desc limit 1",
                params![beginning.verb, command, tools, seed, hashes],
                |row| row.get(0),
            )
            .optional()
            .map_err(failed)?;
        if let Some(id) = same {
            return Ok((id, true));
        }
        transaction
            .execute(
                "insert into experiment (finished, verb, command, tools, seed, hashes, result)
                 values (0, ?1, ?2, ?3, ?4, ?5, 'null')",
                params![beginning.verb, command, tools, seed, hashes],
            )
            .map_err(failed)?;
        let id = transaction.last_insert_rowid();
        transaction.commit().map_err(failed)?;
        Ok((id, false))
    }

    /// Stores the result of an experiment that was under way.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`] where none of this number is under way, [`StoreError::Database`].
    pub fn finish(
        &mut self,
        id: i64,
        finished: SystemTime,
        result: &Value,
    ) -> Result<(), StoreError> {
        let result = serde_json::to_string(result).map_err(StoreError::Json)?;
        let changed = self
            .connection
            .execute(
                "update experiment set finished = ?2, result = ?3 where id = ?1 and finished = 0",
                params![id, seconds(finished), result],
            )
            .map_err(|source| self.written(source))?;
        match changed {
            0 => Err(StoreError::NoSuch { path: self.path.clone(), id }),
            _ => Ok(()),
        }
    }

    /// All experiments that are finished, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let failed = |source| self.read(source);
        let mut statement = self
            .connection
            .prepare(
                "select id, strftime('%Y-%m-%dT%H:%M:%SZ', finished, 'unixepoch'), verb, command
                 from experiment where finished > 0 order by id",
            )
            .map_err(failed)?;
        let rows = statement
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?))
            })
            .map_err(failed)?;
        rows.map(|row| {
            let (id, finished, verb, command) = row.map_err(failed)?;
            Ok(Summary { id, finished, verb, command: self.decode(id, "command", &command)? })
        })
        .collect()
    }

    /// One experiment, and by its number also one that is not finished: its result is null.
    ///
    /// # Errors
    /// [`StoreError::Empty`] and [`StoreError::NoSuch`] where there is none,
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn get(&self, which: Which) -> Result<StoredExperiment, StoreError> {
        const COLUMNS: &str = "select id, finished, verb, command, tools, seed, hashes, result";
        let (query, id) = match which {
            Which::Latest => (
                format!(
                    "{COLUMNS} from experiment where finished > 0
                 order by id desc limit 1"
                ),
                None,
            ),
            Which::Id(id) => (format!("{COLUMNS} from experiment where id = ?1"), Some(id)),
        };
        let raw = self
            .connection
            .query_row(&query, rusqlite::params_from_iter(id), Raw::read)
            .optional()
            .map_err(|source| self.read(source))?;
        match (raw, id) {
            (Some(raw), _) => self.decode_all(raw),
            (None, None) => Err(StoreError::Empty { path: self.path.clone() }),
            (None, Some(id)) => Err(StoreError::NoSuch { path: self.path.clone(), id }),
        }
    }

    fn decode_all(&self, raw: Raw) -> Result<StoredExperiment, StoreError> {
        let id = raw.id;
        let seed = raw.seed.map(|text| text.parse());
        let experiment = Experiment {
            finished: time(raw.finished),
            verb: raw.verb,
            command: self.decode(id, "command", &raw.command)?,
            tools: self.decode(id, "tools", &raw.tools)?,
            seed: seed.transpose().map_err(|_| self.damaged(id, "seed"))?,
            hashes: self.decode(id, "hashes", &raw.hashes)?,
            result: self.decode(id, "result", &raw.result)?,
        };
        Ok(StoredExperiment { id, experiment })
    }

    fn decode<T: serde::de::DeserializeOwned>(
        &self,
        id: i64,
        column: &'static str,
        text: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|_| self.damaged(id, column))
    }

    pub(super) fn damaged(&self, id: i64, column: &'static str) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), id, column }
    }
}

/// A row as SQLite gives it.
struct Raw {
    id: i64,
    finished: i64,
    verb: String,
    command: String,
    tools: String,
    seed: Option<String>,
    hashes: String,
    result: String,
}

impl Raw {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            finished: row.get(1)?,
            verb: row.get(2)?,
            command: row.get(3)?,
            tools: row.get(4)?,
            seed: row.get(5)?,
            hashes: row.get(6)?,
            result: row.get(7)?,
        })
    }
}
