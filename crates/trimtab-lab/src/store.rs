//! The store of experiments: everything that was measured, with what it takes to repeat it.
//!
//! An [`Experiment`] is one run of a verb, with its whole result. Where it consists of many runs that
//! are judged together, each is a [`Trial`] of it: a subject in a variant, measured in a round. So
//! they can be looked up, and an experiment that was killed goes on where it was:
//!
//! 1. [`Store::begin`] stores that the experiment is under way, or finds the one that was begun by the
//!    same command and not finished;
//! 2. [`Store::claim`] takes a trial, unless it is done or a process that still runs has taken it;
//! 3. [`Store::end`] stores how the trial ended and what was measured;
//! 4. [`Store::finish`] stores the experiment's result.
//!
//! Several processes may do so at once, each with its own [`Store`].

mod checkpoint;
mod error;
mod experiments;
mod owner;
mod schema;
mod trials;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::place::{refuse_link, refuse_shared};
use checkpoint::Checkpointer;
pub use error::StoreError;
pub use experiments::{Experiment, NewExperiment, StoredExperiment, Summary, Which};
pub use trials::{Claim, Measurement, Outcome, Status, Trial, TrialEnd, TrialName};

/// Name of the store in a work directory.
pub const FILE: &str = "experiments.sqlite";

/// How long to wait for another process that is writing, before that is an error.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open store. Each write is one transaction: a process that is killed leaves the store as it
/// was before or after it.
#[derive(Debug)]
pub struct Store {
    // Before the connection: the last one that is closed makes a checkpoint, and removes the log.
    checkpointer: Checkpointer,
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store, makes it where there is none, and brings an older one up to date.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] and [`StoreError::TooNew`] for files that are not ours to write,
    /// [`StoreError::Place`] for a folder that others can write to, and for links,
    /// [`StoreError::Database`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| folder.is_dir()) {
            refuse_shared(folder)?;
        }
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
        // SQLite would follow a link, and write where it leads.
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            refuse_link(Path::new(&name))?;
        }
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        if !schema::is_readable(&connection) {
            // On a disk that cannot be written there is no place for the files beside it that
            // writers share, and there are no writers.
            connection = Connection::open_with_flags(
                unchanging(path),
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            )
            .map_err(failed)?;
        }
        schema::prepare(&mut connection, path)?;
        write_ahead(&connection).map_err(failed)?;
        let checkpointer = Checkpointer::new(&connection, path).map_err(failed)?;
        Ok(Self { checkpointer, connection, path: path.to_owned() })
    }

    /// What was written, and by whom, is decided by what is read first: so no other may write
    /// meanwhile.
    fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|source| StoreError::database(&self.path, "written", source))
    }

    fn written(&self, source: rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, "written", source)
    }

    fn read(&self, source: rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, "read", source)
    }
}

/// The store as a file that nobody changes.
fn unchanging(path: &Path) -> String {
    let escaped: String = path
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                char::from(*byte).to_string()
            }
            byte => format!("%{byte:02x}"),
        })
        .collect();
    format!("file:{escaped}?immutable=1")
}

/// Has writers append to a log beside the store, so that they do not keep readers waiting.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let mode = connection.query_row("pragma journal_mode = wal", [], |row| row.get(0));
        match mode.map(|_: String| ()) {
            // SQLite does not wait here for another process that does the same.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => return Ok(()),
            Err(error) => return Err(error),
            Ok(()) => break,
        }
    }
    // The log keeps the store whole when a process is killed; only what was stored last may be lost
    // with the machine's power.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Seconds since 1970; at least 1, as 0 stands for what is not over.
fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(since).unwrap_or(i64::MAX).max(1)
}

fn time(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
