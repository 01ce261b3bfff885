//! Objects in, instrumented objects out, in another folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;

use super::files::{InstrumentedFile, check_machines, instrument_files};
use super::{InstrumentReport, Plan, build_runtime};
use crate::runtime;

/// Objects to instrument.
#[derive(Debug)]
pub struct InstrumentRequest {
    /// Objects as the compiler wrote them, and archives of such.
    pub files: Vec<PathBuf>,
    /// The folder for the instrumented ones, which get the same names; it is made where it is not
    /// there.
    pub output: PathBuf,
    /// Which functions, and what for.
    pub plan: Plan,
    /// The C compiler that compiles the run time.
    pub cc: PathBuf,
}

/// Instruments. The folder then also holds what programs are to be linked with.
///
/// # Errors
/// What cannot be read, is no object, or cannot be written. Nothing is written then.
pub fn instrument(
    request: &InstrumentRequest,
    observe: &dyn Observe,
) -> anyhow::Result<InstrumentReport> {
    let names = names(request)?;
    let told = request.plan.options()?;
    let stage = observe.stage("instrument the objects");
    stage.parts(request.files.len() as u64);
    let results = instrument_files(&request.files, &told, |done| stage.at(done as u64))?;
    let mut report = InstrumentReport::new(&told);
    for one in &results {
        report.add(one.before, &one.result);
    }
    write(request, &names, &results)?;
    stage.done("");
    Ok(report)
}

/// The names of the outputs: each once, and none that of an input.
fn names(request: &InstrumentRequest) -> anyhow::Result<Vec<OsString>> {
    let mut known: HashMap<OsString, &Path> = HashMap::new();
    let mut names = Vec::new();
    for file in &request.files {
        let name = file
            .file_name()
            .ok_or_else(|| Failure::usage(format!("{} has no name", file.display())))?;
        if name == runtime::OBJECT || name == runtime::HOOKS_OBJECT {
            let what = if name == runtime::OBJECT { "the run time" } else { "hooks of yours" };
            return Err(Failure::usage(format!(
                "{} is {what}: it is written beside the objects, and never instrumented",
                file.display()
            ))
            .into());
        }
        if let Some(other) = known.insert(name.to_owned(), file) {
            return Err(Failure::usage(format!(
                "{} and {} would both become {}",
                other.display(),
                file.display(),
                request.output.join(name).display()
            ))
            .hint("give them in two commands, with two folders")
            .into());
        }
        let here = fs::canonicalize(file);
        if here.is_ok_and(|here| {
            fs::canonicalize(request.output.join(name)).is_ok_and(|to| to == here)
        }) {
            return Err(Failure::usage(format!(
                "{} would be written over itself; give another folder",
                file.display()
            ))
            .into());
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Writes everything beside the folder first, so that there it is all or nothing.
fn write(
    request: &InstrumentRequest,
    names: &[OsString],
    results: &[InstrumentedFile],
) -> anyhow::Result<()> {
    let folder = &request.output;
    let cannot = || format!("cannot write to {}", folder.display());
    let was_there = folder.is_dir();
    fs::create_dir_all(folder).with_context(cannot)?;
    let written = stage_and_move(request, names, results);
    if written.is_err() && !was_there {
        // Only if nothing is in it.
        let _ = fs::remove_dir(folder);
    }
    written
}

fn stage_and_move(
    request: &InstrumentRequest,
    names: &[OsString],
    results: &[InstrumentedFile],
) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to {}", request.output.display());
    let staging = tempfile::Builder::new()
        .prefix(".probe-")
        .tempdir_in(&request.output)
        .with_context(cannot)?;
    let mut ready = vec![OsString::from(runtime::OBJECT), OsString::from("trimtab_probe.h")];
    let object = build_runtime(&request.cc, staging.path()).with_context(cannot)?;
    check_machines(results, &object, &request.cc)?;
    fs::write(staging.path().join("trimtab_probe.h"), runtime::HEADER).with_context(cannot)?;
    if let Some(hooks) = request.plan.hooks() {
        fs::write(staging.path().join(runtime::HOOKS_OBJECT), hooks).with_context(cannot)?;
        ready.push(runtime::HOOKS_OBJECT.into());
    }
    for (name, one) in names.iter().zip(results) {
        fs::write(staging.path().join(name), &one.result.bytes).with_context(cannot)?;
        ready.push(name.clone());
    }
    for name in ready {
        fs::rename(staging.path().join(&name), request.output.join(&name)).with_context(cannot)?;
    }
    Ok(())
}
