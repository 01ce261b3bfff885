//! Trials in the store: taken, ended, found again; by several processes, and after a kill.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use trimtab_lab::failure::Hint;
use trimtab_lab::store::{
    Claim, Experiment, Measurement, NewExperiment, Outcome, Status, Store, StoreError, TrialEnd,
    TrialName, Which,
};

fn beginning(command: &str) -> NewExperiment {
    NewExperiment {
        verb: "tune".to_owned(),
        command: vec!["trimtab".to_owned(), command.to_owned()],
        seed: Some(7),
        ..NewExperiment::default()
    }
}

fn yours(claim: Claim) -> i64 {
    match claim {
        Claim::Yours(id) => id,
        claim => panic!("{claim:?}"),
    }
}

/// Starts this file's `other_process` with a task, and waits until it says that it is under way.
fn other(path: &Path, task: &str) -> Child {
    let ready = path.with_extension(format!("{task}.ready"));
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "other_process", "--ignored"])
        .env("TRIMTAB_TEST_STORE", path)
        .env("TRIMTAB_TEST_TASK", task)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !ready.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the other process does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
#[ignore = "not a test: the process that tests below start"]
fn other_process() {
    let Some(path) = std::env::var_os("TRIMTAB_TEST_STORE") else { return };
    let task = std::env::var("TRIMTAB_TEST_TASK").unwrap();
    let path = Path::new(&path);
    let mut store = Store::open(path).unwrap();
    let (experiment, _) = store.begin(&beginning("shared")).unwrap();
    if task == "hold" {
        yours(store.claim(experiment, &TrialName::new("app", "held")).unwrap());
        std::fs::write(path.with_extension("hold.ready"), "").unwrap();
        std::thread::sleep(Duration::from_secs(600));
    }
    std::fs::write(path.with_extension(format!("{task}.ready")), "").unwrap();
    work(&mut store, experiment, &task);
}

/// Does all of 300 trials that nobody else has taken.
fn work(store: &mut Store, experiment: i64, who: &str) {
    for number in 0..300 {
        let name = TrialName::new("app", format!("flags {number}"));
        if let Claim::Yours(id) = store.claim(experiment, &name).unwrap() {
            let outcome = Outcome::done().image(format!("{who} {number}"));
            store.end(id, &outcome, &[Measurement::new("time", "s", f64::from(number))]).unwrap();
        }
    }
}

#[test]
fn a_trial_is_taken_ended_and_found_again() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let mut store = Store::open(&path).unwrap();
    let (experiment, again) = store.begin(&beginning("a")).unwrap();
    assert!(!again);
    let name = TrialName::new("sqlite", "-O2 -fno-inline").round(3);
    let id = yours(store.claim(experiment, &name).unwrap());
    // The same process may ask again: it forgot, perhaps after an error.
    assert_eq!(yours(store.claim(experiment, &name).unwrap()), id);
    let numbers = [Measurement::new("time", "s", 0.25), Measurement::new("size", "B", 4096.0)];
    store.end(id, &Outcome::done().image("00ff"), &numbers).unwrap();
    let failing = yours(store.claim(experiment, &name.clone().round(4)).unwrap());
    store.end(failing, &Outcome::failed("the build failed"), &[]).unwrap();
    let skipped = yours(store.claim(experiment, &TrialName::new("sqlite", "-O3")).unwrap());
    store.end(skipped, &Outcome::skipped("as trial 1").image("00ff"), &[]).unwrap();
    drop(store);

    let mut store = Store::open_existing(&path).unwrap();
    let Claim::Ended(trial) = store.claim(experiment, &name).unwrap() else { panic!() };
    assert_eq!((trial.id, trial.status, &trial.name), (id, Status::Done, &name));
    assert!(trial.ended.unwrap() >= trial.begun);
    assert_eq!(store.trial(id).unwrap(), Some(trial));
    assert_eq!(store.trial(99).unwrap(), None);
    let sorted = [numbers[1].clone(), numbers[0].clone()];
    assert_eq!(store.measurements(id).unwrap(), sorted);
    let ids = |trials: Vec<trimtab_lab::store::Trial>| {
        trials.into_iter().map(|trial| trial.id).collect::<Vec<_>>()
    };
    let failed = store.trial(failing).unwrap().unwrap();
    assert_eq!(failed.reason.as_deref(), Some("the build failed"));
    assert_eq!(ids(store.trials(experiment, 0, 2).unwrap()), [id, failing]);
    assert_eq!(ids(store.trials(experiment, failing, 2).unwrap()), [skipped]);
    let progress = [(Status::Done, 1), (Status::Failed, 1), (Status::Skipped, 1)];
    assert_eq!(store.progress(experiment).unwrap(), progress);
}

