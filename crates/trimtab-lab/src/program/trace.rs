//! One run of a command, with all that a program and its libraries executed.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::io;
use super::place::Place;
use super::wrap::quoted;
use super::{Command, Limits, ProgramError};

/// What records a run. Each gives the trace of a process as `trimtab_profile::Process` reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tracer {
    /// QEMU for single programs, with the tracing plugin: every block, exactly, on any machine.
    Qemu {
        /// `qemu-x86_64` or another of its kind.
        qemu: PathBuf,
        /// The plugin.
        plugin: PathBuf,
    },
}

/// What was recorded of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// A trace for each process that ran the program, the first process first.
    pub processes: Vec<PathBuf>,
    /// The path under which the program's file is in the traces.
    pub program: PathBuf,
}

/// The most processes of which a trace is read: start-ups have a few, and a program that forks for
/// each job would bring nothing new.
const MOST_PROCESSES: usize = 64;

impl Tracer {
    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Tracer::Qemu { .. } => "qemu",
        }
    }

    /// Runs `command` and records what the program at `place` executes, in the version `version`,
    /// and its libraries. Traces are written to `folder`.
    ///
    /// # Errors
    /// [`ProgramError::NotRun`] where the command does not start the program, and whatever keeps the
    /// command from ending well.
    pub fn trace(
        &self,
        command: &Command,
        place: &Place,
        version: &Path,
        limits: Limits,
        folder: &Path,
    ) -> Result<Recording, ProgramError> {
        fs::create_dir_all(folder).map_err(io("make", folder))?;
        match self {
            Tracer::Qemu { qemu, plugin } => {
                // The program's place holds a script that starts the emulator with the program,
                // which lies beside it: so it is traced however the command comes to start it, and
                // finds its libraries and data from where it lies.
                let beside = place.beside("traced");
                let _tidy = Tidy { place, version, beside: &beside };
                let _ = fs::remove_file(&beside);
                fs::hard_link(version, &beside).map_err(io("link", version))?;
                let out = folder.join("trace");
                place.put_script(&format!(
                    "#!/bin/sh\nexec {} -0 \"$0\" -plugin {},out={} {} \"$@\"\n",
                    quoted(qemu),
                    quoted(plugin),
                    quoted(&out),
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
                let processes = processes(folder)?;
                if processes.is_empty() {
                    return Err(ProgramError::NotRun {
                        command: command.text.clone(),
                        program: place.path().to_owned(),
                    });
                }
                Ok(Recording { processes, program: beside.clone() })
            }
        }
    }
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
