//! Checkpoints: moving what was written from the log into the store, beside those who write.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::PATIENCE;

/// Transactions from one checkpoint to the next. Each appends some 6 pages to the log.
const TRANSACTIONS: u32 = 200;

/// Pages of the log (64 MiB) at which those who write wait for a checkpoint: they write faster than the
/// disk takes it, or there is no thread.
const MOST_PAGES: u32 = 1 << 14;

/// A thread that makes checkpoints, from when there is enough for one.
///
/// A checkpoint waits until the disk has what it wrote, often for longer than all else that is done with
/// a store; nobody who writes need wait with it. It can fail without harm: the log keeps what it has,
/// and whoever closes the store last makes a checkpoint of it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    path: PathBuf,
    /// Transactions since the last checkpoint was asked for.
    transactions: u32,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
}

impl Checkpointer {
    /// For the store at `path`, which `connection` writes.
    pub(super) fn new(connection: &Connection, path: &Path) -> rusqlite::Result<Self> {
        connection.pragma_update(None, "wal_autocheckpoint", MOST_PAGES)?;
        Ok(Checkpointer { path: path.to_owned(), transactions: 0, thread: None })
    }

    /// Counts a transaction that was written, and asks for a checkpoint where it is time.
    pub(super) fn written(&mut self) {
        self.transactions += 1;
        if self.transactions < TRANSACTIONS {
            return;
        }
        self.transactions = 0;
        if self.thread.is_none() {
            let (sender, receiver) = mpsc::sync_channel(1);
            let path = self.path.clone();
            let thread = thread::Builder::new().spawn(move || checkpoint(&path, &receiver));
            self.thread = thread.ok().map(|thread| (sender, thread));
        }
        if let Some((sender, _)) = &self.thread {
            // One request that waits is enough: it will be for all that is there by then.
            let _ = sender.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Makes a checkpoint whenever one is asked for, until nobody can ask any more.
fn checkpoint(path: &Path, asked: &Receiver<()>) {
    let Ok(connection) = Connection::open(path) else { return };
    if connection.busy_timeout(PATIENCE).is_err() {
        return;
    }
    while asked.recv().is_ok() {
        // Passive: nobody waits for it, and it waits for nobody who reads or writes.
        let _ = connection.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{Store, TrialName};
    use super::*;

    #[test]
    fn what_was_written_reaches_the_store_while_it_is_open() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("experiments.sqlite");
        let mut store = Store::open(&path).unwrap();
        let (experiment, _) = store.begin(&super::super::NewExperiment::default()).unwrap();
        let size = || std::fs::metadata(&path).unwrap().len();
        let before = size();
        for number in 0..2 * TRANSACTIONS {
            store.claim(experiment, &TrialName::new("app", number.to_string())).unwrap();
        }
        let log = std::fs::metadata(root.path().join("experiments.sqlite-wal")).unwrap().len();
        assert!(log < u64::from(MOST_PAGES) * 4096, "SQLite made no checkpoint by itself");
        let start = Instant::now();
        while size() == before {
            assert!(start.elapsed() < Duration::from_secs(60), "there is no checkpoint");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn without_a_file_to_open_nothing_happens() {
        let connection = Connection::open_in_memory().unwrap();
        let mut checkpointer =
            Checkpointer::new(&connection, Path::new("/nonexistent/store")).unwrap();
        for _ in 0..3 * TRANSACTIONS {
            checkpointer.written();
        }
    }
}