#[test]
fn an_experiment_is_stored_with_its_trials_or_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let mut store = Store::open(&root.path().join("experiments.sqlite")).unwrap();
    let experiment = Experiment {
        finished: SystemTime::UNIX_EPOCH + Duration::from_secs(1_738_324_800),
        verb: "fit kernel".to_owned(),
        command: vec!["trimtab".to_owned()],
        tools: [].into(),
        seed: None,
        hashes: [].into(),
        result: json!({"a": 1}),
    };
    let trial = |variant: &str, outcome, measurements| TrialEnd {
        name: TrialName::new("2 CPUs", variant),
        outcome,
        measurements,
    };
    let wall = Measurement::new("wall time", "s", 1.5);
    let trials = [
        trial("as built", Outcome::done().image("00ff"), vec![wall.clone()]),
        trial("laid out", Outcome::failed("the guest hangs"), Vec::new()),
    ];
    let id = store.insert_with(&experiment, &trials).unwrap();
    let found = store.trials(id, 0, 9).unwrap();
    assert_eq!(
        found.iter().map(|trial| trial.status).collect::<Vec<_>>(),
        [Status::Done, Status::Failed]
    );
    assert_eq!(found[1].reason.as_deref(), Some("the guest hangs"));
    assert_eq!(found[0].ended, Some(experiment.finished));
    assert_eq!(store.measurements(found[0].id).unwrap(), [wall]);
    assert_eq!(found[0].image_hash.as_deref(), Some("00ff"));

    let same = [trials[0].clone(), trials[0].clone()];
    assert!(store.insert_with(&experiment, &same).is_err());
    let infinite = Measurement::new("wall time", "s", f64::INFINITY);
    let infinite = [trial("as built", Outcome::done(), vec![infinite])];
    assert!(matches!(store.insert_with(&experiment, &infinite), Err(StoreError::NoNumber { .. })));
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(store.insert(&experiment).unwrap(), id + 1, "what failed left nothing");
}

#[test]
fn an_experiment_goes_on_until_it_is_finished() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let (id, _) = Store::open(&path).unwrap().begin(&beginning("a")).unwrap();
    let mut store = Store::open(&path).unwrap();
    assert!(store.list().unwrap().is_empty(), "it is not finished");
    assert!(matches!(store.get(Which::Latest), Err(StoreError::Empty { .. })));
    assert_eq!(store.get(Which::Id(id)).unwrap().experiment.result, json!(null));
    assert_eq!(store.begin(&beginning("a")).unwrap(), (id, true));
    for other in [
        beginning("b"),
        NewExperiment { seed: None, ..beginning("a") },
        NewExperiment { hashes: [("in".to_owned(), "00".to_owned())].into(), ..beginning("a") },
    ] {
        assert!(!store.begin(&other).unwrap().1, "{other:?}");
    }
    store.finish(id, SystemTime::now(), &json!({"best": 1})).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(store.get(Which::Latest).unwrap().experiment.result, json!({"best": 1}));
    assert!(matches!(
        store.finish(id, SystemTime::now(), &json!(null)),
        Err(StoreError::NoSuch { .. })
    ));
    assert_ne!(store.begin(&beginning("a")).unwrap(), (id, true), "that one is finished");
}

