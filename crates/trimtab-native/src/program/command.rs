//! A command of the user, and how far it may go.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::ProgramError;
use trimtab_lab::process::{Job, JobResult, ProcessError};

/// How far a command may go before it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time that it may take.
    pub time: Duration,
    /// Processes that it may have at once.
    pub processes: usize,
}

impl Default for Limits {
    /// Ten minutes, and more processes than any start-up has.
    fn default() -> Self {
        Limits { time: Duration::from_secs(600), processes: 512 }
    }
}

/// A command line as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// As it was given.
    pub text: String,
    /// Where it runs.
    pub directory: PathBuf,
}

impl Command {
    /// Its words: those of the command itself where a shell would do nothing but start it, else a
    /// shell with the command. So a shell takes part in times and faults only where it has to.
    pub fn words(&self) -> Vec<OsString> {
        let plain = |c: char| c.is_ascii_alphanumeric() || " -_./,:+@%".contains(c);
        // A word with `=` in front sets a variable; `cd` and the like are the shell's own.
        let first = self.text.split_whitespace().next().unwrap_or_default();
        if self.text.chars().all(plain) && first.contains('/') {
            return self.text.split_whitespace().map(OsString::from).collect();
        }
        ["/bin/sh", "-c", &self.text].map(OsString::from).to_vec()
    }

    /// Runs it, or the `words` that stand for it, to its end within the limits. Its output goes to
    /// `log`.
    pub(super) fn run(
        &self,
        purpose: &str,
        words: &[OsString],
        limits: Limits,
        log: &Path,
        prepare: impl FnOnce(Job) -> Job,
    ) -> Result<JobResult, ProgramError> {
        let (program, arguments) = match words.split_first() {
            Some((program, arguments)) => (PathBuf::from(program), arguments),
            None => (PathBuf::from("/bin/true"), &[][..]),
        };
        let job = Job::new(purpose, program)
            .args(arguments)
            .dir(&self.directory)
            .log(log)
            .limit(limits.time);
        let running = prepare(job).spawn()?;
        let group = running.group();
        let (over, found) = (AtomicBool::new(false), AtomicUsize::new(0));
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let processes = processes_of(group);
                    if processes > limits.processes {
                        found.store(processes, Ordering::Relaxed);
                        // Fails only if all have ended by themselves.
                        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
                        return;
                    }
                    std::thread::park_timeout(Duration::from_millis(200));
                }
            });
            let ended = running.wait();
            over.store(true, Ordering::Relaxed);
            ended
        });
        match found.load(Ordering::Relaxed) {
            0 => ended.map_err(|error| self.told(error)),
            processes => Err(ProgramError::Forks {
                command: self.text.clone(),
                processes,
                most: limits.processes,
            }),
        }
    }

    /// The error of a command that ended badly, in the words of a user's program.
    fn told(&self, error: ProcessError) -> ProgramError {
        match error {
            ProcessError::Failed { status, tail, .. } => {
                use std::os::unix::process::ExitStatusExt;
                let how = match (status.code(), status.signal()) {
                    (Some(code), _) => ended_with(code),
                    (None, Some(signal)) => killed_by(signal),
                    (None, None) => status.to_string(),
                };
                ProgramError::Ended { command: self.text.clone(), how, said: tail.to_string() }
            }
            error => error.into(),
        }
    }
}

/// How a program ended: in shells and in tools that pass a status on, a signal is 128 and more.
pub(super) fn ended_with(code: i32) -> String {
    match code.checked_sub(128).filter(|signal| (1..=64).contains(signal)) {
        Some(signal) => killed_by(signal),
        None => format!("ended with {code}"),
    }
}

pub(super) fn killed_by(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(name) => format!("was killed by signal {signal} ({name})"),
        Err(_) => format!("was killed by signal {signal}"),
    }
}

/// How many processes are in a group.
fn processes_of(group: i32) -> usize {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        // The name of a program, in brackets, can hold anything; the fields follow the last one.
        .filter_map(|stat| stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse::<i32>().ok())
        .filter(|found| *found == group)
        .count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use trimtab_lab::failure::Hint;

    fn command(text: &str) -> Command {
        Command { text: text.to_owned(), directory: "/".into() }
    }

    fn run(text: &str, limits: Limits) -> Result<JobResult, ProgramError> {
        let folder = tempfile::tempdir().unwrap();
        let command = command(text);
        command.run("the test", &command.words(), limits, &folder.path().join("log"), |job| job)
    }

    #[test]
    fn a_shell_takes_part_only_where_it_has_to() {
        assert_eq!(command("./app -x a.db").words(), ["./app", "-x", "a.db"]);
        for text in ["app", "./app 'a b'", "./app < in", "A=b ./app", "cd x", "./app $HOME"] {
            assert_eq!(command(text).words(), ["/bin/sh", "-c", text]);
        }
    }

    #[test]
    fn how_it_ended_is_said() {
        let said = |text: &str| run(text, Limits::default()).unwrap_err().to_string();
        assert!(said("echo oh; exit 3").starts_with(
            "`echo oh; exit 3` ended with 3, expected it to end with 0; the last lines of its log "
        ));
        assert!(said("kill -s SEGV $$").contains("was killed by signal 11 (SIGSEGV)"));
        assert!(run("true", Limits::default()).is_ok());
    }

    #[test]
    fn what_never_ends_is_ended() {
        let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
        let error = run("sleep 60", limits).unwrap_err();
        assert!(error.to_string().contains("took longer than its limit"), "{error}");
        assert!(error.hint().unwrap().contains("--limit"));
    }

    #[test]
    fn what_forks_without_end_is_ended() {
        let limits = Limits { processes: 20, ..Limits::default() };
        let text = "while :; do sleep 60 & done";
        let error = run(text, limits).unwrap_err();
        assert!(matches!(error, ProgramError::Forks { most: 20, .. }), "{error}");
    }
}
