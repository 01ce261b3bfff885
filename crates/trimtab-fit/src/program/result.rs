//! What was measured, as the report's model.

use std::collections::BTreeMap;
use std::fs;

use crate::report::{
    Beside, Curve, Faults, FitProgram, Granularity, HeldOutRun, ObjectLayout, PageCounts,
    ProgramArtifacts, Seconds, Text, Times,
};
use anyhow::{Context, Result};
use trimtab_lab::shell;
use trimtab_layout::{Footprint, pages};
use trimtab_link::Outcome;
use trimtab_link::SPLIT_FLAGS;
use trimtab_native::program::disk;
use trimtab_program::PAGE_SIZE;
use trimtab_report::common::{
    BeforeAfter, Check, Coverage, Functions, Minimum, OrderCounts, Repeat,
};
use trimtab_stats::{self as statistics, StatisticsError};
use trimtab_stats::{Estimate as Mean, Interval};

use super::evidence::{Evidence, Sides};
use super::object::Object;
use super::request::{BlockOrder, Sections};
use super::start::Round;
use super::start::Start;
use crate::cause;
use trimtab_inputs::sha256;

/// The most points of a curve that a report holds.
const CURVE_POINTS: usize = 600;

/// Makes the report's model.
pub(super) fn model(m: &Evidence<'_>) -> Result<FitProgram> {
    let main = m.objects.first().context("there is no program")?;
    let request = m.request;
    let mut fit = FitProgram {
        schema: Default::default(),
        program: main.before.path.display().to_string(),
        arch: main.before.program.isa().name().to_owned(),
        tracer: m.tracer.name().to_owned(),
        granularity: m.split.map_or(Granularity::Function, |_| Granularity::Block),
        split: m.split.unwrap_or_default(),
        together: m.objects.iter().all(|sides| sides.together.is_some()),
        linker: m.tooling.linker.name().to_owned(),
        algorithm: m.tooling.algorithm.name().to_owned(),
        build: request.build.clone(),
        runs: request.run.clone(),
        seed: request.seed,
        page_size: PAGE_SIZE as u32,
        layout: layout(main),
        libraries: m.objects[1..].iter().map(layout).collect(),
        faults: Faults {
            runs: m.rounds.len() as u32,
            read_ahead_kib: m.own_disk.then_some(disk::READ_AHEAD_KIB),
            minor: means(m, |start| start.counted.minor as f64),
            major: means(m, |start| start.counted.major as f64),
        },
        warm_minor_faults: means(m, |start| start.warm.minor as f64),
        resident_file_kib: means(m, |start| start.resident as f64 / 1024.0),
        resident_text_kib: means(m, |start| start.resident_text as f64 / 1024.0),
        instructions: m.instructions.map(|(before, after)| BeforeAfter::new(before, after)),
        jumps_taken: m.jumps_taken.map(|(before, after)| BeforeAfter::new(before, after)),
        held_out: held_out(m, main),
        beside: beside(m)?,
        seconds: Seconds {
            total: m.seconds.start.elapsed().as_secs_f64(),
            build: m.seconds.build.as_secs_f64(),
            split: m.seconds.split.as_secs_f64(),
            trace: m.seconds.trace.as_secs_f64(),
            layout: m.seconds.layout.as_secs_f64(),
            relink: m.seconds.relink.as_secs_f64(),
        },
        artifacts: artifacts(m, main),
        repeat: repeat(m)?,
        checks: checks(m),
        ..FitProgram::default()
    };
    times(m, &mut fit)?;
    Ok(fit)
}

