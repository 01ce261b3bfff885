//! The stages of `trimtab fit program`.

mod object;
mod result;
mod start;
mod tooling;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use trimtab_lab::program::trace::Tracer;
use trimtab_lab::program::wrap::{Link, Wrappers};
use trimtab_lab::program::{Command, Limits, build};
use trimtab_lab::workdir::{WorkDir, write_whole};
use trimtab_layout::{Algorithm, Movable, Placement, Shuffled, pages};
use trimtab_link::{Check, OrderFile, check, emit};
use trimtab_profile::{Process, Profile, Trace, read};
use trimtab_program::RangeSet;
use trimtab_report::model::FitProgram;

use crate::failure::Failure;
use crate::inputs::Text;
use crate::progress::{Progress, Stage};
use crate::verbs::fit::program::Options;
use object::{Built, Files, Object};
use start::{Round, Starts};
use tooling::Tooling;

/// Random orders to compare with.
const SHUFFLES: u64 = 3;

/// All that was measured; [`result::model`] makes the report of it.
struct Measured<'a> {
    options: &'a Options,
    tooling: &'a Tooling,
    objects: Vec<Sides<'a>>,
    rounds: Vec<Round>,
    /// Whether faults were counted on a disk of our own.
    own_disk: bool,
    /// Of the measured run, before and after.
    instructions: Option<(u64, u64)>,
    trace: PathBuf,
    seconds: Seconds,
}

/// One linked file, before and after.
struct Sides<'a> {
    built: &'a Built,
    before: &'a Object<'a>,
    after: &'a Object<'a>,
    /// A profile for each run; those held out come last.
    profiles: Vec<Profile>,
    profiles_after: Vec<Profile>,
    shuffled: Vec<u32>,
    check: Check,
}

#[derive(Debug, Clone, Copy)]
struct Seconds {
    start: Instant,
    build: Duration,
    trace: Duration,
    layout: Duration,
    relink: Duration,
}

/// What a run executed of each object, in the order of the objects.
struct Ran {
    traces: Vec<Trace>,
    profiles: Vec<Profile>,
    instructions: Option<u64>,
}

