//! The whole job of tuning a program.

use std::time::Instant;

use anyhow::Result;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;

use super::all_objects::on_all_objects;
use super::arms::{MeasuredArm, program_arms};
use super::decided::{Found, timed};
use super::elsewhere::{Fingerprint, ProgramElsewhere};
use super::held_out::{HeldOut, held_out, held_out_base};
use super::hot;
use super::job::Job;
use super::program::ProgramSubject;
use super::request::Request;
use super::results::{checks, core_costs, repeat};
use super::source::ProgramSource;
use super::stopwatch::{Here, OnBoard, Stopwatch};
use super::subject::Subject;
use super::tuning::{Toolset, Tuning, prepare};
use crate::report::{CoreCosts, TuneProgram};

/// Tunes a program.
///
/// # Errors
/// What is missing, a program that cannot be tuned, and an interrupt: the same command goes on then.
pub fn tune(request: &Request, observe: &dyn Observe) -> Result<TuneProgram> {
    let start = Instant::now();
    let mut tools = prepare(&request.program, &request.setup, None, observe)?;
    let whole = request.hot.as_ref().map(|_| tools.source.clone());
    if let Some(hot) = &request.hot {
        let found = hot::find(&tools, hot, request.hot_trace.as_ref(), observe)?;
        tools.source.restrict(found);
    }
    let program = tools.program(&tools.compiler);
    let elsewhere = match &request.workers {
        Some(plan) => Some(ProgramElsewhere::start(&program, request, plan, tools.root())?),
        None => None,
    };
    let subject: &dyn Subject = match &elsewhere {
        Some(elsewhere) => elsewhere,
        None => &program,
    };
    let tuning = Tuning::make(&tools, &program, subject, observe)?;
    let held_out = held_out_base(&tuning, &program, observe)?;
    let arms = program_arms(&tuning, &tools, &program, observe)?;
    takes_flags(&tuning, &tools.source, &arms)?;
    let mut job = Job::done(&tuning, &request.plan, &arms, observe)?;
    job.report.origin.clone_from(&tools.source.origin);
    job.report.compiler.clone_from(&tools.compiler.version);
    job.report.core = program_core(&tuning, &tools, &job)?;
    if let Some(base) = &held_out {
        judged(&tuning, &program, base, &mut job.report, observe)?;
    }
    let Job { report, driven, minimal, .. } = &mut job;
    let mut stopwatch = stopwatch(request, &tools, &program)?;
    report.timed_on = request.time_on.as_ref().map(|board| board.host.clone());
    let found = Found { tuning: &tuning, driven, minimal, arms: &arms };
    timed(&found, (request.rounds, stopwatch.as_mut()), report, observe)?;
    let mut hot = tools.source.hot.as_ref().map(|hot| hot.report());
    if let Some((hot, whole)) = hot.as_mut().zip(whole.as_ref()) {
        let stage = observe.stage("build all objects with the flags of the hot ones");
        let flags = &job.report.minimal.flags;
        hot.all_objects = Some(on_all_objects(&tuning, &tools, (&program, whole), flags)?);
        stage.done("");
    }
    let mut report = job.counted(&tuning, start);
    if let Some(hot) = hot {
        report.take = report.take.only_for(&hot);
        report.hot = Some(hot);
    }
    report.workers = elsewhere.as_ref().map(ProgramElsewhere::summary);
    report.checks = checks(&report);
    report.repeat = repeat(request, &tools, &tuning);
    Ok(report)
}

/// Where the best are timed.
fn stopwatch<'s>(
    request: &Request,
    tools: &Toolset,
    program: &'s ProgramSubject<'_>,
) -> Result<Box<dyn Stopwatch + 's>> {
    let Some(board) = request.time_on.as_ref().filter(|_| request.rounds > 0) else {
        return Ok(Box::new(Here::new(program)));
    };
    let expected = Fingerprint::of(program, &request.setup)?;
    Ok(Box::new(OnBoard::start(board, &tools.source, &request.setup, expected)?))
}

/// What the core does whose cycles count, at the level and with the fewest flags.
fn program_core(tuning: &Tuning<'_>, tools: &Toolset, job: &Job) -> Result<Option<CoreCosts>> {
    let Some(model) = tools.counter.core() else { return Ok(None) };
    let found = tuning.evaluator.peek(&tuning.space.flags(&job.minimal.point))?;
    let costs = found.good().map(|tuned| (&tuning.base.costs, &tuned.costs));
    Ok(Some(core_costs(model, costs)))
}

/// Fails where the build gives the same program whatever it is told.
fn takes_flags(tuning: &Tuning<'_>, source: &ProgramSource, arms: &[MeasuredArm]) -> Result<()> {
    let own = arms.iter().map(|arm| &arm.result).filter(|arm| arm.other_compiler.is_none());
    let mut ratios = own.flat_map(|arm| [arm.ratio, arm.bytes_ratio]).flatten();
    if ratios.any(|ratio| ratio != 1.0) {
        return Ok(());
    }
    // All arms are alike, as of a program in which there is nothing to optimise: not so without any.
    let plain = tuning.evaluator.evaluate(&["-O0".to_owned()])?;
    if plain.good().is_none_or(|plain| plain.image != tuning.base.image) {
        return Ok(());
    }
    let hint = match source.built_already()? {
        Some(file) => format!(
            "the folder is built already, as it has {}, so that make has nothing to do: run make clean there, or \
             have --build begin with it",
            file.display()
        ),
        None => "hand them over in --build, as in 'make CFLAGS=\"$CFLAGS\"'".to_owned(),
    };
    Err(Failure::new(format!(
        "the build of {} gives the same program with all flags that were tried; expected it to take \
         $CFLAGS or $CXXFLAGS",
        source.name
    ))
    .hint(hint)
    .into())
}

/// Counts the run that is held out, beside what it costs with the flags of the base.
fn judged(
    tuning: &Tuning<'_>,
    program: &ProgramSubject<'_>,
    base: &HeldOut,
    report: &mut TuneProgram,
    observe: &dyn Observe,
) -> Result<()> {
    let Some(command) = &program.source.held_out else { return Ok(()) };
    let stage = observe.stage("count the run that is held out with what was found");
    let counted = |flags: &str| -> Result<Option<HeldOut>> {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        held_out(tuning.evaluator.table(), program, &flags, command)
    };
    let compares = program.source.compares_output;
    let ratio = |flags: &str| -> Result<Option<f64>> {
        let found = counted(flags)?.filter(|found| !compares || found.prints_as(base));
        Ok(found.map(|found| found.cost / base.cost))
    };
    report.best.held_out_ratio = ratio(&report.best.flags)?;
    report.minimal.held_out_ratio = ratio(&report.minimal.flags)?;
    stage.done("");
    Ok(())
}
