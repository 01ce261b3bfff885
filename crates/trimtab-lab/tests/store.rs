//! The store of experiments: kept, listed, killed, foreign.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use trimtab_lab::failure::Hint;
use trimtab_lab::store::{Experiment, Store, StoreError, Which};

fn experiment(verb: &str) -> Experiment {
    Experiment {
        finished: UNIX_EPOCH + Duration::from_secs(1_738_324_800),
        verb: verb.to_owned(),
        command: vec!["trimtab".to_owned(), verb.to_owned(), "a b".to_owned()],
        tools: BTreeMap::from([("clang".to_owned(), "22.1.8".to_owned())]),
        seed: Some(u64::MAX),
        hashes: BTreeMap::from([("source".to_owned(), "00ff".to_owned())]),
        result: json!({"schema": "trimtab.fit.kernel/1", "touched": {"before": 810}}),
    }
}

#[test]
fn what_is_stored_is_there_later() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let mut store = Store::open(&path).unwrap();
    assert!(matches!(store.get(Which::Latest), Err(StoreError::Empty { .. })));
    let first = store.insert(&experiment("fit kernel")).unwrap();
    let second = store.insert(&experiment("pages")).unwrap();
    drop(store);

    let store = Store::open_existing(&path).unwrap();
    assert_eq!(store.get(Which::Id(first)).unwrap().experiment, experiment("fit kernel"));
    assert_eq!(store.get(Which::Latest).unwrap().id, second);
    let list = store.list().unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(list[0].finished, "2025-01-31T12:00:00Z");
    assert_eq!(list[1].command, ["trimtab", "pages", "a b"]);
    let error = store.get(Which::Id(99)).unwrap_err();
    assert!(error.to_string().starts_with("there is no experiment 99 in "), "{error}");
}

#[test]
fn looking_for_a_store_does_not_make_one() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let error = Store::open_existing(&path).unwrap_err();
    assert!(error.to_string().starts_with("there are no experiments yet"), "{error}");
    assert!(!path.exists());
}

#[test]
fn files_of_others_are_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    fs::write(
        &path,
        "this is a text file, and long enough to be taken for a header of SQLite".repeat(9),
    )
    .unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(error.hint().unwrap().contains("move the file away"), "{error}");

    let path = root.path().join("other.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute("create table songs (name)", []).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })));
}

#[test]
fn links_are_not_followed_nor_shared_folders_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let (path, outside) = (folder.path().join("store"), folder.path().join("outside"));
    for name in ["store", "store-wal", "store-journal"] {
        std::fs::write(&outside, "mine").unwrap();
        std::os::unix::fs::symlink(&outside, folder.path().join(name)).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(error.to_string().contains("is a link to"), "{error}");
        assert_eq!(std::fs::read(&outside).unwrap(), b"mine");
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    drop(Store::open(&path).unwrap());
    let shared = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), shared).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(error.to_string().starts_with("others can write to"), "{error}");
}

#[test]
fn a_damaged_row_is_an_error_not_a_crash() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    Store::open(&path).unwrap().insert(&experiment("pages")).unwrap();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("update experiment set result = '{\"half'", [])
        .unwrap();
    let error = Store::open(&path).unwrap().get(Which::Latest).unwrap_err();
    assert!(error.to_string().ends_with("is damaged: its result cannot be read"), "{error}");
}

#[test]
fn killed_while_writing_the_store_stays_whole() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let mut stored = 0;
    for round in 1..6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process", "--ignored"])
            .env("TRIMTAB_TEST_STORE", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(40 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let list = Store::open(&path).unwrap().list().unwrap();
        assert!(list.len() >= stored, "some were lost");
        stored = list.len();
    }
    assert!(stored > 0, "none was ever stored");
}

#[test]
#[ignore = "not a test: the process that the test above starts and kills: cargo test -p trimtab-lab --test store"]
fn other_process() {
    let Some(path) = std::env::var_os("TRIMTAB_TEST_STORE") else { return };
    let mut store = Store::open(Path::new(&path)).unwrap();
    loop {
        store.insert(&experiment("fit kernel")).unwrap();
    }
}
