//! Passes a job's standard output on, line by line, while it goes to the log.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// A line that a job wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Time from the start of the job to the line's end.
    pub at: Duration,
    /// The line without its end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

#[derive(Debug)]
pub(super) struct Lines {
    pub(super) receiver: Receiver<Line>,
    pub(super) thread: JoinHandle<io::Result<()>>,
}

impl Lines {
    pub(super) fn of(stdout: ChildStdout, log: File, started: Instant) -> Self {
        let (sender, receiver) = channel();
        Lines { receiver, thread: spawn(move || pass_on(stdout, log, started, &sender)) }
    }
}

fn pass_on(
    mut stdout: ChildStdout,
    mut log: File,
    started: Instant,
    sender: &Sender<Line>,
) -> io::Result<()> {
    // A line without an end is cut here, so that a job cannot fill the memory.
    const LONGEST: usize = 1 << 20;
    let mut buffer = [0; 16 << 10];
    let mut line = Vec::new();
    let mut logged = Ok(());
    loop {
        let read = match stdout.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // To the log at once, not by line: a hanging guest's last words may lack their end. When the
        // log cannot be written, go on reading: the job must not block on a full pipe.
        if logged.is_ok() {
            logged = log.write_all(&buffer[..read]);
        }
        let at = started.elapsed();
        for &byte in &buffer[..read] {
            if byte != b'\n' && line.len() < LONGEST {
                line.push(byte);
                continue;
            }
            send(&mut line, at, sender);
        }
    }
    if !line.is_empty() {
        send(&mut line, started.elapsed(), sender);
    }
    logged
}

fn send(line: &mut Vec<u8>, at: Duration, sender: &Sender<Line>) {
    let text = String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
    line.clear();
    // Nobody may be listening any more; the log still gets everything.
    let _ = sender.send(Line { at, text });
}
