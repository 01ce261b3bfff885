//! The store of experiments: everything that was measured, with what it takes to repeat it.

mod error;
mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use serde::Serialize;
use serde_json::Value;

pub use error::StoreError;

/// Name of the store in a work directory.
pub const FILE: &str = "experiments.sqlite";

/// How long to wait for another process that is writing, before that is an error.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// An experiment of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
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

/// An open store. Each write is one transaction: a process that is killed leaves the store as it
/// was before or after it.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store, makes it where there is none, and brings an older one up to date.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] and [`StoreError::TooNew`] for files that are not ours to write,
    /// [`StoreError::Database`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, OpenFlags::default())
    }

    /// Opens a store that must be there already.
    ///
    /// # Errors
    /// [`StoreError::Absent`] where there is none; otherwise as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent { path: path.to_owned() });
        }
        Self::open_with(path, OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE)
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |source| StoreError::database(path, "opened", source);
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        schema::prepare(&mut connection, path)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Stores an experiment and gives its number.
    ///
    /// # Errors
    /// [`StoreError::Database`]; then nothing was stored.
    pub fn insert(&mut self, experiment: &Experiment) -> Result<i64, StoreError> {
        let seconds = experiment
            .finished
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        self.connection
            .execute(
                "insert into experiment (finished, verb, command, tools, seed, hashes, result)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    seconds,
                    experiment.verb,
                    serde_json::to_string(&experiment.command).map_err(StoreError::Json)?,
                    serde_json::to_string(&experiment.tools).map_err(StoreError::Json)?,
                    // As text: SQLite's integers end at half of what a seed can be.
                    experiment.seed.map(|seed| seed.to_string()),
                    serde_json::to_string(&experiment.hashes).map_err(StoreError::Json)?,
                    serde_json::to_string(&experiment.result).map_err(StoreError::Json)?,
                ],
            )
            .map_err(|source| StoreError::database(&self.path, "written", source))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// All experiments, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let failed = |source| StoreError::database(&self.path, "read", source);
        let mut statement = self
            .connection
            .prepare(
                "select id, strftime('%Y-%m-%dT%H:%M:%SZ', finished, 'unixepoch'), verb, command
                 from experiment order by id",
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

    /// One experiment.
    ///
    /// # Errors
    /// [`StoreError::Empty`] and [`StoreError::NoSuch`] where there is none,
    /// [`StoreError::Database`], [`StoreError::Damaged`].
    pub fn get(&self, which: Which) -> Result<Stored, StoreError> {
        const COLUMNS: &str = "select id, finished, verb, command, tools, seed, hashes, result";
        let (query, id) = match which {
            Which::Latest => (format!("{COLUMNS} from experiment order by id desc limit 1"), None),
            Which::Id(id) => (format!("{COLUMNS} from experiment where id = ?1"), Some(id)),
        };
        let raw = self
            .connection
            .query_row(&query, rusqlite::params_from_iter(id), Raw::read)
            .optional()
            .map_err(|source| StoreError::database(&self.path, "read", source))?;
        match (raw, id) {
            (Some(raw), _) => self.decode_all(raw),
            (None, None) => Err(StoreError::Empty { path: self.path.clone() }),
            (None, Some(id)) => Err(StoreError::NoSuch { path: self.path.clone(), id }),
        }
    }

    fn decode_all(&self, raw: Raw) -> Result<Stored, StoreError> {
        let id = raw.id;
        let seed = raw.seed.map(|text| text.parse());
        let experiment = Experiment {
            finished: UNIX_EPOCH + Duration::from_secs(u64::try_from(raw.finished).unwrap_or(0)),
            verb: raw.verb,
            command: self.decode(id, "command", &raw.command)?,
            tools: self.decode(id, "tools", &raw.tools)?,
            seed: seed.transpose().map_err(|_| self.damaged(id, "seed"))?,
            hashes: self.decode(id, "hashes", &raw.hashes)?,
            result: self.decode(id, "result", &raw.result)?,
        };
        Ok(Stored { id, experiment })
    }

    fn decode<T: serde::de::DeserializeOwned>(
        &self,
        id: i64,
        column: &'static str,
        text: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|_| self.damaged(id, column))
    }

    fn damaged(&self, id: i64, column: &'static str) -> StoreError {
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
