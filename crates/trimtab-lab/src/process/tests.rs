//! Jobs that end well, badly, late and never, with what they leave behind.

#![allow(clippy::unwrap_used)]

use super::*;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

fn shell(script: &str) -> Job {
    Job::new("trying it", "sh").arg("-c").arg(script).grace(Duration::from_millis(200))
}

/// Waits until no process of this number is left; zombies of others count as gone.
fn is_gone(pid: Pid) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if kill(pid, None).is_err() || stat.contains(") Z ") {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

fn pid(line: &Line) -> Pid {
    Pid::from_raw(line.text.trim().parse().unwrap())
}

/// A process, its child and its grandchild, all deaf to SIGTERM; says their numbers.
const STUBBORN: &str = "trap '' TERM; echo $$; \
    sh -c 'trap \"\" TERM; echo $$; sh -c \"echo \\$\\$; sleep 100; :\"; :' & sleep 100; :";

fn pids(running: &mut RunningJob, number: usize) -> Vec<Pid> {
    (0..number).map(|_| pid(&running.next_line().unwrap().unwrap())).collect()
}

#[test]
fn output_of_both_kinds_goes_to_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let finished = shell("echo out; echo err >&2; sleep 0.05").log(&log).run().unwrap();
    assert!(finished.wall >= Duration::from_millis(50));
    assert_eq!(std::fs::read_to_string(log).unwrap(), "out\nerr\n");
}

#[test]
fn output_goes_to_a_file_of_its_own_and_what_is_said_beside_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let [log, output] = ["log", "output"].map(|name| folder.path().join(name));
    std::fs::write(&output, "what was there before, and is longer").unwrap();
    shell("echo warning >&2; echo out").log(&log).run_into(&output).unwrap();
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "out\n");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "warning\n");
    // Of a failure, what was said is shown, and not what was to be output.
    let error = shell("echo wrong >&2; echo out; exit 3").run_into(&output).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("wrong") && !error.contains("\n    out"), "{error}");
    let error = shell(":").run_into(&folder.path().join("no/where")).unwrap_err().to_string();
    assert!(error.starts_with("trying it failed: cannot write its output to "), "{error}");
}

#[test]
fn environment_folder_and_empty_input_are_what_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let text = shell("cat; pwd -P; echo $ONE-$HOME")
        .env("ONE", "1")
        .env_remove("HOME")
        .dir(folder.path())
        .run_captured()
        .unwrap();
    assert_eq!(text, format!("{}\n1-\n", folder.path().canonicalize().unwrap().display()));
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    let error = Job::new("booting the guest", "qemu-of-nowhere").tool("qemu").run();
    assert_eq!(
        error.unwrap_err().to_string(),
        "booting the guest needs the program `qemu-of-nowhere`, which was not found; \
         install the package `qemu-system-x86`"
    );
    let packages = |program: &str| Job::new("trying it", program).packages();
    assert_eq!(packages("ninja"), Some(&["ninja-build"][..]));
    assert_eq!((packages("/no/ninja"), packages("of-nowhere")), (None, None));
    let error = Job::new("trying it", "/no/such/tool").run().unwrap_err().to_string();
    assert!(error.contains("`/no/such/tool`, which was not found"), "{error}");
}

#[test]
fn a_missing_folder_is_not_taken_for_a_missing_program() {
    let error = shell("true").dir("/no/such/folder").run().unwrap_err();
    assert!(matches!(error, ProcessError::Directory { .. }), "{error}");
}

#[test]
fn a_failure_shows_status_the_last_lines_and_where_the_log_is() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let error = shell("seq 1 100; printf '\\033[1mbad\\n'; exit 3").log(&log).run().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("trying it failed: `sh` ended with exit status: 3"), "{text}");
    assert!(text.contains(&log.display().to_string()), "{text}");
    assert!(text.ends_with("\n    99\n    100\n    [1mbad"), "{text}");
    assert!(!text.contains("\n    80\n"), "{text}");
}

#[test]
fn a_full_disk_is_recognised() {
    let error = shell("seq 1 10 > /dev/full").run().unwrap_err();
    assert!(matches!(error, ProcessError::NoSpace { .. }), "{error}");
    let error = shell("echo x").log("/dev/full").spawn_lines().unwrap().wait().unwrap_err();
    assert!(matches!(error, ProcessError::NoSpace { .. }), "{error}");
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let error = shell("true").log("/no/such/folder/log").run().unwrap_err();
    assert!(error.to_string().contains("/no/such/folder/log"), "{error}");
}

#[test]
fn a_limit_of_memory_holds_for_what_the_job_starts() {
    let limits = |job: Job| job.run_captured().unwrap();
    let shell = || Job::new("the test", "sh").args(["-c", "sh -c 'ulimit -d'"]);
    assert_eq!(limits(shell().memory(512 << 20)), "524288\n");
    assert_ne!(limits(shell()), "524288\n");
}

