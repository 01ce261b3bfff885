//! The stages of a fit of a program.

mod blocks;
mod builder;
mod object;
mod request;
mod result;
mod start;
mod tooling;
mod traces;

pub use request::{BlockOrder, Granularity, ProgramRequest, Sections, Tracer as TracerChoice};

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use trimtab_lab::workdir::{WorkDir, write_whole};
use trimtab_layout::Movable;
use trimtab_link::{Check, OrderFile, check, emit};
use trimtab_native::program::trace::Tracer;
use trimtab_native::program::wrap::Link;
use trimtab_native::program::{Command, Limits, ProgramError};
use trimtab_profile::{Profile, read};
use trimtab_program::BlockMap;
use trimtab_report::model::{self, FitProgram, Split};

use blocks::Target;
use builder::Builder;
use object::{Built, Files, Object};
use start::{Round, Starts};
use tooling::Tooling;
use traces::{Ran, Traces};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;

/// For each object that clang compiled by blocks, the list of them that it was given.
type Lists = Vec<(PathBuf, PathBuf)>;

/// All that was measured; [`result::model`] makes the report of it.
struct Measured<'a> {
    request: &'a ProgramRequest,
    tooling: &'a Tooling,
    tracer: &'a Tracer,
    /// What was split, at the granularity of blocks.
    split: Option<Split>,
    lists: Lists,
    objects: Vec<Sides<'a>>,
    rounds: Vec<Round>,
    /// Whether faults were counted on a disk of our own.
    own_disk: bool,
    /// Of the measured run, before and after.
    instructions: Option<(u64, u64)>,
    /// Of the measured run in the program itself, before and after.
    jumps_taken: Option<(u64, u64)>,
    trace: PathBuf,
    seconds: Seconds,
}

/// One linked file, before and after.
struct Sides<'a> {
    built: &'a Built,
    /// The script that put together what a start needs, where one did.
    together: Option<PathBuf>,
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
    split: Duration,
    trace: Duration,
    layout: Duration,
    relink: Duration,
}

