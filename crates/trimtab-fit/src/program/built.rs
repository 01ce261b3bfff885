//! The program as its build makes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, say};
use trimtab_native::program::Command;
use trimtab_native::program::wrap::Link;
use trimtab_program::BlockMap;

use super::blocks;
use super::object::{Files, LinkedFile, Object};
use super::request::{Granularity, ProgramRequest};
use super::workshop::Workshop;

/// Builds the program, and keeps it. Gives the linked files that are laid out, the program first,
/// and how long it took.
///
/// # Errors
/// A build that fails or takes no part.
pub(super) fn build(
    workshop: &Workshop<'_>,
    observe: &dyn Observe,
) -> Result<(Vec<LinkedFile>, Duration)> {
    let stage = observe.stage("build the program");
    let links = workshop.builder.first()?;
    let run = workshop.commands.first().context("there is nothing to run")?;
    let mut linked = find_objects(workshop.request, run, &links, workshop.work.path())?;
    for file in &mut linked {
        file.keep("before")?;
    }
    let took = stage.done(&format!("{} files linked", links.len()));
    Ok((linked, took))
}

/// Opens a version of all linked files.
pub(super) fn open(linked: &[LinkedFile], side: &str) -> Result<Vec<Files>> {
    linked.iter().map(|file| file.open(side)).collect()
}

/// Makes sense of a version of all linked files.
pub(super) fn objects(files: &[Files]) -> Result<Vec<Object<'_>>> {
    files.iter().map(Files::object).collect()
}

/// The blocks of all linked files, where functions are to be split and can be.
pub(super) fn block_maps(
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
        say("trimtab: warning: functions are moved whole: no compiler of this build wrote down \
             blocks. For blocks let clang compile, from scratch: CC=clang CXX=clang++, and a clean tree");
        return Ok(None);
    }
    Ok(Some(maps.into_iter().map(Option::unwrap_or_default).collect()))
}

/// The program and the libraries that are to be laid out, the program first.
fn find_objects(
    request: &ProgramRequest,
    run: &Command,
    links: &[Link],
    work: &Path,
) -> Result<Vec<LinkedFile>> {
    let program = match &request.program {
        Some(path) => path.clone(),
        None => guess_program(run, links)?,
    };
    let files = std::iter::once(&program).chain(&request.library);
    files.map(|path| LinkedFile::new(path, links, work)).collect()
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