/// Counts of pages fit 32 bits by far; a report is no place to fail over one that does not.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn layout(sides: &Sides<'_>) -> ObjectLayout {
    let (before, after) = (sides.before, sides.after);
    let (profile, profile_after) = (&sides.profiles[0], &sides.profiles_after[0]);
    let foot = Footprint::of(&before.program, before.text, profile);
    let foot_after = Footprint::of(&after.program, after.text, profile_after);
    let count = |outcome| sides.check.count(outcome);
    ObjectLayout {
        file: before.path.display().to_string(),
        text: Text {
            pages_spanned: BeforeAfter::new(
                narrow(foot.pages_spanned),
                narrow(foot_after.pages_spanned),
            ),
            bytes: BeforeAfter::new(before.range().length(), after.range().length()),
        },
        touched: PageCounts {
            before: narrow(foot.touched),
            after: narrow(foot_after.touched),
            shuffled: sides.shuffled.clone(),
        },
        minimum: Minimum {
            function_pages: narrow(foot.function_pages),
            executed_pages: narrow(foot.executed_pages),
        },
        separate: before.separate(),
        functions: Functions { total: foot.functions, executed: foot.functions_executed },
        coverage: Coverage { names: profile.coverage().names(), bytes: profile.coverage().bytes() },
        order: OrderCounts {
            placed: count(Outcome::Placed),
            unknown: count(Outcome::Unknown),
            duplicate: count(Outcome::Duplicate),
            discarded: count(Outcome::Discarded),
            pinned: count(Outcome::Pinned),
        },
        left_out: sides.left_out,
        namesakes: sides.namesakes,
        misplaced: count(Outcome::Misplaced),
        curve_area: BeforeAfter::new(foot.curve_area() as f64, foot_after.curve_area() as f64),
        file_bytes: BeforeAfter::new(before.bytes, after.bytes),
        page_map: BeforeAfter::new(
            pages::map(before.range(), profile.executed()),
            pages::map(after.range(), profile_after.executed()),
        ),
        curve: Curve::sampled(&foot.curve, &foot_after.curve, CURVE_POINTS),
    }
}

fn held_out(m: &Evidence<'_>, main: &Sides<'_>) -> Vec<HeldOutRun> {
    let first = m.request.run.len();
    let profiles = main.profiles.iter().zip(&main.profiles_after).skip(first);
    m.request
        .held_out
        .iter()
        .zip(profiles)
        .map(|(name, (before, after))| {
            let before = Footprint::of(&main.before.program, main.before.text, before);
            let after = Footprint::of(&main.after.program, main.after.text, after);
            HeldOutRun::new(
                name,
                BeforeAfter::new(narrow(before.touched), narrow(after.touched)),
                narrow(before.function_pages),
            )
        })
        .collect()
}

fn samples(m: &Evidence<'_>, of: impl Fn(&Start) -> f64) -> BeforeAfter<Vec<f64>> {
    BeforeAfter::new(
        m.rounds.iter().map(|round| of(&round.before)).collect(),
        m.rounds.iter().map(|round| of(&round.after)).collect(),
    )
}

fn means(m: &Evidence<'_>, of: impl Fn(&Start) -> f64) -> BeforeAfter<f64> {
    samples(m, of).map(|samples| statistics::mean(samples).unwrap_or(0.0))
}

/// A ratio of times with the times themselves.
fn compared(
    sides: &BeforeAfter<Vec<f64>>,
) -> Result<(Interval, BeforeAfter<Mean>), StatisticsError> {
    let ratio = statistics::paired_ratio(&sides.before, &sides.after)?;
    let means =
        BeforeAfter::new(statistics::measured(&sides.before)?, statistics::measured(&sides.after)?);
    Ok((ratio, means))
}

