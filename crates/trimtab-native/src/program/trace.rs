//! One run of a command, with all that a program and its libraries executed.

use std::fs;
use std::path::{Path, PathBuf};

use super::command::{ended_with, killed_by};
use super::error::io;
use super::place::Place;
use super::{Command, Limits, ProgramError};
use crate::native::{self, End, Objects, Request};
use trimtab_lab::process::Invocation;
use trimtab_lab::shell::quoted;

/// What records a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tracer {
    /// QEMU for single programs, with the tracing plugin: every block, exactly, on any machine.
    Qemu {
        /// `qemu-x86_64` or another of its kind.
        qemu: PathBuf,
        /// The plugin.
        plugin: PathBuf,
        /// Whether it also counts how often control passes from one block to another, which takes
        /// longer.
        transitions: bool,
    },
    /// Breakpoints, on the machine itself: functions, not blocks.
    Native,
}

/// What was recorded of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    /// All blocks, by process.
    Processes {
        /// A trace for each process that ran the program, as `trimtab_profile::Process` reads it, the
        /// first process first.
        traces: Vec<PathBuf>,
        /// The path under which the program's file is in the traces.
        program: PathBuf,
    },
    /// Functions, by the file that holds them; all processes together.
    Functions(Vec<native::Object>),
}

/// The most processes of which a trace is read: start-ups have a few, and a program that forks for
/// each job would bring nothing new.
const MOST_PROCESSES: usize = 64;

impl Tracer {
    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Tracer::Qemu { .. } => "qemu",
            Tracer::Native => "native",
        }
    }

    /// The same, with transitions between blocks counted, where it can.
    pub fn with_transitions(&self) -> Tracer {
        let mut tracer = self.clone();
        if let Tracer::Qemu { transitions, .. } = &mut tracer {
            *transitions = true;
        }
        tracer
    }

    /// Runs `command` and records what the program at `place` executes, in the version `version`,
    /// and its `libraries`, which are in place. What is written goes to `folder`.
    ///
    /// # Errors
    /// [`ProgramError::NotRun`] where the command does not start the program, and whatever keeps the
    /// command from ending well.
    pub fn trace(
        &self,
        command: &Command,
        place: &Place,
        version: &Path,
        libraries: &[&Path],
        limits: Limits,
        folder: &Path,
    ) -> Result<Recording, ProgramError> {
        // Long: a case for each tracer.
        fs::create_dir_all(folder).map_err(io("make", folder))?;
        let not_run = || ProgramError::NotRun {
            command: command.text.clone(),
            program: place.path().to_owned(),
        };
        match self {
            Tracer::Native => {
                place.put(version)?;
                let log = folder.join("run.log");
                let objects = with_breakpoints(command, place.path(), libraries, limits, &log)?;
                if !objects.iter().any(|object| object.path == place.path()) {
                    return Err(not_run());
                }
                Ok(Recording::Functions(objects))
            }
            Tracer::Qemu { qemu, plugin, transitions } => {
                // The program's place holds a script that starts the emulator with the program,
                // which lies beside it: so it is traced however the command comes to start it, and
                // finds its libraries and data from where it lies.
                let beside = place.beside("traced");
                let _tidy = Tidy { place, version, beside: &beside };
                let _ = fs::remove_file(&beside);
                fs::hard_link(version, &beside).map_err(io("link", version))?;
                let out = folder.join("trace");
                place.put_script(&format!(
                    "#!/bin/sh\nexec {} -0 \"$0\" -plugin {},out={}{} {} \"$@\"\n",
                    quoted(qemu),
                    quoted(plugin),
                    quoted(&out),
                    if *transitions { ",jumps=on" } else { "" },
                    quoted(&beside)
                ))?;
                let log = folder.join("run.log");
                let ended =
                    command.run("the traced run", &command.words(), limits, &log, |job| job);
                if let Err(error) = ended {
                    return Err(match &error {
                        ProgramError::Ended { said, .. }
                            if said.contains("Plugin interface not enabled")
                                || said.contains("unknown option 'plugin'") =>
                        {
                            ProgramError::NoPlugins { qemu: qemu.clone(), said: said.clone() }
                        }
                        _ => error,
                    });
                }
                let traces = processes(folder)?;
                if traces.is_empty() {
                    return Err(not_run());
                }
                Ok(Recording::Processes { traces, program: beside.clone() })
            }
        }
    }
}

/// Runs a command with breakpoints in the functions of `program` and `libraries`, to its good end.
fn with_breakpoints(
    command: &Command,
    program: &Path,
    libraries: &[&Path],
    limits: Limits,
    log: &Path,
) -> Result<Vec<native::Object>, ProgramError> {
    let words = command.words();
    let invocation = Invocation::of_words(&words).ok_or_else(|| ProgramError::NotRun {
        command: command.text.clone(),
        program: program.to_owned(),
    })?;
    let files = std::iter::once(program).chain(libraries.iter().copied());
    let named = files.map(|path| path.display().to_string()).collect();
    let request = Request::new(invocation.dir(&command.directory))
        .log(log)
        .objects(Objects { program: false, named, all: false })
        .limit(limits.time)
        .processes(limits.processes);
    let recorded = native::trace(&request)?;
    let how = match recorded.ended {
        End::Exited(0) => return Ok(recorded.objects),
        End::Exited(code) => ended_with(code),
        End::Killed(signal) => killed_by(signal),
        End::TimeOver => {
            return Err(ProgramError::TimeOver {
                command: command.text.clone(),
                seconds: limits.time.as_secs(),
            });
        }
    };
    Err(ProgramError::Ended {
        command: command.text.clone(),
        how,
        said: format!("; what it said is in {}", log.display()),
    })
}

/// Puts the program back in its place, however the trace ended.
struct Tidy<'a> {
    place: &'a Place,
    version: &'a Path,
    beside: &'a Path,
}

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        let _ = self.place.put(self.version);
        let _ = fs::remove_file(self.beside);
    }
}

/// The traces in a folder, `trace.PID`, by number.
fn processes(folder: &Path) -> Result<Vec<PathBuf>, ProgramError> {
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(io("read", folder))? {
        let path = entry.map_err(io("read", folder))?.path();
        let number =
            path.file_name().and_then(|name| name.to_str()?.strip_prefix("trace.")?.parse().ok());
        found.extend(number.map(|number| (number, path)));
    }
    found.sort();
    found.truncate(MOST_PROCESSES);
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_taken_by_the_number_of_their_process() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["trace.12", "trace.9", "trace.13.tmp", "run.log", "trace"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = processes(folder.path()).unwrap();
        assert_eq!(found, ["trace.9", "trace.12"].map(|name| folder.path().join(name)));
    }
}
