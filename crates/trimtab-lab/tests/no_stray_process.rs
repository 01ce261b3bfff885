//! Whatever ends trimtab, what it started ends too. This file runs itself as the program to end.
#![allow(clippy::unwrap_used, missing_docs)]

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trimtab_lab::process::{Job, ProcessError};

/// Set in the copy of this program that is to be ended.
const VICTIM: &str = "TRIMTAB_TEST_VICTIM";

/// Not a test of its own: runs a job with a grandchild, both deaf to SIGTERM, until it is ended.
#[test]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    trimtab_lab::interrupt::install().unwrap();
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo pid $$; sleep 60; :' & \
                  echo pid $$; sleep 60; :";
    let mut running = Job::new("trying it", "sh")
        .args(["-c", script])
        .grace(Duration::from_millis(100))
        .spawn_lines()
        .unwrap();
    loop {
        match running.next_line() {
            Ok(Some(line)) => eprintln!("{}", line.text),
            Err(ProcessError::Interrupted { .. }) => std::process::exit(42),
            _ => std::process::exit(1),
        }
    }
}

fn start() -> (Child, Vec<Pid>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture"])
        .env(VICTIM, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let pids = lines
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("pid ").and_then(|pid| pid.trim().parse().ok()))
        .map(Pid::from_raw)
        .take(2)
        .collect();
    (child, pids)
}

fn all_gone(pids: &[Pid]) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    let gone = |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    while Instant::now() < deadline {
        if pids.iter().all(gone) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn signals_end_it_in_order() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (mut child, pids) = start();
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(42), "{signal}");
        assert_eq!(pids.len(), 2);
        assert!(all_gone(&pids), "{signal}");
    }
}

#[test]
fn even_sigkill_leaves_nothing() {
    let (mut child, pids) = start();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(pids.len(), 2);
    assert!(all_gone(&pids));
}
