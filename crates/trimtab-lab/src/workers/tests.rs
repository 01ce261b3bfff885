//! Workers that are small scripts of a shell: they take jobs as any process on any machine would.

use std::fs;
use std::sync::atomic::AtomicU32;

use serde_json::json;

use super::*;
use crate::failure::Failure;

/// A process that does jobs: each is a number, which is given back. `before` is done with each job first;
/// `$TAKEN` is its file.
fn shell(folder: &Path, name: &str, before: &str) -> Job {
    let script = format!(
        "cd '{}' && : > ready/{name}\n\
         while ! [ -e end ]; do\n\
           for job in jobs/*; do\n\
             [ -e \"$job\" ] || continue\n\
             n=${{job#jobs/}}; TAKEN=taken/{name}.$n\n\
             mv \"$job\" \"$TAKEN\" 2>/dev/null || continue\n\
             {before}\n\
             printf '{{\"done\":%s}}' \"$(cat \"$TAKEN\")\" > done/.{name}\n\
             mv done/.{name} \"done/${{n%.*}}\"; rm -f \"$TAKEN\"\n\
           done\n\
           sleep 0.02\n\
         done\n",
        folder.display()
    );
    Job::new("a worker", "sh").args(["-c", &script])
}

/// So many workers that may take all the time that there is.
fn crew(count: usize) -> Crew {
    Crew { count, limit: LIFE }
}

#[test]
fn jobs_are_done_elsewhere_and_all_come_back() {
    let parent = tempfile::tempdir().unwrap();
    let command = |folder: &Path, _: usize, name: &str| shell(folder, name, ":");
    let workers = Workers::start(parent.path(), &json!("setup"), crew(2), command).unwrap();
    thread::scope(|scope| {
        for number in 0..20 {
            let workers = &workers;
            scope.spawn(move || {
                assert_eq!(workers.call(&json!(number)).unwrap(), json!(number));
            });
        }
    });
    assert_eq!(workers.restarted(), 0);
    drop(workers);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0, "nothing of the spool is left");
}

#[test]
fn what_a_worker_did_that_dies_is_done_by_another() {
    let parent = tempfile::tempdir().unwrap();
    // Every worker but those of the third try dies with the job that it has.
    let command = |folder: &Path, _: usize, name: &str| {
        shell(folder, name, "case $n in *.[01]) kill -9 $$;; esac")
    };
    let workers = Workers::start(parent.path(), &(), crew(2), command).unwrap();
    for number in [7, 8] {
        assert_eq!(workers.call(&json!(number)).unwrap(), json!(number));
    }
    assert!(workers.restarted() >= 3, "{}", workers.restarted());
}

#[test]
fn what_a_worker_does_that_hangs_is_done_by_another() {
    let parent = tempfile::tempdir().unwrap();
    let command = |folder: &Path, _: usize, name: &str| {
        shell(folder, name, "case $n in *.0) sleep 600;; esac")
    };
    let crew = Crew { count: 1, limit: Duration::from_secs(1) };
    let workers = Workers::start(parent.path(), &(), crew, command).unwrap();
    let start = Instant::now();
    assert_eq!(workers.call(&json!(7)).unwrap(), json!(7));
    assert!(start.elapsed() < Duration::from_secs(300));
    assert_eq!(workers.restarted(), 1);
}

#[test]
fn a_job_that_is_the_end_of_every_worker_fails_and_the_next_does_not() {
    let parent = tempfile::tempdir().unwrap();
    let command = |folder: &Path, _: usize, name: &str| {
        shell(folder, name, "grep -q 13 \"$TAKEN\" && kill -9 $$")
    };
    let workers = Workers::start(parent.path(), &(), crew(1), command).unwrap();
    let error = workers.call(&json!(13)).unwrap_err().to_string();
    assert!(error.starts_with("5 workers ended while they did it; the last: "), "{error}");
    assert_eq!(workers.call(&json!(4)).unwrap(), json!(4));
}

#[test]
fn workers_that_do_not_come_up_are_one_error() {
    let parent = tempfile::tempdir().unwrap();
    let begun = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&begun);
    let command = move |_: &Path, _: usize, _: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
        Job::new("a worker", "sh").args(["-c", "echo 'no such partition' >&2; exit 1"])
    };
    let workers = Workers::start(parent.path(), &(), crew(1), command).unwrap();
    let error = workers.call(&json!(1)).unwrap_err().to_string();
    assert!(error.starts_with("workers do not come up, 3 in a row: "), "{error}");
    assert!(error.contains("no such partition"), "{error}");
    assert_eq!(begun.load(Ordering::Relaxed), NEVER_READY);
}