/// Fits a program.
///
/// # Errors
/// Missing tools, a build that fails, takes no part or compiles without function sections, a
/// program that cannot be traced or does not end well.
pub fn fit(options: &Options, progress: &Progress) -> Result<FitProgram> {
    let start = Instant::now();
    let directory = std::env::current_dir().context("cannot find the current folder")?;
    let command = |text: &String| Command { text: text.clone(), directory: directory.clone() };
    let trained: Vec<Command> = options.run.iter().map(command).collect();
    let commands: Vec<Command> = options.run.iter().chain(&options.held_out).map(command).collect();
    let limits = Limits { time: Duration::from_secs(options.limit), ..Limits::default() };
    let tooling = Tooling::find(options)?;
    let work = WorkDir::open(&options.work)?;
    let tracer = tooling.tracer(&work)?;
    let builder = Builder {
        command: command(&options.build),
        wrappers: tooling.wrappers(&work)?,
        limit: Duration::from_secs(options.build_limit),
        log: work.path().join("build.log"),
    };

    let stage = progress.stage("build the program");
    let links = builder.first()?;
    let mut built = find_objects(options, &trained[0], &links, work.path())?;
    for object in &mut built {
        object.keep("before")?;
    }
    let build_time = stage.done(&format!("{} files linked", links.len()));
    let files = open(&built, "before")?;
    let before: Vec<Object<'_>> = files.iter().map(Files::object).collect::<Result<_>>()?;
    for object in &before {
        object.require_function_sections()?;
    }

    let stage = progress.stage("trace the program");
    let clock = Instant::now();
    let traces =
        Traces { tracer: &tracer, commands: &commands, built: &built, limits, work: work.path() };
    let ran = traces.record("before", &before, &stage)?;
    for run in &ran[..trained.len()] {
        for (object, profile) in before.iter().zip(&run.profiles) {
            profile
                .coverage()
                .check(options.min_coverage)
                .with_context(|| object.path.display().to_string())?;
        }
    }
    let trace_time = clock.elapsed();
    stage.done(&format!("{} runs", ran.len()));

    let stage = progress.stage("lay out");
    let mut laid_out = Vec::new();
    for (at, object) in before.iter().enumerate() {
        let profiles: Vec<Profile> =
            ran[..trained.len()].iter().map(|run| run.profiles[at].clone()).collect();
        laid_out.push(lay_out(&tooling, object, &profiles, options.seed)?);
    }
    let layout_time = stage.done("");

    let stage = progress.stage("build the program in this order");
    builder.second(&mut built, &laid_out)?;
    let relink_time = stage.done("");
    let files_after = open(&built, "after")?;
    let after: Vec<Object<'_>> = files_after.iter().map(Files::object).collect::<Result<_>>()?;

    let stage = progress.stage("trace the program laid out");
    let traces =
        Traces { tracer: &tracer, commands: &commands, built: &built, limits, work: work.path() };
    let ran_after = traces.record("after", &after, &stage)?;
    stage.done(&format!("{} runs", ran_after.len()));

    for (name, file) in &options.beside {
        built[0].keep_other(name, file)?;
    }
    let own_disk = Cell::new(true);
    let starts = Starts {
        command: &commands[0],
        objects: &built,
        before: &before,
        after: &after,
        beside: &options.beside,
        trimtab: &tooling.trimtab,
        limits,
        work: work.path(),
        own_disk: &own_disk,
    };
    let rounds = starts.measure(options.runs, progress)?;

    // With symbols, so that it also fits another link of the same program.
    let trace = built[0].beside("trace");
    let text = read::write_native(&ran[0].traces[0], &before[0].program);
    write_whole(&trace, text.as_bytes())?;
    let instructions = ran[0].instructions.zip(ran_after[0].instructions);
    let mut objects = Vec::new();
    for (at, (object, laid_out)) in built.iter().zip(laid_out).enumerate() {
        let (before, after) = (&before[at], &after[at]);
        let profiles = |ran: &[Ran]| ran.iter().map(|run| run.profiles[at].clone()).collect();
        let order = OrderFile::parse(&laid_out.order)?;
        objects.push(Sides {
            built: object,
            before,
            after,
            profiles: profiles(&ran),
            profiles_after: profiles(&ran_after),
            shuffled: laid_out.shuffled,
            check: check(&order, &after.program, &after.fragments, &[], Some(&before.program)),
        });
    }
    result::model(&Measured {
        options,
        tooling: &tooling,
        objects,
        rounds,
        own_disk: own_disk.get(),
        instructions,
        trace,
        seconds: Seconds {
            start,
            build: build_time,
            trace: trace_time,
            layout: layout_time,
            relink: relink_time,
        },
    })
}

/// The user's build.
struct Builder {
    command: Command,
    wrappers: Wrappers,
    limit: Duration,
    log: PathBuf,
}

impl Builder {
    /// Builds without any order, and gives what was linked.
    fn first(&self) -> Result<Vec<Link>> {
        // What an earlier run linked in its order would be taken for up to date.
        for link in self.wrappers.links()?.iter().filter(|link| link.order.is_some()) {
            remove(&link.output)?;
        }
        self.wrappers.forget()?;
        build::build(&self.command, &self.wrappers, self.limit, &self.log)?;
        Ok(self.wrappers.links()?)
    }