#[test]
fn what_cannot_be_stored_leaves_the_trial_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let mut store = Store::open(&root.path().join("experiments.sqlite")).unwrap();
    let (experiment, _) = store.begin(&beginning("a")).unwrap();
    let id = yours(store.claim(experiment, &TrialName::new("a", "b")).unwrap());
    let one = |value| Measurement::new("time", "s", value);
    let error = store.end(id, &Outcome::done(), &[one(1.0), one(f64::NAN)]).unwrap_err();
    assert!(error.to_string().starts_with("the value of time cannot be stored: it is NaN"));
    assert!(store.end(id, &Outcome::done(), &[one(1.0), one(2.0)]).is_err(), "named twice");
    assert_eq!(store.trial(id).unwrap().unwrap().status, Status::Running);
    assert!(store.measurements(id).unwrap().is_empty());
    let running = Outcome { status: Status::Running, ..Outcome::done() };
    assert!(matches!(store.end(id, &running, &[]), Err(StoreError::Trial { .. })));
    store.end(id, &Outcome::done(), &[one(1.0)]).unwrap();
    let error = store.end(id, &Outcome::done(), &[]).unwrap_err().to_string();
    assert!(error.ends_with("is done, expected one that runs"), "{error}");
    let error = store.end(id + 1, &Outcome::done(), &[]).unwrap_err().to_string();
    assert!(error.ends_with("is not there, expected one that was taken"), "{error}");
    assert!(store.claim(99, &TrialName::new("a", "b")).is_err(), "there is no such experiment");
}

#[test]
fn only_a_trial_that_failed_is_done_again() {
    let root = tempfile::tempdir().unwrap();
    let mut store = Store::open(&root.path().join("experiments.sqlite")).unwrap();
    let (experiment, _) = store.begin(&beginning("a")).unwrap();
    let name = TrialName::new("a", "b");
    let id = yours(store.claim(experiment, &name).unwrap());
    assert!(!store.reopen(id).unwrap(), "it runs");
    let limit = Measurement::new("limit", "s", 5.0);
    store.end(id, &Outcome::failed("slow").image("abc"), &[limit]).unwrap();
    assert!(store.reopen(id).unwrap());
    let trial = store.trial(id).unwrap().unwrap();
    assert_eq!((trial.status, trial.reason, trial.image_hash), (Status::Running, None, None));
    assert!(store.measurements(id).unwrap().is_empty());
    assert_eq!(yours(store.claim(experiment, &name).unwrap()), id, "this process has it");
    store.end(id, &Outcome::done(), &[]).unwrap();
    assert!(!store.reopen(id).unwrap(), "it is done");
    assert!(!store.reopen(id + 1).unwrap(), "it is not there");
}

#[test]
fn a_trial_of_a_process_that_was_killed_is_taken_again() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let mut child = other(&path, "hold");
    let mut store = Store::open(&path).unwrap();
    let (experiment, again) = store.begin(&beginning("shared")).unwrap();
    assert!(again);
    let name = TrialName::new("app", "held");
    let taken = Claim::Taken { process: child.id(), host: None };
    assert_eq!(store.claim(experiment, &name).unwrap(), taken);
    child.kill().unwrap();
    child.wait().unwrap();
    let id = yours(store.claim(experiment, &name).unwrap());
    store.end(id, &Outcome::done(), &[]).unwrap();
    assert_eq!(store.progress(experiment).unwrap(), [(Status::Done, 1)]);
}

#[test]
fn of_a_trial_that_another_host_does_it_is_known_who_does_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let mut store = Store::open(&path).unwrap();
    let (experiment, _) = store.begin(&beginning("a")).unwrap();
    let name = TrialName::new("app", "held");
    yours(store.claim(experiment, &name).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("update trial set owner = 'elsewhere boot 17 5'", []).unwrap();
    let taken = Claim::Taken { process: 17, host: Some("elsewhere".to_owned()) };
    assert_eq!(store.claim(experiment, &name).unwrap(), taken);
    store.give_back(None).unwrap();
    assert_eq!(store.claim(experiment, &name).unwrap(), taken, "it is no trial of this process");
}

#[test]
fn a_trial_that_is_given_back_is_as_if_it_had_not_been_taken() {
    let root = tempfile::tempdir().unwrap();
    let mut store = Store::open(&root.path().join("experiments.sqlite")).unwrap();
    let (experiment, _) = store.begin(&beginning("a")).unwrap();
    let [one, two, done] = ["one", "two", "done"]
        .map(|name| yours(store.claim(experiment, &TrialName::new("app", name)).unwrap()));
    store.end(done, &Outcome::done(), &[]).unwrap();
    let mut gives_back = |trial, left: &[(Status, u64)]| {
        store.give_back(trial).unwrap();
        assert_eq!(store.progress(experiment).unwrap(), left, "{trial:?}");
    };
    gives_back(Some(done), &[(Status::Running, 2), (Status::Done, 1)]);
    gives_back(Some(one), &[(Status::Running, 1), (Status::Done, 1)]);
    gives_back(None, &[(Status::Done, 1)]);
    assert!(store.end(two, &Outcome::done(), &[]).is_err());
}

