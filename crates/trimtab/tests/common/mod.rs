//! What the tests share that fit real kernels: the work directory with the kernel that is built
//! once, and running the command until a point at which it is stopped.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_trimtab");

/// Nothing here takes as long, on any machine: what is still not there then never comes.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The work directory that tests share. `make test` says where it is.
pub fn shared() -> PathBuf {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let path = std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from);
    fs::create_dir_all(&path).unwrap();
    path.canonicalize().unwrap()
}

/// One test at a time works in the shared directory.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `trimtab fit kernel` with the small configuration in this work directory.
pub fn fit(work: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["fit", "kernel", "--config", "tiny", "--work"]).arg(work).args(arguments);
    command.stdin(Stdio::null());
    command
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub output: String,
    pub error: String,
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), output: text(output.stdout), error: text(output.stderr) }
}

/// A command under way, whose standard error is read as it comes.
pub struct Live {
    child: Child,
    error: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Live {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let error = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&error);
        let reader = std::thread::spawn(move || {
            for line in lines {
                let mut text = written.lock().unwrap();
                text.push_str(&line.unwrap());
                text.push('\n');
            }
        });
        Live { child, error, reader }
    }

    /// Waits until `stage` has begun and `tool` works for it in `work`.
    pub fn wait_for(&mut self, stage: &str, work: &Path, tool: &str) {
        let begun = format!("trimtab: {stage} ...\n");
        let start = Instant::now();
        loop {
            let error = self.error.lock().unwrap().clone();
            let at_work = || processes_in(work).iter().any(|(_, name)| name == tool);
            if error.contains(&begun) && at_work() {
                return;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "ended before {tool} ran in `{stage}`:\n{error}");
            assert!(start.elapsed() < PATIENCE, "{tool} never ran in `{stage}`:\n{error}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal, and waits for the end.
    pub fn stop(mut self, signal: Signal) -> Ended {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
        let status = self.child.wait().unwrap();
        self.reader.join().unwrap();
        let error = self.error.lock().unwrap().clone();
        Ended { code: status.code(), output: String::new(), error }
    }
}

/// Numbers and names of the programs that work in a directory, or on files in it; not trimtab.
fn processes_in(work: &Path) -> Vec<(u32, String)> {
    let work = work.to_str().unwrap();
    let found = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path();
        let number = path.file_name()?.to_str()?.parse().ok()?;
        let words = fs::read(path.join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).into_owned();
        let there = fs::read_link(path.join("cwd")).unwrap_or_default();
        let name = Path::new(words.split('\0').next()?).file_name()?.to_str()?.to_owned();
        let ours = words.contains(work) || there.starts_with(work);
        (ours && !words.contains(PROGRAM)).then_some((number, name))
    });
    found.collect()
}

/// Fails if a program is left that works in a directory. One that was killed may need a moment.
pub fn assert_nothing_runs_in(work: &Path) {
    let start = Instant::now();
    loop {
        let left = processes_in(work);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "still there: {left:?}");
        sleep(Duration::from_millis(20));
    }
}
