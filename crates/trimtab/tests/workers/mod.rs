//! What tests share in which workers tune: a program, the command, and what it found.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trimtab");

/// Nothing here takes as long, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is there.
pub fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < PATIENCE, "{what}: not there");
        sleep(Duration::from_millis(50));
    }
}

/// A process that does not outlive the test.
pub struct Running(pub Option<Child>);

impl Running {
    pub fn has_ended(&mut self) -> bool {
        self.0.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A folder with a program that flags change.
pub fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <stdio.h>\n\
                static unsigned step(unsigned x, int by) { return by & 1 ? x * 31u + 7 : x / 3u + by; }\n\
                int main(void) {\n\
                unsigned x = 1, a[64] = {0};\n\
                for (int i = 0; i < 4000; i++) { x = step(x, i); a[i & 63] += x & 255; }\n\
                for (int i = 0; i < 64; i++) x += a[i] * i;\n\
                printf(\"%u\\n\", x);\n\
                return 0; }\n";
    fs::write(folder.path().join("app.c"), text).unwrap();
    folder
}

/// `trimtab tune program` in a folder, whose result is printed as JSON.
pub fn tune(project: &Path, work: &Path, more: &[&str]) -> Command {
    tune_timed(project, work, "0", more)
}

/// The same, which times the best for so many rounds.
pub fn tune_timed(project: &Path, work: &Path, rounds: &str, more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(project).args(["tune", "program", "--build", "$CC $CFLAGS -o app app.c"]);
    command.args(["--run", "./app", "--rounds", rounds, "--budget", "24", "--json", "-", "--work"]);
    command.arg(work).args(more).stdin(Stdio::null());
    command
}

/// What was found, without how long it took and who did it.
pub fn found(output: &Output) -> (Value, Value) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    read(output)
}

/// The same, whether all checks hold or not.
pub fn read(output: &Output) -> (Value, Value) {
    let error = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let mut json: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}\n{error}"));
    let workers = json["workers"].take();
    for name in ["seconds", "repeat", "workers"] {
        json.as_object_mut().unwrap().remove(name);
    }
    (json, workers)
}