fn times(m: &Evidence<'_>, fit: &mut FitProgram) -> Result<()> {
    if m.rounds.len() < 2 {
        return Ok(());
    }
    let (cold_ratio, cold) = compared(&samples(m, |start| start.cold.wall))?;
    let (warm_ratio, warm) = compared(&samples(m, |start| start.warm.wall))?;
    let speaks = |start: &Start| start.cold.first_output.is_some();
    let mut first_output = None;
    if m.rounds.iter().all(|round| speaks(&round.before) && speaks(&round.after)) {
        let sides = samples(m, |start| start.cold.first_output.unwrap_or(0.0));
        let (ratio, means) = compared(&sides)?;
        fit.first_output_ratio = Some(ratio);
        first_output = Some(means);
    }
    fit.time_ratio = Some(cold_ratio);
    fit.warm_time_ratio = Some(warm_ratio);
    fit.time = Some(Times { cold, first_output, warm });
    Ok(())
}

/// What others made, measured like ours.
fn beside(m: &Evidence<'_>) -> Result<Vec<Beside>> {
    let measured = |(at, (name, file)): (usize, &(String, std::path::PathBuf))| {
        let all = |of: &dyn Fn(&Start) -> f64| -> Vec<f64> {
            m.rounds.iter().map(|round| of(&round.beside[at])).collect()
        };
        let mean = |of: &dyn Fn(&Start) -> f64| statistics::mean(&all(of)).unwrap_or(0.0);
        let ours = |of: &dyn Fn(&Start) -> f64| -> Vec<f64> {
            m.rounds.iter().map(|round| of(&round.after)).collect()
        };
        let ratio = |of: &dyn Fn(&Start) -> f64| match m.rounds.len() {
            0 | 1 => Ok(None),
            _ => statistics::paired_ratio(&all(of), &ours(of)).map(Some),
        };
        let speaks = |start: &Start| start.cold.first_output.is_some();
        let first = m.rounds.iter().all(|r| speaks(&r.beside[at]) && speaks(&r.after));
        Ok(Beside {
            name: name.clone(),
            file_bytes: fs::metadata(file)
                .with_context(|| format!("cannot read {}", file.display()))?
                .len(),
            major_faults: mean(&|start| start.counted.major as f64),
            minor_faults: mean(&|start| start.counted.minor as f64),
            resident_file_kib: mean(&|start| start.resident as f64 / 1024.0),
            warm_minor_faults: mean(&|start| start.warm.minor as f64),
            time_ratio: ratio(&|start| start.cold.wall)?,
            first_output_ratio: match first {
                true => ratio(&|start| start.cold.first_output.unwrap_or(0.0))?,
                false => None,
            },
        })
    };
    m.request.beside.iter().enumerate().map(measured).collect()
}

fn artifacts(m: &Evidence<'_>, main: &Sides<'_>) -> ProgramArtifacts {
    let path = |path: &std::path::Path| path.display().to_string();
    ProgramArtifacts {
        program_before: path(&main.built.version("before")),
        program_after: path(&main.built.version("after")),
        order_files: m.objects.iter().map(|object| path(&object.built.order())).collect(),
        trace: path(&m.trace),
        block_lists: m.lists.iter().map(|(object, list)| (path(object), path(list))).collect(),
        use_it: use_it(m, main),
        html: m.request.html.as_deref().map(path),
    }
}

/// What a build has to do to stay as the program was laid out.
fn use_it(m: &Evidence<'_>, main: &Sides<'_>) -> String {
    let mut text = m.tooling.linker.how_to_use(&main.built.order().display().to_string());
    if let Some(script) = &main.together {
        text += &format!(" -Wl,-T,{}", script.display());
    }
    if m.split.is_some() {
        text += &format!(
            "; compile each object of artifacts.block_lists with clang's \
             -fbasic-block-sections=list=FILE {}",
            SPLIT_FLAGS.join(" ")
        );
    }
    text
}

fn repeat(m: &Evidence<'_>) -> Result<Repeat> {
    let mut inputs = BTreeMap::new();
    for object in &m.objects {
        let name = object.before.path.display();
        for side in ["before", "after"] {
            let file = object.built.version(side);
            let bytes =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            inputs.insert(format!("{name} {side}"), sha256([bytes.as_slice()]));
        }
    }
    Ok(Repeat {
        command: command(m),
        tool_versions: m.tooling.versions().clone(),
        inputs,
        seed: m.request.seed,
    })
}