/// Fits a program.
///
/// # Errors
/// Missing tools, a build that fails, takes no part or compiles without function sections, a
/// program that cannot be traced or does not end well.
pub fn fit(request: &ProgramRequest, progress: &dyn Observe) -> Result<FitProgram> {
    let start = Instant::now();
    let directory = std::env::current_dir().context("cannot find the current folder")?;
    let command = |text: &String| Command { text: text.clone(), directory: directory.clone() };
    let trained: Vec<Command> = request.run.iter().map(command).collect();
    let commands: Vec<Command> = request.run.iter().chain(&request.held_out).map(command).collect();
    let limits = Limits { time: Duration::from_secs(request.limit), ..Limits::default() };
    let tooling = Tooling::find(request)?;
    let work = WorkDir::open(&request.work)?;
    let mut tracer = tooling.tracer(&work)?;
    let builder = Builder {
        command: command(&request.build),
        wrappers: tooling.wrappers(&work)?,
        limit: Duration::from_secs(request.build_limit),
        log: work.path().join("build.log"),
    };

    let stage = progress.stage("build the program");
    let links = builder.first()?;
    let mut built = find_objects(request, &trained[0], &links, work.path())?;
    for object in &mut built {
        object.keep("before")?;
    }
    let build_time = stage.done(&format!("{} files linked", links.len()));
    let files = open(&built, "before")?;
    let before: Vec<Object<'_>> = files.iter().map(Files::object).collect::<Result<_>>()?;
    for object in &before {
        object.require_function_sections()?;
    }
    let maps = block_maps(request, &files, &before)?;

    // What orders blocks, and what comes of it.
    let of_blocks = |tracer: &Tracer| match &maps {
        Some(_) => tracer.with_transitions(),
        None => tracer.clone(),
    };
    let record = |side: &str, objects: &[Object<'_>], built: &[Built], tracer: &Tracer| {
        let stage = progress.stage(match side {
            "before" => "trace the program",
            "split" => "trace the program with functions split",
            _ => "trace the program laid out",
        });
        let traces = Traces { tracer, commands: &commands, built, limits, work: work.path() };
        let ran = traces.record(side, objects, &stage)?;
        stage.done(&format!("{} runs", ran.len()));
        Ok::<_, anyhow::Error>(ran)
    };
    let clock = Instant::now();
    let mut ran = record("before", &before, &built, &of_blocks(&tracer));
    if let (Err(error), None) = (&ran, &maps)
        && may_go_on_with_breakpoints(request, &tracer, error)
        && let Ok(found) = record("before", &before, &built, &Tracer::Native)
    {
        eprintln!(
            "trimtab: warning: the program does not run in QEMU, so breakpoints trace it: {error}"
        );
        tracer = Tracer::Native;
        ran = Ok(found);
    }
    let ran = ran?;
    for run in &ran[..trained.len()] {
        for (object, profile) in before.iter().zip(&run.profiles) {
            profile
                .coverage()
                .check(request.min_coverage)
                .with_context(|| object.path.display().to_string())?;
        }
    }
    let trace_time = clock.elapsed();

    // Where functions are split, the program with split functions is what is laid out.
    let clock = Instant::now();
    let mut split = None;
    if let Some(maps) = &maps {
        let stage = progress.stage("build the program with functions split");
        split =
            split_functions(request, &builder, &mut built, &before, maps, &ran[..trained.len()])?;
        stage.done(&split.as_ref().map_or_else(
            || "nothing to split".to_owned(),
            |(split, _)| format!("{} functions in {} objects", split.functions, split.objects),
        ));
    }
    let files_split = split.as_ref().map(|_| open(&built, "split")).transpose()?;
    let objects_split: Option<Vec<Object<'_>>> = files_split
        .as_ref()
        .map(|files| files.iter().map(Files::object).collect::<Result<_>>())
        .transpose()?;
    let ran_split = objects_split
        .as_ref()
        .map(|objects| record("split", objects, &built, &tracer))
        .transpose()?;
    let split_time = clock.elapsed();
    let base = objects_split.as_ref().unwrap_or(&before);
    let ran_base = ran_split.as_ref().unwrap_or(&ran);

    let stage = progress.stage("lay out");
    let mut laid_out = Vec::new();
    for (at, object) in base.iter().enumerate() {
        let profiles: Vec<Profile> =
            ran_base[..trained.len()].iter().map(|run| run.profiles[at].clone()).collect();
        laid_out.push(LaidOut {
            order: lay_out(&tooling, object, &profiles)?,
            shuffled: shuffled(&before[at], &ran[0].profiles[at], request.seed),
        });
    }
    let layout_time = stage.done("");

    let stage = progress.stage("build the program in this order");
    builder.ordered(&mut built, laid_out.iter().map(|laid_out| laid_out.order.as_str()))?;
    let relink_time = stage.done("");
    let files_after = open(&built, "after")?;
    let after: Vec<Object<'_>> = files_after.iter().map(Files::object).collect::<Result<_>>()?;
    let ran_after = record("after", &after, &built, &of_blocks(&tracer))?;

    for (name, file) in &request.beside {
        built[0].keep_other(name, file)?;
    }
    let own_disk = Cell::new(true);
    let starts = Starts {
        command: &commands[0],
        objects: &built,
        before: &before,
        after: &after,
        beside: &request.beside,
        trimtab: &request.trimtab,
        limits,
        work: work.path(),
        own_disk: &own_disk,
    };
    let rounds = starts.measure(request.runs, progress)?;

    // With symbols, so that it also fits another link of the same program.
    let trace = built[0].beside("trace");
    let text = read::write_native(&ran[0].traces[0], &before[0].program);
    write_whole(&trace, text.as_bytes())?;
    let instructions = ran[0].instructions.zip(ran_after[0].instructions);
    let jumps_taken = |ran: &[Ran]| ran[0].flows[0].jumps_taken();
    let jumps_taken = jumps_taken(&ran).zip(jumps_taken(&ran_after));
    let mut objects = Vec::new();
    for (at, (object, laid_out)) in built.iter().zip(laid_out).enumerate() {
        let (before, after) = (&before[at], &after[at]);
        let profiles = |ran: &[Ran]| ran.iter().map(|run| run.profiles[at].clone()).collect();
        let order = OrderFile::parse(&laid_out.order)?;
        objects.push(Sides {
            built: object,
            together: object.link.together.then(|| builder.wrappers.together()),
            before,
            after,
            profiles: profiles(&ran),
            profiles_after: profiles(&ran_after),
            shuffled: laid_out.shuffled,
            check: check(&order, &after.program, &after.fragments, &[], Some(&base[at].program)),
        });
    }
    result::model(&Measured {
        request,
        tooling: &tooling,
        tracer: &tracer,
        split: split.as_ref().map(|(split, _)| *split),
        lists: split.map(|(_, lists)| lists).unwrap_or_default(),
        objects,
        rounds,
        own_disk: own_disk.get(),
        instructions,
        jumps_taken,
        trace,
        seconds: Seconds {
            start,
            build: build_time,
            split: split_time,
            trace: trace_time,
            layout: layout_time,
            relink: relink_time,
        },
    })
}