#[test]
fn the_time_limit_ends_the_whole_family() {
    let mut running = shell(STUBBORN).limit(Duration::from_millis(600)).spawn_lines().unwrap();
    let family = pids(&mut running, 3);
    let error = running.wait().unwrap_err();
    assert!(matches!(error, ProcessError::TimeLimit { .. }), "{error}");
    assert!(family.into_iter().all(is_gone));
}

#[test]
fn the_time_limit_holds_while_reading_lines() {
    let mut running =
        shell("echo one; sleep 100").limit(Duration::from_millis(300)).spawn_lines().unwrap();
    assert_eq!(running.next_line().unwrap().unwrap().text, "one");
    let error = running.next_line().unwrap_err();
    assert!(error.to_string().ends_with("\n    one"), "{error}");
}

#[test]
fn an_interrupt_ends_the_whole_family() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut running = shell(STUBBORN).interrupt(Arc::clone(&flag)).spawn_lines().unwrap();
    let family = pids(&mut running, 3);
    flag.store(true, Ordering::Relaxed);
    let error = running.wait().unwrap_err();
    assert!(matches!(error, ProcessError::Interrupted { .. }), "{error}");
    assert!(family.into_iter().all(is_gone));

    let error = shell("true").interrupt(flag).run().unwrap_err();
    assert!(matches!(error, ProcessError::Interrupted { .. }), "nothing starts after it: {error}");
}

#[test]
fn dropping_and_killing_end_the_whole_family() {
    let mut running = shell(STUBBORN).spawn_lines().unwrap();
    let family = pids(&mut running, 3);
    drop(running);
    assert!(family.into_iter().all(is_gone));

    let mut running = shell(STUBBORN).spawn_lines().unwrap();
    let family = pids(&mut running, 3);
    assert!(!running.kill().unwrap().success());
    assert!(family.into_iter().all(is_gone));
}

#[test]
fn what_a_job_leaves_in_the_background_ends_with_it() {
    let mut running = shell("sleep 100 & echo $!; exit 0").spawn_lines().unwrap();
    let left = pids(&mut running, 1);
    // The one left behind holds the pipe open, and still this returns.
    assert_eq!(running.next_line().unwrap(), None);
    running.wait().unwrap();
    assert!(left.into_iter().all(is_gone));
}

#[test]
fn lines_come_with_the_time_and_a_last_one_without_its_end() {
    let mut running = shell("echo a; sleep 0.1; printf 'b\\r\\nc'").spawn_lines().unwrap();
    let a = running.next_line().unwrap().unwrap();
    let b = running.next_line().unwrap().unwrap();
    assert!(b.at >= a.at + Duration::from_millis(50), "{a:?} {b:?}");
    assert_eq!(b.text, "b");
    assert_eq!(running.next_line().unwrap().unwrap().text, "c");
    assert_eq!(running.next_line().unwrap(), None);
    running.wait().unwrap();
}

#[test]
fn a_command_line_can_be_typed_again() {
    let job = Job::new("trying it", "echo").args(["a b", "it's", "plain=1", ""]);
    assert_eq!(job.command_line(), "echo 'a b' \"it's\" plain=1 ''");
}

#[test]
fn bytes_go_in_and_bytes_come_out() {
    let captured = shell("cat; printf '\\377'; echo not >&2").input(b"a\0b".as_slice()).capture();
    assert_eq!(captured.unwrap().output, b"a\0b\xff");
    let error = shell("echo said; echo why >&2; exit 3").capture().unwrap_err().to_string();
    assert!(error.ends_with("it said last:\n    why"), "{error}");
}

#[test]
fn a_job_answers_what_it_is_told_until_there_is_no_more() {
    let mut job =
        shell("while read -r line; do echo \"said $line\"; done").spawn_dialogue().unwrap();
    for line in ["one", "two"] {
        job.say(line).unwrap();
        assert_eq!(job.next_line().unwrap().unwrap().text, format!("said {line}"));
    }
    job.wait().unwrap();
    let mut ended = shell("exit 0").spawn_dialogue().unwrap();
    assert_eq!(ended.next_line().unwrap(), None);
    assert!(shell("exit 0").spawn_lines().unwrap().say("anyone?").is_err());
}

#[test]
fn any_status_is_a_good_end_where_that_is_allowed() {
    let captured = shell("echo said; exit 3").any_status().capture().unwrap();
    assert_eq!((captured.finished.status.code(), captured.output), (Some(3), b"said\n".to_vec()));
    let finished = shell("kill -KILL $$").any_status().run().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&finished.status), Some(9));
}

#[test]
fn output_that_nobody_wants_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    shell("echo out; echo err >&2").log(&log).run_silently().unwrap();
    assert_eq!(std::fs::read_to_string(log).unwrap(), "err\n");
}

#[test]
fn processor_time_is_that_of_the_job_and_its_children_alone() {
    let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    // Another one at the same time does not count.
    let other = shell(busy).spawn().unwrap();
    let idle = shell("sleep 0.2").run().unwrap();
    other.wait().unwrap();
    let work = shell(&format!("sh -c '{busy}'; true")).run().unwrap();
    assert!(idle.processor < work.processor, "{idle:?} {work:?}");
    assert!(work.processor <= work.wall + Duration::from_millis(20), "{work:?}");
}