#[test]
fn processes_that_write_at_once_share_the_work() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    let mut children = ["one", "two"].map(|who| other(&path, who));
    let mut store = Store::open(&path).unwrap();
    let (experiment, _) = store.begin(&beginning("shared")).unwrap();
    work(&mut store, experiment, "here");
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let trials = store.trials(experiment, 0, 1000).unwrap();
    assert_eq!(store.progress(experiment).unwrap(), [(Status::Done, 300)]);
    let numbers: BTreeSet<_> = trials
        .iter()
        .map(|trial| {
            let measured = store.measurements(trial.id).unwrap();
            assert_eq!(measured.len(), 1, "{trial:?}");
            let image = trial.image_hash.clone().unwrap();
            let number: f64 = image.rsplit_once(' ').unwrap().1.parse().unwrap();
            assert_eq!(measured[0].value, number);
            measured[0].value as u32
        })
        .collect();
    assert_eq!(numbers.len(), 300);
}

/// A store as the first version of its schema had it, with one experiment.
fn old_store(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "create table experiment (
                id integer primary key autoincrement, finished integer not null,
                verb text not null, command text not null, tools text not null, seed text,
                hashes text not null, result text not null) strict;
             insert into experiment values
                (3, 1738324800, 'fit kernel', '[\"trimtab\"]', '{}', '7', '{}', '{\"a\": 1}');
             pragma application_id = 0x74726d74;
             pragma user_version = 1;",
        )
        .unwrap();
}

#[test]
fn a_store_of_before_opens_lists_and_takes_trials() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    old_store(&path);
    let mut store = Store::open_existing(&path).unwrap();
    assert_eq!(store.list().unwrap()[0].finished, "2025-01-31T12:00:00Z");
    let stored = store.get(Which::Latest).unwrap();
    assert_eq!((stored.id, stored.experiment.seed), (3, Some(7)));
    assert_eq!(stored.experiment.result, json!({"a": 1}));
    let (experiment, _) = store.begin(&beginning("a")).unwrap();
    assert_eq!(experiment, 4);
    yours(store.claim(experiment, &TrialName::new("a", "b")).unwrap());
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("experiments.sqlite");
    old_store(&path);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with(
            "was written by a newer trimtab: its schema is version 99, expected 3 or older"
        ),
        "{text}"
    );
    assert_eq!(error.hint().unwrap(), "use that newer trimtab");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn stores_that_cannot_be_written_are_read() {
    let root = tempfile::tempdir().unwrap();
    let (old, new) = (root.path().join("old ?%#.sqlite"), root.path().join("new.sqlite"));
    old_store(&old);
    let mut store = Store::open(&new).unwrap();
    let (id, _) = store.begin(&beginning("a")).unwrap();
    store.finish(id, SystemTime::now(), &json!(1)).unwrap();
    drop(store);
    // Root writes anywhere but where nothing can be written.
    if nix::unistd::geteuid().is_root() {
        let options = format!("{}", root.path().display());
        let bind = |arguments: &[&str]| {
            Command::new("mount").args(arguments).stderr(Stdio::null()).status().unwrap().success()
        };
        if !bind(&["--bind", &options, &options]) {
            eprintln!("nothing can be mounted here: nothing was tested");
            return;
        }
        let read_only = bind(&["-o", "remount,bind,ro", &options]);
        let lists = [&old, &new].map(|path| Store::open_existing(path).and_then(|s| s.list()));
        assert!(Command::new("umount").arg(root.path()).status().unwrap().success());
        assert!(read_only);
        for list in lists {
            assert_eq!(list.unwrap().len(), 1);
        }
    } else {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for path in [&old, &new] {
            mode(path, 0o444);
        }
        mode(root.path(), 0o555);
        let lists = [&old, &new].map(|path| Store::open_existing(path).and_then(|s| s.list()));
        mode(root.path(), 0o755);
        for list in lists {
            assert_eq!(list.unwrap().len(), 1);
        }
    }
}
