//! What is run: a program with its arguments, environment and folder.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::shell;

/// A program with its arguments, environment and folder: what a [`Job`](super::Job) runs, and what
/// the native tracer starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// What is set, or removed, beside what trimtab's own environment has.
    environment: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
}

impl Invocation {
    /// Of `program`, a path or a name to look for in `PATH`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Invocation {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
        }
    }

    /// Of the first word with the others as arguments; nothing where there is no word.
    pub fn of_words<W: AsRef<OsStr>>(words: &[W]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        Some(Self::new(program.as_ref()).args(arguments))
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((key.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Sets environment variables.
    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        variables.into_iter().fold(self, |set, (key, value)| set.env(key, value))
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, key: impl AsRef<OsStr>) -> Self {
        self.environment.push((key.as_ref().to_owned(), None));
        self
    }

    /// Runs it in this folder.
    pub fn dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// The program: a path, or a name to look for in `PATH`.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments, without the program's name.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// The folder that it runs in, where one was said.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Its command line, as a person would type it.
    pub fn command_line(&self) -> String {
        let words = std::iter::once(self.program.as_os_str())
            .chain(self.arguments.iter().map(OsString::as_os_str));
        shell::command_line(words)
    }

    /// It for the standard library, which starts it without limit and leash. Only for those that
    /// have to hold the process themselves, and that see to its end: the native tracer, and a process
    /// that is part of a [`Job`](super::Job) and ends with it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for (key, value) in &self.environment {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    /// Runs it in the foreground: on trimtab's own terminal, with its input, in its process group and
    /// without a time limit. For what a user starts through trimtab, and what trimtab stands in for
    /// in a build: Ctrl-C, and whoever ends the build, reach it as they would without trimtab.
    ///
    /// # Errors
    /// That it cannot be started.
    pub fn run_in_foreground(&self) -> io::Result<ExitStatus> {
        self.command().status()
    }

    /// Becomes this program. Only returns where it cannot be started.
    pub fn exec(&self) -> io::Error {
        self.command().exec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_in_the_foreground_with_its_environment_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let script = "test \"$ONE-$HOME\" = 1- && pwd -P > here; exit 7";
        let status = Invocation::of_words(&["sh", "-c", script])
            .unwrap()
            .envs([("ONE", "1")])
            .env_remove("HOME")
            .dir(folder.path())
            .run_in_foreground();
        assert_eq!(status.unwrap().code(), Some(7));
        let here = std::fs::read_to_string(folder.path().join("here")).unwrap();
        assert_eq!(here.trim(), folder.path().canonicalize().unwrap().to_str().unwrap());
        assert!(Invocation::of_words::<&str>(&[]).is_none());
    }

    #[test]
    fn a_program_that_is_not_there_cannot_be_become() {
        assert_eq!(Invocation::new("/no/such/program").exec().kind(), io::ErrorKind::NotFound);
    }
}
