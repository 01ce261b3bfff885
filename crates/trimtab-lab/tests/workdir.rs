//! Work directories of processes that are killed, that meet each other, and that run out of space.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Hint;
use trimtab_lab::place::PlaceError;
use trimtab_lab::workdir::{OpenStep, Step, WorkDir, WorkError};

fn key() -> Key {
    Key::new("test").field("config", "lab")
}

fn todo(step: Step) -> OpenStep {
    match step {
        Step::Todo(building) => building,
        Step::Done(path) => panic!("{} is done", path.display()),
    }
}

fn done(step: Step) -> Option<PathBuf> {
    match step {
        Step::Done(path) => Some(path),
        Step::Todo(_) => None,
    }
}

fn count(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_step_is_built_once() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    let building = todo(work.step("build", &key()).unwrap());
    fs::write(building.path().join("result"), "42").unwrap();
    let path = building.finish().unwrap();
    assert_eq!(fs::read(path.join("result")).unwrap(), b"42");
    assert_eq!(done(work.step("build", &key()).unwrap()), Some(path.clone()));
    drop(work);

    let work = WorkDir::open(root.path()).unwrap();
    assert_eq!(done(work.step("build", &key()).unwrap()), Some(path));
    assert_eq!(done(work.step("boot", &key()).unwrap()), None);
}

#[test]
fn what_is_not_kept_goes_also_where_the_process_was_killed() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    let (first, second) = (work.scratch().unwrap(), work.scratch().unwrap());
    assert_ne!(first.path(), second.path());
    let (gone, left) = (first.path().to_owned(), second.keep());
    drop(first);
    assert!(!gone.exists());
    fs::write(left.join("console.log"), "half a boot").unwrap();
    drop(work);
    WorkDir::open(root.path()).unwrap();
    assert!(!left.exists());
}

#[test]
fn another_key_is_another_step() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    let first = todo(work.step("build", &key()).unwrap()).finish().unwrap();
    let other = key().field("config", "tiny");
    let second = todo(work.step("build", &other).unwrap()).finish().unwrap();
    assert_ne!(first, second);
    assert_eq!(done(work.step("build", &key()).unwrap()), Some(first));
}

#[test]
fn a_step_that_failed_is_not_done_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    let building = todo(work.step("build", &key()).unwrap());
    fs::write(building.path().join("half"), "").unwrap();
    drop(building);
    assert_eq!(count(&root.path().join("building")), 0);
    assert_eq!(done(work.step("build", &key()).unwrap()), None);
}

#[test]
fn a_step_of_many_files_is_kept_whole() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    let building = todo(work.step("unpack", &key()).unwrap());
    for index in 0..200 {
        let directory = building.path().join(format!("{}", index % 7));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{index}")), "").unwrap();
    }
    let path = building.finish().unwrap();
    assert_eq!((0..7).map(|index| count(&path.join(format!("{index}")))).sum::<usize>(), 200);
}

#[test]
fn a_resumable_step_keeps_its_path_and_its_work() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    let building = todo(work.resumable("tree", &key()).unwrap());
    let path = building.path().to_owned();
    assert!(!building.resumed());
    fs::write(path.join("object"), "").unwrap();
    drop(building);
    drop(work);

    let work = WorkDir::open(root.path()).unwrap();
    let building = todo(work.resumable("tree", &key()).unwrap());
    assert!(building.resumed() && path.join("object").exists());
    assert_eq!(building.finish().unwrap(), path);
    assert_eq!(done(work.resumable("tree", &key()).unwrap()), Some(path));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkDir::open(root.path()).unwrap();
    for name in ["", "..", "a/b", "Build", "é"] {
        assert!(matches!(work.step(name, &key()), Err(WorkError::Name { .. })), "{name}");
    }
}

#[test]
fn a_directory_with_other_things_in_it_is_refused() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("building")).unwrap();
    fs::write(root.path().join("building/thesis"), "").unwrap();
    let error = WorkDir::open(root.path()).unwrap_err();
    assert!(error.to_string().ends_with("it holds building and no .trimtab-lock"), "{error}");
    assert!(root.path().join("building/thesis").exists());
}

/// Opens a directory after `prepare`, and says why that was refused. The file outside is as it was.
fn refused(prepare: impl FnOnce(&Path, &Path)) -> WorkError {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("work"), folder.path().join("outside"));
    drop(WorkDir::open(&root).unwrap());
    fs::write(&outside, "mine").unwrap();
    prepare(&root, &outside);
    let error = match WorkDir::open(&root) {
        Err(error) => error,
        Ok(work) => work.resumable("tree", &key()).unwrap_err(),
    };
    assert_eq!(fs::read(&outside).unwrap(), b"mine");
    assert!(error.hint().is_none_or(|hint| hint.contains("--work")), "{error}");
    error
}

