//! The tables of the store, and how older ones are brought up to date.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, MAIN_DB, TransactionBehavior};

use super::StoreError;

/// Marks a database as ours, for us and for `file(1)`: the letters "trmt".
const APPLICATION: i64 = 0x7472_6d74;

/// What leads from each version of the schema to the next; the first one from an empty file.
/// Add to the end, never change what is here: it has run on users' machines.
const MIGRATIONS: &[&str] = &[EXPERIMENTS, TRIALS, FEWER_INDEXES];

const EXPERIMENTS: &str = "
    create table experiment (
        id       integer primary key autoincrement,
        finished integer not null, -- seconds since 1970
        verb     text not null,
        command  text not null,    -- JSON: [argument]
        tools    text not null,    -- JSON: {name: version}
        seed     text,             -- decimal
        hashes   text not null,    -- JSON: {what: SHA-256}
        result   text not null     -- JSON, as the verb prints it
    ) strict;
";

/// An experiment whose `finished` is 0 is under way since this version.
const TRIALS: &str = "
    create table trial (
        id         integer primary key autoincrement,
        experiment integer not null references experiment (id) on delete cascade,
        subject    text not null,
        variant    text not null,
        round      integer not null,
        status     text not null, -- as Status::name
        reason     text,          -- why it failed or was skipped
        image_hash text,          -- SHA-256 of what was measured
        owner      text,          -- the process that does it, while it is running
        begun      integer not null, -- seconds since 1970
        ended      integer,          -- seconds since 1970
        unique (experiment, subject, variant, round)
    ) strict;
    create index trial_image on trial (image_hash) where image_hash is not null;
    create index trial_variant on trial (variant, subject);
    create index trial_status on trial (experiment, status);
    create table measurement (
        trial  integer not null references trial (id) on delete cascade,
        metric text not null,
        unit   text not null,
        value  real not null,
        primary key (trial, metric)
    ) strict, without rowid;
";

/// Trials are looked for by their experiment alone.
const FEWER_INDEXES: &str = "
    drop index trial_image;
    drop index trial_variant;
";

/// Whether the file can be read as it is open now. What is no database at all can: what it is shows
/// later.
pub(super) fn is_readable(connection: &Connection) -> bool {
    match connection.query_row("pragma user_version", [], |_| Ok(())) {
        Err(error) => error.sqlite_error_code() != Some(ErrorCode::CannotOpen),
        Ok(()) => true,
    }
}

pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate(connection, path, MIGRATIONS)
}

fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), StoreError> {
    let opened = |source| StoreError::database(path, "opened", source);
    // Immediate: of two that open an old store at once, the second waits and finds it up to date.
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    if version(connection, path, known)? == known {
        return Ok(());
    }
    // What cannot be written is read as it is: experiments are stored alike in all versions.
    if connection.is_readonly(MAIN_DB).map_err(opened)? {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opened)?;
    let found = version(&transaction, path, known)?;
    let written = |source| StoreError::database(path, "brought up to date", source);
    for step in migrations.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step).map_err(written)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(written)?;
    transaction.pragma_update(None, "user_version", known).map_err(written)?;
    transaction.commit().map_err(written)
}

/// Version of the schema of a store; 0 for a file without any table.
fn version(connection: &Connection, path: &Path, known: i64) -> Result<i64, StoreError> {
    let opened = |source| StoreError::database(path, "opened", source);
    let number =
        |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).map_err(opened);
    let application = number("pragma application_id")?;
    let found = number("pragma user_version")?;
    let tables = number("select count(*) from sqlite_schema")?;
    let fresh = application == 0 && found == 0 && tables == 0;
    if application != APPLICATION && !fresh {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if found > known {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_store_is_brought_up_to_date_and_keeps_its_rows() {
        let path = Path::new("memory");
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, path, &["create table a (x)"]).unwrap();
        connection.execute("insert into a values (7)", []).unwrap();
        let newer = ["create table a (x)", "alter table a add y default 1"];
        migrate(&mut connection, path, &newer).unwrap();
        migrate(&mut connection, path, &newer).unwrap();
        let sum = connection.query_row("select x + y from a", [], |row| row.get::<_, i64>(0));
        assert_eq!(sum.unwrap(), 8);

        let error = migrate(&mut connection, path, &["create table a (x)"]).unwrap_err();
        assert!(error.to_string().contains("version 2, expected 1 or older"), "{error}");
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        let bad = ["create table a (x)", "no such statement"];
        assert!(migrate(&mut connection, Path::new("memory"), &bad).is_err());
        assert_eq!(version(&connection, Path::new("memory"), 2).unwrap(), 0);
    }
}