#[test]
fn workers_that_do_not_come_up_do_not_stop_those_that_do() {
    let parent = tempfile::tempdir().unwrap();
    let command = |folder: &Path, slot: usize, name: &str| match slot == 0 {
        true => Job::new("a worker", "sh").args(["-c", "exit 1"]),
        false => shell(folder, name, ":"),
    };
    let workers = Workers::start(parent.path(), &(), crew(2), command).unwrap();
    let start = Instant::now();
    while workers.shared.slots.load(Ordering::SeqCst) > 1 {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not give up");
        thread::sleep(SOON);
    }
    assert_eq!(workers.call(&json!(5)).unwrap(), json!(5));
}

#[test]
fn what_a_worker_took_that_was_taken_for_dead_is_given_to_others_and_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::make(folder.path(), &()).unwrap();
    spool.give(0, &json!(1)).unwrap();
    let taken = spool.take("0-0").unwrap().unwrap();
    spool.put_back_strays().unwrap();
    assert_eq!(spool.take("0-1").unwrap(), None, "it may be alive");
    spool.dismiss("0-0").unwrap();
    spool.put_back_strays().unwrap();
    let again = spool.take("0-1").unwrap().unwrap();
    assert_eq!((again.number, &again.input), (0, &json!(1)));
    // Both say the same in the end.
    spool.finish(&taken, &JobOutcome::Done(json!(1))).unwrap();
    spool.finish(&again, &JobOutcome::Done(json!(1))).unwrap();
    assert_eq!(spool.outcome(0).unwrap(), Some(JobOutcome::Done(json!(1))));
    spool.give(1, &json!(2)).unwrap();
    Worker::new(folder.path(), "0-0").work(|_| bail!("it has left")).unwrap();
    assert_eq!(spool.outcome(1).unwrap(), None);
}

#[test]
fn a_worker_that_can_do_no_more_leaves_its_job_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::make(folder.path(), &()).unwrap();
    spool.give(0, &json!(1)).unwrap();
    let lost = |_| Err(Lost("the board is gone".to_owned()).into());
    let error = Worker::new(folder.path(), "0-0").work(lost).unwrap_err().to_string();
    assert_eq!(error, "the board is gone");
    assert_eq!(spool.outcome(0).unwrap(), None);
    spool.put_back("0-0", &error).unwrap();
    assert_eq!(spool.take("0-1").unwrap().unwrap().input, json!(1));
}

#[test]
fn only_spools_that_are_silent_for_a_day_are_left_behind() {
    let parent = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        Spool::make(&path, &()).unwrap();
        path
    };
    let (old, new, other) = (folder("workers-old"), folder("workers-new"), folder("other"));
    let two_days_ago = std::time::SystemTime::now() - Duration::from_secs(2 * 24 * 3600);
    for path in [&old, &other] {
        let beat = fs::File::options().write(true).open(path.join("beat")).unwrap();
        beat.set_modified(two_days_ago).unwrap();
    }
    spool::tidy(parent.path());
    assert_eq!([&old, &new, &other].map(|path| path.exists()), [false, true, true]);
}

#[test]
fn a_worker_says_what_went_wrong_and_leaves_when_nobody_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::make(folder.path(), &json!({"base": 5})).unwrap();
    spool.give(0, &json!(2)).unwrap();
    spool.give(1, &json!("two")).unwrap();
    let worker = Worker::new(folder.path(), "0-0").silence(Duration::from_millis(300));
    let setup: Value = worker.setup().unwrap();
    let one = |input: Value| match input.as_u64().zip(setup["base"].as_u64()) {
        Some((number, base)) => Ok(json!(base + number)),
        None => bail!("{input} is no number"),
    };
    // The spool does not beat.
    worker.work(one).unwrap();
    assert_eq!(spool.outcome(0).unwrap(), Some(JobOutcome::Done(json!(7))));
    let wrong = JobOutcome::Failed(Failure::new("\"two\" is no number"));
    assert_eq!(spool.outcome(1).unwrap(), Some(wrong));
    assert_eq!(spool.outcome(2).unwrap(), None);
    assert!(spool.is_ready("0-0") && !spool.is_ready("0-1"));
}