#[test]
fn links_in_a_directory_are_not_followed() {
    for name in [".trimtab-lock", "hashes.json", "steps", "building", "traces", "tools", "start"] {
        for there in [true, false] {
            let error = refused(|root, outside| {
                let path = root.join(name);
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                let target = if there { outside.to_owned() } else { outside.join("none") };
                symlink(target, &path).unwrap();
            });
            assert!(matches!(error, WorkError::Place(PlaceError::Link { .. })), "{name}: {error}");
        }
    }
    // A hard link is the same file under another name.
    let error = refused(|root, outside| {
        fs::remove_file(root.join(".trimtab-lock")).unwrap();
        fs::hard_link(outside, root.join(".trimtab-lock")).unwrap();
    });
    assert!(error.to_string().contains("has another name elsewhere"), "{error}");
}

#[test]
fn links_in_what_is_taken_up_again_do_not_lead_out() {
    let begin = |root: &Path| {
        let work = WorkDir::open(root).unwrap();
        todo(work.resumable("tree", &key()).unwrap()).path().to_owned()
    };
    for name in ["record.json", "deep/object.o"] {
        let error = refused(|root, outside| {
            let step = begin(root);
            fs::create_dir(step.join("deep")).unwrap();
            symlink(outside, step.join(name)).unwrap();
        });
        assert!(matches!(error, WorkError::Place(PlaceError::Link { .. })), "{name}: {error}");
    }
    for target in ["../../../outside", "../../../not-there"] {
        let error = refused(|root, _| symlink(target, begin(root).join("made")).unwrap());
        assert!(matches!(error, WorkError::Place(PlaceError::Link { .. })), "{error}");
    }
    let error = refused(|root, outside| {
        let step = begin(root);
        fs::remove_dir(&step).unwrap();
        symlink(outside.parent().unwrap(), step).unwrap();
    });
    assert!(matches!(error, WorkError::Place(PlaceError::Link { .. })), "{error}");
    // A kernel's build links to its source.
    let root = tempfile::tempdir().unwrap();
    let step = begin(root.path());
    symlink(root.path().canonicalize().unwrap().join("steps"), step.join("source")).unwrap();
    symlink("made-later", step.join("dangling")).unwrap();
    assert_eq!(begin(root.path()), step);
}

#[test]
fn links_in_what_is_done_do_not_lead_out() {
    // What make builds in again and again stays open to whoever can write there in between.
    for name in ["object.o", ".trimtab-step.json"] {
        let error = refused(|root, outside| {
            let work = WorkDir::open(root).unwrap();
            let building = todo(work.resumable("tree", &key()).unwrap());
            fs::write(building.path().join("object.o"), "built").unwrap();
            let step = building.finish().unwrap();
            assert!(done(work.resumable("tree", &key()).unwrap()).is_some());
            fs::remove_file(step.join(name)).unwrap();
            symlink(outside, step.join(name)).unwrap();
        });
        assert!(matches!(error, WorkError::Place(PlaceError::Link { .. })), "{name}: {error}");
    }
    // A step that is whole once for all may hold links, such as a guest's files do, but is none itself.
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("work"), folder.path().join("outside"));
    let work = WorkDir::open(&root).unwrap();
    let building = todo(work.step("tree", &key()).unwrap());
    symlink("/bin/sh", building.path().join("shell")).unwrap();
    let step = building.finish().unwrap();
    assert!(done(work.step("tree", &key()).unwrap()).is_some());
    fs::rename(&step, &outside).unwrap();
    symlink(&outside, &step).unwrap();
    let error = work.step("tree", &key()).unwrap_err();
    assert!(matches!(error, WorkError::Place(PlaceError::Link { .. })), "{error}");
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    let open = |mode: u32, at: &str| {
        let root = tempfile::tempdir().unwrap();
        drop(WorkDir::open(root.path()).unwrap());
        fs::set_permissions(root.path().join(at), fs::Permissions::from_mode(mode)).unwrap();
        WorkDir::open(root.path()).map(|_| ())
    };
    for at in ["", "steps"] {
        for mode in [0o777, 0o1777, 0o757, 0o702] {
            let error = open(mode, at).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with("others can write to ") && text.contains(&format!("{mode:o}"))
            );
            assert!(error.hint().unwrap().starts_with("chmod go-w "), "{error}");
        }
        for mode in [0o755, 0o700, 0o750] {
            open(mode, at).unwrap();
        }
    }
    // A group of others.
    let root = tempfile::tempdir().unwrap();
    if chown(root.path(), None, Some(12345)).is_ok() {
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o770)).unwrap();
        let error = WorkDir::open(root.path()).unwrap_err();
        assert!(
            matches!(error, WorkError::Place(PlaceError::Shared { mode: 0o770, .. })),
            "{error}"
        );
    }
    // In a folder for all, as /tmp is, there are directories of one's own.
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    WorkDir::open(&root.path().join("own")).unwrap();
    WorkDir::open(&root.path().join("further/own")).unwrap();
    // Without the sticky bit others put a directory of theirs in the place of one's own, however deep.
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for own in ["own", "further/own"] {
        let error = WorkDir::open(&root.path().join(own)).unwrap_err();
        let expected =
            matches!(error, WorkError::Place(PlaceError::Replaceable { mode: 0o777, .. }));
        assert!(expected, "{error}");
        assert!(error.hint().unwrap().contains("chmod o-w"), "{error}");
    }
    // Where others do not come, they replace nothing.
    let private = tempfile::tempdir().unwrap();
    fs::set_permissions(private.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let open = private.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    WorkDir::open(&open.join("own")).unwrap();
}

