//! Fitting a program to its start. The phases are files of their own, in this order, and each borrows
//! from those before it:
//!
//! 1. [`request`]: what is asked for;
//! 2. [`workshop`]: tools and the user's build stand ready;
//! 3. [`built`]: the program as its build makes it;
//! 4. [`traced`]: what runs execute;
//! 5. [`split`]: the program with functions split, where blocks are moved;
//! 6. [`laid_out`]: the orders; [`builder`] links the program in them;
//! 7. [`start`]: starts of both, measured;
//! 8. [`evidence`] and [`result`]: all of it, as the report's model.

mod blocks;
mod builder;
mod built;
mod evidence;
mod laid_out;
mod object;
mod request;
mod result;
mod split;
mod start;
mod tooling;
mod traced;
mod traces;
mod workshop;

pub use request::{BlockOrder, Granularity, ProgramRequest, Sections, Tracer as TracerChoice};

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Instant;

use crate::report::FitProgram;
use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::write_whole;
use trimtab_profile::read;

use built::{block_maps, objects, open};
use evidence::{Evidence, Seconds, Version};
use laid_out::Layout;
use object::{LinkedFile, Object};
use split::SplitBuild;
use start::Starts;
use traced::Recorder;
use traces::Run;
use workshop::Workshop;

/// Fits a program.
///
/// # Errors
/// Missing tools, a build that fails, takes no part or compiles without function sections, a
/// program that cannot be traced or does not end well.
pub fn fit(request: &ProgramRequest, observe: &dyn Observe) -> Result<FitProgram> {
    // Long: the phases, one after the other.
    let start = Instant::now();
    let (workshop, tracer) = Workshop::prepare(request)?;
    let (mut linked, build_took) = built::build(&workshop, observe)?;
    let files = open(&linked, "before")?;
    let before = objects(&files)?;
    before.iter().try_for_each(Object::require_function_sections)?;
    let maps = block_maps(request, &files, &before)?;

    let clock = Instant::now();
    let mut recorder = Recorder::new(&workshop, tracer, maps.is_some());
    let runs = recorder.record_first(&before, &linked, observe)?;
    let trained = workshop.trained();
    let trace_took = clock.elapsed();

    // Where functions are split, the program with split functions is what is laid out.
    let clock = Instant::now();
    let split = match &maps {
        Some(maps) => {
            let runs = &runs[..trained];
            SplitBuild::build(&workshop, &mut linked, &before, maps, runs, observe)?
        }
        None => None,
    };
    let files_split = split.as_ref().map(|_| open(&linked, "split")).transpose()?;
    let split_objects = files_split.as_deref().map(objects).transpose()?;
    let split_runs = split_objects
        .as_ref()
        .map(|objects| recorder.record("split", objects, &linked, observe))
        .transpose()?;
    let split_took = clock.elapsed();
    let base = split_objects.as_ref().unwrap_or(&before);
    let base_runs = split_runs.as_ref().unwrap_or(&runs);

    let layout = Layout::find(&workshop, base, &base_runs[..trained], observe)?;
    let stage = observe.stage("build the program in this order");
    workshop
        .builder
        .ordered(&mut linked, layout.orders.iter().map(|order| order.written.text.as_str()))?;
    let relink_took = stage.done("");
    let files_after = open(&linked, "after")?;
    let after = objects(&files_after)?;
    let runs_after = recorder.record("after", &after, &linked, observe)?;

    for (name, file) in &request.beside {
        linked[0].keep_other(name, file)?;
    }
    let own_disk = Cell::new(true);
    let starts = Starts {
        command: &workshop.commands[0],
        objects: &linked,
        before: &before,
        after: &after,
        beside: &request.beside,
        trimtab: &request.trimtab,
        limits: workshop.limits,
        work: workshop.work.path(),
        own_disk: &own_disk,
    };
    let rounds = starts.measure(request.runs, observe)?;

    let old = Version { objects: &before, runs: &runs };
    let new = Version { objects: &after, runs: &runs_after };
    let jumps_taken = |runs: &[Run]| runs[0].flows[0].jumps_taken();
    result::model(&Evidence {
        request,
        tooling: &workshop.tooling,
        tracer: recorder.tracer(),
        split: split.as_ref().map(|split| split.counts),
        lists: split.map(|split| split.lists).unwrap_or_default(),
        objects: evidence::sides(&workshop, &linked, (old, base, new), &layout.orders)?,
        rounds,
        own_disk: own_disk.get(),
        instructions: runs[0].instructions.zip(runs_after[0].instructions),
        jumps_taken: jumps_taken(&runs).zip(jumps_taken(&runs_after)),
        trace: keep_trace(&linked[0], &before[0], &runs[0])?,
        seconds: Seconds {
            start,
            build: build_took,
            split: split_took,
            trace: trace_took,
            layout: layout.took,
            relink: relink_took,
        },
    })
}

/// Writes the trace of the first run with symbols, so that it also fits another link of the same
/// program. Gives its path.
fn keep_trace(linked: &LinkedFile, object: &Object<'_>, run: &Run) -> Result<PathBuf> {
    let path = linked.beside("trace");
    write_whole(&path, read::write_native(&run.traces[0], &object.program).as_bytes())?;
    Ok(path)
}
