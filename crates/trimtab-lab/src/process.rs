//! The only place that starts processes. Three kinds begin otherwise, from an [`Invocation`]: what
//! the native tracer has to hold at every step; what a user starts through trimtab in the foreground;
//! and the tools of a build that is a job itself, which trimtab stands in front of.
//!
//! A [`Job`] has a time limit, no input, a log, and a process group of its own. However it ends, and
//! however trimtab ends, nothing that it started is left running:
//!
//! - its end, an error, the time limit, an [interrupt](crate::interrupt) and dropping [`RunningJob`]
//!   kill the whole group: SIGTERM, then SIGKILL after a grace time;
//! - a *leash*, a tiny process beside it, kills the group when trimtab itself is gone, even by
//!   SIGKILL, and the kernel sends the job itself SIGKILL then (`PR_SET_PDEATHSIG`).
//!
//! Only a program that moves itself into another process group escapes. None of ours does.

mod error;
mod invocation;
mod leash;
mod output;
mod running;
#[cfg(test)]
mod tests;

pub use error::{ProcessError, Tail};
pub use invocation::Invocation;
pub use output::Line;
pub use running::JobCount;
pub use running::{RunningJob, wait_until_idle};

use crate::observe::say;
use crate::tools::table;
use crate::{interrupt, shell};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A program to run once.
#[derive(Debug, Clone)]
pub struct Job {
    purpose: String,
    invocation: Invocation,
    tool: Option<&'static str>,
    input: Vec<u8>,
    log: Option<PathBuf>,
    any_status: bool,
    limit: Duration,
    memory: Option<u64>,
    grace: Duration,
    interrupt: Arc<AtomicBool>,
}

/// A job that ended well.
#[derive(Debug, Clone, Copy)]
pub struct JobResult {
    /// Wall time from its start to its end.
    pub wall: Duration,
    /// Time of processors that it and those of its children took for which it waited.
    pub processor: Duration,
    /// How it ended: with status 0, where nothing else was [allowed](Job::any_status).
    pub status: ExitStatus,
}

/// A job that ended, and what it wrote.
#[derive(Debug, Clone)]
pub struct JobOutput {
    /// How it ended.
    pub finished: JobResult,
    /// Its standard output, of which at most [`JobOutput::MOST`] bytes are kept.
    pub output: Vec<u8>,
}

impl JobOutput {
    /// The most bytes of output that are kept.
    pub const MOST: u64 = 256 << 20;
}

impl Job {
    /// Time limit of a job that sets none.
    pub const DEFAULT_LIMIT: Duration = Duration::from_secs(600);

    /// A job that runs `program`, a path or a name to look for in `PATH`. `purpose` tells a person
    /// what it is for, so that "PURPOSE failed" is English: "linking the kernel".
    pub fn new(purpose: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Job {
            purpose: purpose.into(),
            // Messages that can be recognised, and the same order of names everywhere.
            invocation: Invocation::new(program).env("LC_ALL", "C"),
            tool: None,
            input: Vec::new(),
            log: None,
            any_status: false,
            limit: Self::DEFAULT_LIMIT,
            memory: None,
            grace: Duration::from_secs(2),
            interrupt: interrupt::flag(),
        }
    }

    /// Says which tool of the [table](crate::tools) the program is, where that is not its own name: one
    /// that somebody gave, or that was found. The message when it is missing names the tool's package.
    pub fn tool(mut self, name: &'static str) -> Self {
        self.tool = Some(name);
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.invocation = self.invocation.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.invocation = self.invocation.args(arguments);
        self
    }

