//! `trimtab probe instrument`: objects in, instrumented objects out.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use trimtab_native::probe;

use crate::probe::{
    Choice, InstrumentReport, Instrumented, Plan, check_machines, instrument_files,
};
use crate::progress::Progress;
use crate::{destination, output};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;

/// Instruments objects and archives. The new ones get the same names in another folder; there, too,
/// is what the program is to be linked with: trimtab-probe.o, and trimtab-hooks.o with --hooks.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: profile the functions of a program

    cc -c main.c work.c
    trimtab probe instrument main.o work.o -o probed
    cc -o app probed/*.o")]
pub struct Options {
    /// Objects as the compiler wrote them, and archives of such
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the instrumented ones go; is made if it is not there
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// Which functions, and what for.
    #[command(flatten)]
    pub choice: Choice,
    /// The C compiler that compiles the run time
    #[arg(long, value_name = "CC", default_value = "cc")]
    pub cc: PathBuf,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Instruments.
///
/// # Errors
/// What cannot be read, is no object, or cannot be written. Nothing is written then.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.json.as_deref()])?;
    let names = names(options)?;
    let plan = options.choice.plan(&options.cc)?;
    let told = plan.options()?;

    let stage = Progress::new().stage("instrument the objects");
    stage.parts(options.files.len() as u64);
    let results = instrument_files(&options.files, &told, |done| stage.at(done as u64))?;
    let mut report = InstrumentReport::new(&told);
    for one in &results {
        report.add(one.before, &one.result);
    }
    write(options, &plan, &names, &results)?;
    stage.done("");

    if let Some(file) = &options.json {
        output::json(&report, file)?;
        if output::is_standard_output(file) {
            return Ok(());
        }
    }
    output::print(&report.render())
}

/// The names of the outputs: each once, and none that of an input.
fn names(options: &Options) -> anyhow::Result<Vec<OsString>> {
    let mut known: HashMap<OsString, &Path> = HashMap::new();
    let mut names = Vec::new();
    for file in &options.files {
        let name = file
            .file_name()
            .ok_or_else(|| Failure::usage(format!("{} has no name", file.display())))?;
        if name == probe::OBJECT || name == probe::HOOKS {
            let what = if name == probe::OBJECT { "the run time" } else { "hooks of yours" };
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
                options.output.join(name).display()
            ))
            .hint("give them in two commands, with two folders")
            .into());
        }
        let here = fs::canonicalize(file);
        if here.is_ok_and(|here| {
            fs::canonicalize(options.output.join(name)).is_ok_and(|to| to == here)
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
    options: &Options,
    plan: &Plan,
    names: &[OsString],
    results: &[Instrumented],
) -> anyhow::Result<()> {
    let folder = &options.output;
    let cannot = || format!("cannot write to {}", folder.display());
    let was_there = folder.is_dir();
    fs::create_dir_all(folder).with_context(cannot)?;
    let written = stage_and_move(options, plan, names, results);
    if written.is_err() && !was_there {
        // Only if nothing is in it.
        let _ = fs::remove_dir(folder);
    }
    written
}

fn stage_and_move(
    options: &Options,
    plan: &Plan,
    names: &[OsString],
    results: &[Instrumented],
) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to {}", options.output.display());
    let staging = tempfile::Builder::new()
        .prefix(".probe-")
        .tempdir_in(&options.output)
        .with_context(cannot)?;
    let mut ready = vec![OsString::from(probe::OBJECT), OsString::from("trimtab_probe.h")];
    let runtime = probe::build(&options.cc, staging.path()).with_context(cannot)?;
    check_machines(results, &runtime, &options.cc)?;
    fs::write(staging.path().join("trimtab_probe.h"), probe::HEADER).with_context(cannot)?;
    if let Some(hooks) = plan.hooks() {
        fs::write(staging.path().join(probe::HOOKS), hooks).with_context(cannot)?;
        ready.push(probe::HOOKS.into());
    }
    for (name, one) in names.iter().zip(results) {
        fs::write(staging.path().join(name), &one.result.bytes).with_context(cannot)?;
        ready.push(name.clone());
    }
    for name in ready {
        fs::rename(staging.path().join(&name), options.output.join(&name)).with_context(cannot)?;
    }
    Ok(())
}
