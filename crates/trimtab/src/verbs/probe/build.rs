//! `trimtab probe build`: a build of someone else's, instrumented.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use trimtab_native::probe;

use crate::probe::{Choice, InstrumentReport};
use crate::{destination, output};
use trimtab_lab::failure::Failure;

/// Names the folder of a build to its linkers.
pub const FOLDER: &str = "TRIMTAB_PROBE_BUILD";
/// In that folder: what is to be instrumented.
pub const PLAN: &str = "plan.json";
/// In that folder: what was.
pub const DONE: &str = "done";

/// Runs a build with stand-ins for the compilers and linkers in front of it. When a program is
/// linked, the objects and archives of the build are instrumented on the way; the files themselves
/// stay as they are. Shared libraries are linked as ever.
///
/// What was built before must be linked again: remove the programs first, or run `make clean`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: profile a program that make builds

    trimtab probe build -- make
    ./app
    trimtab probe report trimtab-probe.out")]
pub struct Options {
    /// Which functions, and what for.
    #[command(flatten)]
    pub choice: Choice,
    /// The C compiler that compiles the run time
    #[arg(long, value_name = "CC", default_value = "cc")]
    pub cc: PathBuf,
    /// Also write the result as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The command that builds
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Builds.
///
/// # Errors
/// A build that fails, or in which nothing was instrumented.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.json.as_deref()])?;
    let plan = options.choice.plan(&options.cc)?;
    let folder = tempfile::Builder::new()
        .prefix("trimtab-probe-")
        .tempdir()
        .context("cannot make a folder for the stand-ins of compilers")?;
    let cannot = || format!("cannot write to {}", folder.path().display());
    probe::build(&options.cc, folder.path())?;
    if let Some(hooks) = plan.hooks() {
        fs::write(folder.path().join(probe::HOOKS), hooks).with_context(cannot)?;
    }
    fs::create_dir(folder.path().join(DONE)).with_context(cannot)?;
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).with_context(cannot)?;
    let text = serde_json::to_string(&plan).context("cannot write the plan")?;
    fs::write(folder.path().join(PLAN), text).with_context(cannot)?;
    let path = env::var_os("PATH").unwrap_or_default();
    let trimtab = env::current_exe().context("cannot find trimtab itself")?;
    probe::stand_in(&tools, &trimtab, &path).with_context(cannot)?;

    let mut new_path = tools.clone().into_os_string();
    new_path.push(":");
    new_path.push(&path);
    let environment = [
        ("PATH", new_path),
        // gcc looks here for the linker even when it is started by its whole path.
        ("COMPILER_PATH", tools.into_os_string()),
        (FOLDER, folder.path().as_os_str().to_owned()),
        // Programs that the build itself runs are of no interest.
        ("TRIMTAB_PROBE", "off".into()),
        ("TRIMTAB_PROBE_FILE", folder.path().join("run.%p").into_os_string()),
    ];
    let name = options.command.first().map(|name| name.display().to_string()).unwrap_or_default();
    let code = probe::run(&options.command, &environment)
        .with_context(|| format!("cannot start {name}"))?;
    if code != 0 {
        return Err(Failure::new(format!("{name} failed with exit code {code}"))
            .hint("does it succeed without trimtab probe build?")
            .into());
    }
    let mut report = InstrumentReport::new(&plan.options()?);
    let links = fs::read_dir(folder.path().join(DONE)).with_context(cannot)?;
    let mut links: Vec<PathBuf> = links.flatten().map(|entry| entry.path()).collect();
    links.sort();
    for link in &links {
        let text = fs::read_to_string(link).with_context(cannot)?;
        report.merge(serde_json::from_str(&text).context("cannot read what a link reported")?);
    }
    if let Some(file) = &options.json {
        output::json(&report, file)?;
    }
    if links.is_empty() {
        return Err(Failure::new(format!("{name} linked no program through a known compiler"))
            .hint("remove the programs that were built before, so that they are linked again")
            .hint(
                "compilers and linkers are known by their names (cc, gcc, clang, ld, ld.lld and the \
                 like), found in PATH; a build that starts one by its whole path goes past them",
            )
            .into());
    }
    if report.instrumented() == 0 {
        return Err(Failure::new("no function was instrumented")
            .hint("--json FILE says why for each function")
            .into());
    }
    output::print(&report.render())
}