#[test]
fn two_at_a_time_do_not_meet() {
    let root = tempfile::tempdir().unwrap();
    let mut other = Other::start("hold", root.path());
    let error = WorkDir::open(root.path()).unwrap_err();
    let expected = format!("another trimtab (process {}) is working in", other.child.id());
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(error.hint().unwrap().contains("--work"));
    other.kill();
    WorkDir::open(root.path()).unwrap();
}

#[test]
fn a_process_killed_half_way_leaves_no_half_result() {
    let root = tempfile::tempdir().unwrap();
    let mut other = Other::start("hold", root.path());
    assert_eq!(count(&root.path().join("building")), 1);
    other.kill();
    let work = WorkDir::open(root.path()).unwrap();
    assert_eq!(count(&root.path().join("building")), 0, "the next one clears up");
    assert_eq!(done(work.step("build", &key()).unwrap()), None);
    let building = todo(work.resumable("tree", &key()).unwrap());
    assert!(building.resumed() && building.path().join("object").exists());
}

/// Kills at many points of a process that builds step after step: what counts as done is whole.
#[test]
fn killed_anywhere_what_is_done_is_whole() {
    let root = tempfile::tempdir().unwrap();
    let mut whole = 0;
    for round in 0..12 {
        let mut other = Other::start("build-many", root.path());
        std::thread::sleep(std::time::Duration::from_millis(7 * round));
        other.kill();
        let work = WorkDir::open(root.path()).unwrap();
        for index in 0..1000 {
            let Step::Done(path) = work.step("many", &key().field("index", index)).unwrap() else {
                break;
            };
            for file in 0..5 {
                assert_eq!(fs::read(path.join(format!("{file}"))).unwrap(), vec![7; 10_000]);
            }
            whole = whole.max(index + 1);
        }
    }
    assert!(whole > 0, "none was ever finished");
}

#[test]
fn running_out_of_space_leaves_no_half_result() {
    let root = tempfile::tempdir().unwrap();
    let mut other = Other::start("no-space", root.path());
    assert!(other.child.wait().unwrap().success());
    let work = WorkDir::open(root.path()).unwrap();
    assert_eq!(done(work.step("build", &key()).unwrap()), None);
    assert_eq!(count(&root.path().join("steps")), 0);
}

/// Another process: this test program again, in the role that `other_process` plays.
struct Other {
    child: Child,
}

impl Other {
    /// Starts it and waits until it says that it is where it should be.
    fn start(role: &str, root: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "other_process", "--ignored", "--nocapture"])
            .env("TRIMTAB_TEST_ROLE", role)
            .env("TRIMTAB_TEST_ROOT", root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap().ends_with("ready")), "{role} failed");
        Self { child }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "not a test: the other process of the tests above"]
fn other_process() {
    let Some(root) = std::env::var_os("TRIMTAB_TEST_ROOT") else { return };
    let work = WorkDir::open(Path::new(&root)).unwrap();
    let ready = || {
        println!("\nready");
        std::io::stdout().flush().unwrap();
    };
    match std::env::var("TRIMTAB_TEST_ROLE").unwrap().as_str() {
        "hold" => {
            let building = todo(work.step("build", &key()).unwrap());
            fs::write(building.path().join("half"), "").unwrap();
            let tree = todo(work.resumable("tree", &key()).unwrap());
            fs::write(tree.path().join("object"), "").unwrap();
            ready();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        "build-many" => {
            ready();
            for index in 0.. {
                let step = work.step("many", &key().field("index", index)).unwrap();
                let Step::Todo(building) = step else { continue };
                for file in 0..5 {
                    fs::write(building.path().join(format!("{file}")), [7; 10_000]).unwrap();
                }
                building.finish().unwrap();
            }
        }
        "no-space" => {
            let building = todo(work.step("build", &key()).unwrap());
            // The nearest to a full disk that needs no privileges: no file may grow.
            // SAFETY: ignoring a signal runs no code of ours.
            unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
            setrlimit(Resource::RLIMIT_FSIZE, 0, 0).unwrap();
            let error = building.finish().unwrap_err();
            assert!(error.to_string().starts_with("cannot write "), "{error}");
            assert!(error.hint().unwrap().starts_with("free some space"), "{error}");
            drop(work);
            ready();
            std::process::exit(0);
        }
        role => panic!("no role {role}"),
    }
}
