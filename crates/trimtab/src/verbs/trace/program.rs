//! `trimtab trace program`: which functions of a program run on this machine.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{ArgGroup, Args};
use serde::Serialize;
use trimtab_lab::process::Invocation;
use trimtab_native::native::{self, End, Object, Objects, Recording, Request};
use trimtab_report::number::count;

use crate::progress::Steady;
use crate::{destination, output};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;

/// Runs a program and records which of its functions run, in order of first execution. It needs
/// their symbols, and neither special hardware nor another build: a breakpoint stands at the entry
/// of each function until it is first hit. Threads and the processes that it starts are traced as
/// well.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("destination").required(true).args(["output", "folder"])),
    after_help = "\
Example: trace the start of a program

    trimtab trace program -o app.trace -- ./app --version

Example: trace a server and its libraries for five seconds

    trimtab trace program --library libssl --folder traces --stop-after 5 -- ./server"
)]
pub struct Options {
    /// Write the trace of the program to FILE
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a trace for each program and library that is traced to FOLDER, which is made: NAME.trace
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Trace this library or further program as well: a path, a file name, or its beginning up to a
    /// dot or dash, as in libssl; can be given again
    #[arg(long, value_name = "NAME", conflicts_with = "output")]
    pub library: Vec<String>,
    /// Trace everything with symbols
    #[arg(long, conflicts_with = "output")]
    pub all: bool,
    /// End the program after this many seconds, which is no failure: for those that never end
    #[arg(long, value_name = "SECONDS", conflicts_with = "timeout", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub stop_after: Option<u32>,
    /// Give up on the program after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub timeout: u32,
    /// Most processes that it may have at once
    #[arg(long, value_name = "N", default_value_t = Request::DEFAULT_PROCESSES as u32, value_parser = clap::value_parser!(u32).range(1..=400))]
    pub processes: u32,
    /// Also write a summary of what was recorded as JSON to FILE; - writes it to standard output,
    /// which the program then does not get
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `trimtab.trace.program/1`.
#[derive(Debug, Serialize)]
struct Summary {
    schema: &'static str,
    command: Vec<String>,
    source: &'static str,
    ended: ProgramEnd,
    processes: u64,
    objects: Vec<TraceFiles>,
    notes: Vec<Note>,
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ProgramEnd {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// By trimtab, when its time was over.
    Timeout,
}

/// A trace that was written.
#[derive(Debug, Serialize)]
struct TraceFiles {
    path: String,
    build_id: Option<String>,
    output: String,
    /// Functions that were watched.
    functions: u64,
    /// Functions that ran.
    entered: u64,
}

/// A file of which less was seen than was wanted.
#[derive(Debug, Serialize)]
struct Note {
    path: String,
    why: String,
}

/// Traces.
///
/// # Errors
/// A program that cannot be started or traced, that fails or does not end in time, files that cannot
/// be written. What ran until then is written all the same.
pub fn run(options: &Options) -> anyhow::Result<()> {
    // What would only fail after the run fails now.
    destination::check([options.output.as_deref(), options.json.as_deref()])?;
    if let Some(folder) = &options.folder {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let stage = Steady.stage("run the program");
    let recorded = native::trace(&request(options))?;
    let entered: usize = recorded.objects.iter().map(|object| object.entered.len()).sum();
    stage.done(&format!("{} functions ran", count(entered as u64)));

    let summary = Summary {
        schema: "trimtab.trace.program/1",
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        source: trimtab_profile::Source::Breakpoints.name(),
        ended: match recorded.ended {
            End::Exited(status) => ProgramEnd::Status(status),
            End::Killed(signal) => ProgramEnd::Signal(signal),
            End::TimeOver => ProgramEnd::Timeout,
        },
        processes: recorded.processes,
        objects: write(options, &recorded)?,
        notes: recorded.skipped.iter().map(Note::new).collect(),
    };
    if let Some(file) = &options.json {
        output::json(&summary, file)?;
    }
    if !options.json.as_deref().is_some_and(output::is_standard_output) {
        output::print(&summary.render(recorded.ended))?;
    }
    summary.check(options, recorded.ended)
}

fn request(options: &Options) -> Request {
    let mut words = options.command.iter();
    let limit = options.stop_after.unwrap_or(options.timeout);
    let objects = Objects { program: true, named: options.library.clone(), all: options.all };
    let program = words.next().cloned().unwrap_or_default();
    let request = Request::new(Invocation::new(program).args(words))
        .objects(objects)
        .limit(Duration::from_secs(limit.into()))
        .processes(options.processes as usize);
    if options.json.as_deref().is_some_and(output::is_standard_output) {
        request.output_to_error()
    } else {
        request
    }
}

/// Writes the traces.
fn write(options: &Options, recorded: &Recording) -> anyhow::Result<Vec<TraceFiles>> {
    let mut written = Vec::new();
    let mut names = HashMap::new();
    for object in &recorded.objects {
        let path = match (&options.output, &options.folder) {
            (Some(file), _) => file.clone(),
            (None, Some(folder)) => folder.join(file_name(&object.path, &mut names)),
            (None, None) => return Err(Failure::usage("there is no --output").into()),
        };
        // A library that was mapped and did not run has no trace.
        if object.entered.is_empty() {
            continue;
        }
        output::whole(&path, &object.text())?;
        written.push(TraceFiles::new(object, &path));
    }
    Ok(written)
}

/// `NAME.trace` for a file, or `NAME-2.trace` for the second of its name.
fn file_name(path: &Path, names: &mut HashMap<OsString, u32>) -> OsString {
    let mut name = path.file_name().unwrap_or(path.as_os_str()).to_owned();
    let times = names.entry(name.clone()).or_insert(0);
    *times += 1;
    if *times > 1 {
        name.push(format!("-{times}"));
    }
    name.push(".trace");
    name
}

impl TraceFiles {
    fn new(object: &Object, output: &Path) -> Self {
        TraceFiles {
            path: object.path.display().to_string(),
            build_id: object.build_id.clone(),
            output: output.display().to_string(),
            functions: object.functions as u64,
            entered: object.entered.len() as u64,
        }
    }
}

impl Note {
    fn new(skipped: &native::SkippedFile) -> Self {
        Note { path: skipped.path.display().to_string(), why: skipped.why.clone() }
    }
}

impl Summary {
    fn render(&self, ended: End) -> String {
        let mut text = String::new();
        for object in &self.objects {
            text.push_str(&format!(
                "{}: {} of {} functions of {} ran\n",
                object.output,
                count(object.entered),
                count(object.functions),
                Path::new(&object.path).file_name().unwrap_or_default().display()
            ));
        }
        let processes = match self.processes {
            1 => String::new(),
            processes => format!("{} processes; ", count(processes)),
        };
        text.push_str(&format!("{processes}{} {ended}\n", self.command.join(" ")));
        for Note { path, why } in &self.notes {
            text.push_str(&format!("note: {path}: {why}\n"));
        }
        text
    }

    /// Whether the run was what it should have been.
    fn check(&self, options: &Options, ended: End) -> anyhow::Result<()> {
        let command = self.command.join(" ");
        let fail = |why: String| Failure::new(why).hint("what ran until then has been written");
        match ended {
            End::Exited(0) => {}
            End::TimeOver if options.stop_after.is_some() => {}
            End::TimeOver => {
                let why = format!("{command} had not ended after {} s", options.timeout);
                return Err(fail(why).hint("for a program that never ends: --stop-after").into());
            }
            ended => return Err(fail(format!("{command} {ended}")).into()),
        }
        let ran = |name: &String| {
            let named = Objects { program: false, named: vec![name.clone()], all: false };
            self.objects.iter().any(|object| named.names(Path::new(&object.path)))
        };
        if let Some(name) = options.library.iter().find(|name| !ran(name)) {
            return Err(Failure::new(format!(
                "nothing ran of {name}; expected a file of this name that the program maps, with \
                 symbols of functions"
            ))
            .hint("--all traces everything, and shows what that is")
            .into());
        }
        if self.objects.is_empty() {
            return Err(Failure::new(format!(
                "none of the functions ran of which {command} has symbols"
            ))
            .hint("build it without stripping; of a stripped file only exported functions are seen")
            .into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_same_name_get_traces_of_their_own() {
        let mut names = HashMap::new();
        let mut name = |path: &str| file_name(Path::new(path), &mut names);
        assert_eq!(name("/lib/libx.so.1"), "libx.so.1.trace");
        assert_eq!(name("/opt/lib/libx.so.1"), "libx.so.1-2.trace");
        assert_eq!(name("/bin/app"), "app.trace");
    }

    #[test]
    fn ends_are_told_apart_by_programs() {
        let json = |ended: &ProgramEnd| serde_json::to_string(ended).unwrap();
        assert_eq!(json(&ProgramEnd::Status(3)), r#"{"status":3}"#);
        assert_eq!(json(&ProgramEnd::Signal(11)), r#"{"signal":11}"#);
        assert_eq!(json(&ProgramEnd::Timeout), r#""timeout""#);
    }
}