    /// Builds again, each object in its order.
    fn second(&self, built: &mut [Built], laid_out: &[LaidOut]) -> Result<()> {
        for (object, laid_out) in built.iter_mut().zip(laid_out) {
            self.wrappers.set_order(&object.link.output, &laid_out.order)?;
            object.write_order(&laid_out.order)?;
            // Builds do not know that an order is something that their result depends on.
            remove(&object.link.output)?;
            remove(object.place.path())?;
        }
        build::build(&self.command, &self.wrappers, self.limit, &self.log)?;
        let links = self.wrappers.links()?;
        for object in built {
            object.relinked(&links)?;
            object.keep("after")?;
        }
        Ok(())
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn open(built: &[Built], side: &str) -> Result<Vec<Files>> {
    built.iter().map(|object| object.open(side)).collect()
}

/// The program and the libraries that are to be laid out, the program first.
fn find_objects(
    options: &Options,
    run: &Command,
    links: &[Link],
    work: &Path,
) -> Result<Vec<Built>> {
    let program = match &options.program {
        Some(path) => path.clone(),
        None => guess_program(run, links)?,
    };
    let files = std::iter::once(&program).chain(&options.library);
    files.map(|path| Built::new(path, links, work)).collect()
}

/// The program where none was named: what the first command starts, else the only one linked.
fn guess_program(run: &Command, links: &[Link]) -> Result<PathBuf> {
    let first = run.text.split_whitespace().next().unwrap_or_default();
    let started = run.directory.join(first);
    if first.contains('/') && started.is_file() {
        return Ok(started);
    }
    let is_library = |link: &&Link| link.output.to_string_lossy().contains(".so");
    let programs: Vec<&Link> = links.iter().filter(|link| !is_library(link)).collect();
    match programs.as_slice() {
        [only] => Ok(only.output.clone()),
        _ => Err(Failure::usage(format!(
            "which program is to be laid out? The build linked {} and `{}` starts with none of them",
            programs.len(),
            run.text
        ))
        .hint("name it: --program PATH")
        .into()),
    }
}

/// Runs under the tracer.
struct Traces<'a> {
    tracer: &'a Tracer,
    commands: &'a [Command],
    built: &'a [Built],
    limits: Limits,
    work: &'a Path,
}

impl Traces<'_> {
    /// Runs all commands with the versions of `side`, and finds what ran in `objects`.
    fn record(&self, side: &str, objects: &[Object<'_>], stage: &Stage) -> Result<Vec<Ran>> {
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
    ) -> Result<Ran> {
        // Traces of an earlier run must not pass for this one's.
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let (program, libraries) = self.built.split_first().context("there is no program")?;
        for library in libraries {
            library.place.put(&library.version(side))?;
        }
        let recording = self.tracer.trace(
            command,
            &program.place,
            &program.version(side),
            self.limits,
            folder,
        )?;
        let mut traces: Vec<Vec<Trace>> = objects.iter().map(|_| Vec::new()).collect();
        let mut instructions = None;
        for path in &recording.processes {
            let text = Text::of_trace(path)?;
            let process =
                Process::parse(text.as_str()).with_context(|| path.display().to_string())?;
            // A process that was forked off counts what ran before the fork again.
            instructions = instructions.max(process.instructions());
            for (at, object) in objects.iter().enumerate() {
                let place = self.built[at].place.path();
                let file = if at == 0 { &recording.program } else { place };
                traces[at].push(process.trace_of(&file.to_string_lossy(), &object.program));
            }
        }
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
        Ok(Ran { traces, profiles, instructions })
    }
}

/// An order, and what it is compared with.
struct LaidOut {
    order: String,
    /// Pages that the measured run touches in random orders.
    shuffled: Vec<u32>,
}

fn lay_out(
    tooling: &Tooling,
    object: &Object<'_>,
    profiles: &[Profile],
    seed: u64,
) -> Result<LaidOut> {
    let movable = Movable::new(&object.fragments, profiles, |_| true);
    let problem = movable.problem();
    let order = tooling.algorithm.order(&problem);
    let listed = order.listed().iter().map(|piece| object.fragments.get(movable.fragment(*piece)));
    let text = emit(tooling.linker, listed)?;
    let executed: RangeSet = profiles[0].executed().within(object.range()).collect();
    let random = |number| {
        let order = Shuffled { seed: seed.wrapping_add(number) }.order(&problem);
        let placement = Placement::new(&problem, &order);
        let moved = movable.moved(&object.fragments, &placement, &executed);
        u32::try_from(pages::touched(&moved).len()).unwrap_or(u32::MAX)
    };
    Ok(LaidOut { order: text, shuffled: (0..SHUFFLES).map(random).collect() })
}