/// The command that repeats this.
fn command(m: &Evidence<'_>) -> String {
    let request = m.request;
    let mut words = vec!["--build".to_owned(), request.build.clone()];
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for run in &request.run {
        add("--run", run.clone());
    }
    for run in &request.held_out {
        add("--held-out", run.clone());
    }
    if let Some(program) = &request.program {
        add("--program", program.display().to_string());
    }
    for library in &request.library {
        add("--library", library.display().to_string());
    }
    for (name, file) in &request.beside {
        add("--beside", format!("{name}={}", file.display()));
    }
    if m.split.is_some() {
        add("--granularity", "block".to_owned());
        if request.block_order == BlockOrder::ExtTsp {
            add("--block-order", "ext-tsp".to_owned());
        }
    }
    if request.sections == Sections::Kept {
        add("--sections", "kept".to_owned());
    }
    add("--tracer", m.tracer.name().to_owned());
    add("--linker", m.tooling.linker.name().to_owned());
    add("--algorithm", request.algorithm.clone());
    add("--runs", request.runs.to_string());
    add("--min-coverage", request.min_coverage.to_string());
    add("--seed", request.seed.to_string());
    format!("{}trimtab fit program {}", variables(), shell::command_line(&words))
}

/// Whether a symbol is of a part of a function, as compilers name them.
fn is_part(name: &str) -> bool {
    name.ends_with(".cold") || name.ends_with(".eh")
}

/// What of the environment says how builds compile and link, for a shell, with a blank at the end.
fn variables() -> String {
    let set = ["CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "RUSTFLAGS", "LLVM"]
        .into_iter()
        .filter_map(|name| Some(shell::quoted(format!("{name}={}", std::env::var(name).ok()?))));
    let set: Vec<String> = set.collect();
    if set.is_empty() { String::new() } else { format!("env {} ", set.join(" ")) }
}

/// How many lines are in their places, and why the others are not.
fn followed(object: &Sides<'_>) -> String {
    let check = &object.check;
    let (lines, placed) = (check.lines.len(), check.count(Outcome::Placed));
    let before = (&object.base.program, object.base.path);
    let mut said = vec![format!("{lines} lines, {placed} placed")];
    said.extend(cause::all(check, &object.after.program, before));
    said.join("; ")
}

fn checks(m: &Evidence<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for object in &m.objects {
        let of = match m.objects.len() {
            1 => String::new(),
            _ => format!(" ({})", object.before.path.display()),
        };
        let count = |outcome| object.check.count(outcome);
        let lost = count(Outcome::Misplaced) + count(Outcome::Unknown) + count(Outcome::Discarded);
        checks.push(Check::new(
            format!("the linker honoured the order{of}"),
            lost == 0 && count(Outcome::Placed) > 0,
            followed(object),
        ));
        // What was split off a function is no function of its own.
        let functions = |side: &Object<'_>| {
            let all = side.program.functions().iter();
            all.filter(|function| !is_part(function.name)).count()
        };
        let (before, after) = (functions(object.before), functions(object.after));
        checks.push(Check::new(
            format!("the two builds have the same functions{of}"),
            before == after,
            format!("{before} before, {after} after"),
        ));
    }
    let outputs = |of: fn(&Round) -> [&str; 2]| -> Vec<&str> {
        let mut all: Vec<&str> = m.rounds.iter().flat_map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let before = outputs(|round| [&round.before.cold.output, &round.before.warm.output]);
    let after = outputs(|round| [&round.after.cold.output, &round.after.warm.output]);
    // What differs from run to run anyway says nothing.
    if before.len() == 1 {
        checks.push(Check::new(
            "the program laid out prints the same",
            before == after,
            format!("{} starts", 2 * m.rounds.len()),
        ));
    }
    checks
}