    /// Sets an environment variable; the others are those of trimtab, and `LC_ALL=C`.
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.invocation = self.invocation.env(key, value);
        self
    }

    /// Sets environment variables.
    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.invocation = self.invocation.envs(variables);
        self
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, key: impl AsRef<OsStr>) -> Self {
        self.invocation = self.invocation.env_remove(key);
        self
    }

    /// Runs it in this folder.
    pub fn dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.invocation = self.invocation.dir(directory);
        self
    }

    /// Gives it these bytes as its standard input, which is empty otherwise.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Takes any status that it ends with, and death by a signal, for a good end:
    /// [`JobResult::status`] says which.
    pub fn any_status(mut self) -> Self {
        self.any_status = true;
        self
    }

    /// Writes all of its output to this file, which is emptied first. Without it, output is kept
    /// only to show its last lines in an error.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Kills it after this time; [`Job::DEFAULT_LIMIT`] otherwise.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// None of its processes may have more bytes of data than this; without it there is no limit.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How long it may take to end by itself after SIGTERM; 2 s otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Its command line, as a person would type it.
    pub fn command_line(&self) -> String {
        self.invocation.command_line()
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// If it cannot start, does not end with status 0, or does not end in time; if trimtab is asked
    /// to end.
    pub fn run(self) -> Result<JobResult, ProcessError> {
        RunningJob::start(self, running::Stdout::Log)?.wait()
    }

    /// Runs it to its end and returns what it wrote to its standard output, up to 16 MiB. Standard
    /// error goes to the log.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_captured(self) -> Result<String, ProcessError> {
        let mut running = RunningJob::start(self, running::Stdout::Lines)?;
        let mut text = String::new();
        while let Some(line) = running.next_line()? {
            if text.len() < 16 << 20 {
                text.push_str(&line.text);
                text.push('\n');
            }
        }
        running.wait()?;
        Ok(text)
    }

    /// Runs it to its end with this file, which is emptied first, as its standard output. Standard error
    /// goes to the log: what a tool says beside its output is no part of it.
    ///
    /// # Errors
    /// As [`Job::run`]; that the file cannot be written.
    pub fn run_into(self, path: &Path) -> Result<JobResult, ProcessError> {
        let file = File::create(path).map_err(|source| ProcessError::Output {
            purpose: self.purpose.clone(),
            path: path.to_owned(),
            source,
        })?;
        RunningJob::start(self, running::Stdout::Into(file))?.wait()
    }

    /// Runs it to its end without keeping its standard output. Standard error goes to the log.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_silently(self) -> Result<JobResult, ProcessError> {
        RunningJob::start(self, running::Stdout::Nowhere)?.wait()
    }

    /// Runs it to its end and returns the bytes that it wrote to its standard output. Standard error
    /// goes to the log.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn capture(self) -> Result<JobOutput, ProcessError> {
        RunningJob::start(self, running::Stdout::File)?.wait_captured()
    }

    /// Starts it. The handle must stay with a thread that lives as long as the job: Linux kills the
    /// job when the thread that started it ends.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn spawn(self) -> Result<RunningJob, ProcessError> {
        RunningJob::start(self, running::Stdout::Log)
    }

    /// Starts it so that [`RunningJob::next_line`] gives its standard output, which also goes to the
    /// log. The thread must live as long, see [`Job::spawn`].
    ///
    /// # Errors
    /// If it cannot start.
    pub fn spawn_lines(self) -> Result<RunningJob, ProcessError> {
        RunningJob::start(self, running::Stdout::Lines)
    }

    /// The same, where [`RunningJob::say`] writes its standard input.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn spawn_dialogue(self) -> Result<RunningJob, ProcessError> {
        RunningJob::start(self, running::Stdout::Dialogue)
    }

    /// Listens to this flag instead of to the signals that trimtab gets.
    pub fn interrupt(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = flag;
        self
    }

    /// The Debian packages that have the program, where the table of tools knows them. A path is known only
    /// by what [`Job::tool`] says: its file can be anybody's.
    fn packages(&self) -> Option<&'static [&'static str]> {
        let program = self.invocation.program();
        let is_name = program.components().count() == 1;
        let own = || program.to_str().filter(|_| is_name);
        table::packages(self.tool.or_else(own)?)
    }

    fn program(&self) -> String {
        let program = self.invocation.program();
        let name = program.file_name().unwrap_or(program.as_os_str());
        // A path that somebody gave must be shown whole.
        let whole = program.components().count() > 1;
        if whole { program.display().to_string() } else { Path::new(name).display().to_string() }
    }
}

/// Whether commands are shown.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// From now on each command that is started is shown on standard error, as a shell would take it, with
/// its directory where that is another than this process's.
pub fn show_commands() {
    SHOWN.store(true, Ordering::Relaxed);
}

fn show(job: &Job) {
    if !SHOWN.load(Ordering::Relaxed) {
        return;
    }
    let line = job.command_line();
    say(&match job.invocation.directory() {
        Some(directory) => format!("trimtab: + cd {} && {line}", shell::quoted(directory)),
        None => format!("trimtab: + {line}"),
    });
}
