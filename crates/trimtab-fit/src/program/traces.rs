//! Runs under a tracer, and what they executed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trimtab_layout::BlockFlow;
use trimtab_native::native;
use trimtab_native::program::trace::{Recording, Tracer};
use trimtab_native::program::{Command, Limits};
use trimtab_profile::{Place, Process, Profile, Source, Trace, Transition};

use super::object::{LinkedFile, Object};
use trimtab_inputs::Text;
use trimtab_lab::observe::Stage;

/// What a run executed of each object, in the order of the objects.
pub(super) struct Run {
    pub traces: Vec<Trace>,
    pub profiles: Vec<Profile>,
    /// How control moved between blocks, as far as the tracer counted it.
    pub flows: Vec<BlockFlow>,
    /// Where the tracer counts.
    pub instructions: Option<u64>,
}

/// Runs under the tracer.
pub(super) struct Traces<'a> {
    pub tracer: &'a Tracer,
    pub commands: &'a [Command],
    pub built: &'a [LinkedFile],
    pub limits: Limits,
    pub work: &'a Path,
}

impl Traces<'_> {
    /// Runs all commands with the versions of `side`, and finds what ran in `objects`.
    pub fn record(&self, side: &str, objects: &[Object<'_>], stage: &Stage) -> Result<Vec<Run>> {
        stage.parts(self.commands.len() as u64);
        let mut all = Vec::new();
        for (number, command) in self.commands.iter().enumerate() {
            stage.note(&command.text);
            let folder = self.work.join("traces").join(format!("{side}-{number}"));
            all.push(self.run(side, command, objects, &folder)?);
            stage.at(number as u64 + 1);
        }
        Ok(all)
    }

    fn run(
        &self,
        side: &str,
        command: &Command,
        objects: &[Object<'_>],
        folder: &Path,
    ) -> Result<Run> {
        // Traces of an earlier run must not pass for this one's.
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let (program, libraries) = self.built.split_first().context("there is no program")?;
        for library in libraries {
            library.place.put(&library.version(side))?;
        }
        let places: Vec<&Path> = libraries.iter().map(|library| library.place.path()).collect();
        let recording = self.tracer.trace(
            command,
            &program.place,
            &program.version(side),
            &places,
            self.limits,
            folder,
        )?;
        match recording {
            Recording::Processes { traces, program } => self.blocks(objects, &traces, &program),
            Recording::Functions(found) => self.functions(objects, &found),
        }
    }

    fn blocks(&self, objects: &[Object<'_>], processes: &[PathBuf], program: &Path) -> Result<Run> {
        let mut traces: Vec<Vec<Trace>> = objects.iter().map(|_| Vec::new()).collect();
        let mut transitions: Vec<Vec<Transition>> = vec![Vec::new(); objects.len()];
        let mut instructions = None;
        for path in processes {
            let text = Text::of_trace(path)?;
            let process =
                Process::parse(text.as_str()).with_context(|| path.display().to_string())?;
            // A process that was forked off counts what ran before the fork again.
            instructions = instructions.max(process.instructions());
            for (at, object) in objects.iter().enumerate() {
                let file = if at == 0 { program } else { self.built[at].place.path() };
                let file = file.to_string_lossy();
                traces[at].push(process.trace_of(&file, &object.program));
                transitions[at].extend(process.transitions_of(&file, &object.program));
            }
        }
        let flows = traces.iter().zip(transitions).map(|(all, passed)| BlockFlow::new(all, passed));
        let flows = flows.collect();
        Ok(Run { instructions, flows, ..found(objects, traces)? })
    }

    fn functions(&self, objects: &[Object<'_>], recorded: &[native::Object]) -> Result<Run> {
        let traces = self
            .built
            .iter()
            .map(|built| {
                let same = recorded.iter().find(|object| object.path == built.place.path());
                vec![whole(same)]
            })
            .collect();
        found(objects, traces)
    }
}

/// Finds the traces of each object's processes in it.
fn found(objects: &[Object<'_>], traces: Vec<Vec<Trace>>) -> Result<Run> {
    let profiles = objects
        .iter()
        .zip(&traces)
        .map(|(object, traces)| {
            let resolve = |trace| Profile::resolve(trace, &object.program);
            let profiles: Vec<Profile> = traces.iter().map(resolve).collect();
            Profile::merge(&profiles).context("there is no trace")
        })
        .collect::<Result<_>>()?;
    let traces = traces.into_iter().filter_map(|all| all.into_iter().next()).collect();
    let flows = vec![BlockFlow::default(); objects.len()];
    Ok(Run { traces, profiles, flows, instructions: None })
}

/// Functions that were entered, each taken to have run from its first to its last byte: no more is
/// known, and a layout must not count on less.
fn whole(object: Option<&native::Object>) -> Trace {
    let mut trace = Trace::new(Source::Breakpoints);
    for entered in object.map_or(&[][..], |object| &object.entered) {
        let name = trace.intern(&entered.name);
        let start = entered.address;
        let place = match u32::try_from(entered.size) {
            Ok(length) if length > 0 => Place::Block { start, length },
            _ => Place::Address(start),
        };
        trace.record(place, Some((name, 0)), 1);
    }
    trace
}