/// The blocks of all linked files, where functions are to be split and can be.
fn block_maps(
    request: &ProgramRequest,
    files: &[Files],
    objects: &[Object<'_>],
) -> Result<Option<Vec<BlockMap>>> {
    if request.granularity == Granularity::Function {
        return Ok(None);
    }
    let mut maps = Vec::new();
    for (file, object) in files.iter().zip(objects) {
        maps.push(blocks::block_map(object, file.bytes())?);
    }
    if maps.iter().all(Option::is_none) {
        eprintln!(
            "trimtab: warning: functions are moved whole: no compiler of this build wrote down \
             blocks. For blocks let clang compile, from scratch: CC=clang CXX=clang++, and a clean tree"
        );
        return Ok(None);
    }
    Ok(Some(maps.into_iter().map(Option::unwrap_or_default).collect()))
}

/// Whether a failed trace may be due to the emulator, and breakpoints may do.
fn may_go_on_with_breakpoints(
    request: &ProgramRequest,
    tracer: &Tracer,
    error: &anyhow::Error,
) -> bool {
    let ended = || matches!(error.downcast_ref(), Some(ProgramError::Ended { .. }));
    request.tracer == TracerChoice::Auto && *tracer != Tracer::Native && ended()
}

/// Builds the program with the functions split that `ran`; `None` where there is none to split.
fn split_functions(
    request: &ProgramRequest,
    builder: &Builder,
    built: &mut [Built],
    objects: &[Object<'_>],
    maps: &[BlockMap],
    ran: &[Ran],
) -> Result<Option<(Split, Lists)>> {
    let splitting = {
        let targets: Vec<Target<'_>> = objects
            .iter()
            .enumerate()
            .map(|(at, object)| Target {
                object,
                map: &maps[at],
                link: &built[at].link,
                profiles: ran.iter().map(|run| &run.profiles[at]).collect(),
                flows: (request.block_order == BlockOrder::ExtTsp)
                    .then(|| ran.iter().map(|run| &run.flows[at]).collect()),
            })
            .collect();
        blocks::splitting(&targets, &builder.compiles()?)?
    };
    if splitting.lists.is_empty() {
        return Ok(None);
    }
    builder.split(built, &splitting.lists)?;
    let list = |(output, _): &(PathBuf, String)| (output.clone(), builder.wrappers.list(output));
    let lists = splitting.lists.iter().map(list).collect();
    let split = Split {
        functions: splitting.functions,
        cold_bytes: splitting.cold_bytes,
        objects: splitting.lists.len() as u64,
        block_order: match request.block_order {
            BlockOrder::Source => model::BlockOrder::Source,
            BlockOrder::ExtTsp => model::BlockOrder::ExtTsp,
        },
    };
    Ok(Some((split, lists)))
}

fn open(built: &[Built], side: &str) -> Result<Vec<Files>> {
    built.iter().map(|object| object.open(side)).collect()
}

/// The program and the libraries that are to be laid out, the program first.
fn find_objects(
    request: &ProgramRequest,
    run: &Command,
    links: &[Link],
    work: &Path,
) -> Result<Vec<Built>> {
    let program = match &request.program {
        Some(path) => path.clone(),
        None => guess_program(run, links)?,
    };
    let files = std::iter::once(&program).chain(&request.library);
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

/// An order, and what it is compared with.
struct LaidOut {
    order: String,
    /// Pages that the measured run touches in random orders.
    shuffled: Vec<u32>,
}

fn lay_out(tooling: &Tooling, object: &Object<'_>, profiles: &[Profile]) -> Result<String> {
    let movable = Movable::new(&object.fragments, profiles, |_| true);
    let problem = movable.problem();
    let order = tooling.algorithm.order(&problem);
    let listed = order.listed().iter().map(|piece| object.fragments.get(movable.fragment(*piece)));
    Ok(emit(tooling.linker, listed)?)
}

/// Pages that `profile` would touch with all functions of the object shuffled.
fn shuffled(object: &Object<'_>, profile: &Profile, seed: u64) -> Vec<u32> {
    crate::shuffled(&object.fragments, profile, object.range(), |_| true, seed)
}
