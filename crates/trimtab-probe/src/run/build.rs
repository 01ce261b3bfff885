//! A build of someone else's, whose programs are instrumented as they are linked.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use trimtab_lab::failure::Failure;
use trimtab_native::probe;

use super::{InstrumentReport, Plan, build_runtime};
use crate::runtime;

/// Names the folder of a build to its linkers.
pub(super) const FOLDER: &str = "TRIMTAB_PROBE_BUILD";
/// In that folder: what is to be instrumented.
pub(super) const PLAN: &str = "plan.json";
/// In that folder: what was.
pub(super) const DONE: &str = "done";

/// A build to instrument.
#[derive(Debug)]
pub struct BuildRequest {
    /// Which functions, and what for.
    pub plan: Plan,
    /// The C compiler that compiles the run time.
    pub cc: PathBuf,
    /// The command that builds, with its arguments.
    pub command: Vec<OsString>,
    /// The program `trimtab` itself, which stands in for linkers: it calls [`link`](super::link).
    pub trimtab: PathBuf,
}

/// What came of a build.
#[derive(Debug)]
pub struct BuildSummary {
    /// What became of the functions of all programs.
    pub report: InstrumentReport,
    /// Programs that were linked through a stand-in.
    pub programs: usize,
}

/// Runs the build with stand-ins for the compilers and linkers in front of it. The objects and
/// archives of the build stay as they are.
///
/// # Errors
/// A build that cannot be started or fails.
pub fn build(request: &BuildRequest) -> anyhow::Result<BuildSummary> {
    let folder = tempfile::Builder::new()
        .prefix("trimtab-probe-")
        .tempdir()
        .context("cannot make a folder for the stand-ins of compilers")?;
    let cannot = || format!("cannot write to {}", folder.path().display());
    build_runtime(&request.cc, folder.path())?;
    if let Some(hooks) = request.plan.hooks() {
        fs::write(folder.path().join(runtime::HOOKS_OBJECT), hooks).with_context(cannot)?;
    }
    fs::create_dir(folder.path().join(DONE)).with_context(cannot)?;
    let text = serde_json::to_string(&request.plan).context("cannot write the plan")?;
    fs::write(folder.path().join(PLAN), text).with_context(cannot)?;
    let path = env::var_os("PATH").unwrap_or_default();
    let tools = folder.path().join("tools");
    let [search, for_gcc] =
        probe::stand_in(&tools, &request.trimtab, &path).with_context(cannot)?.environment();
    let environment = [
        search,
        for_gcc,
        (FOLDER, folder.path().as_os_str().to_owned()),
        // Programs that the build itself runs are of no interest.
        ("TRIMTAB_PROBE", "off".into()),
        ("TRIMTAB_PROBE_FILE", folder.path().join("run.%p").into_os_string()),
    ];
    let name = request.command.first().map(|name| name.display().to_string()).unwrap_or_default();
    let code = probe::run(&request.command, &environment)
        .with_context(|| format!("cannot start {name}"))?;
    if code != 0 {
        return Err(Failure::new(format!("{name} failed with exit code {code}"))
            .hint("does it succeed without trimtab probe build?")
            .into());
    }
    let mut report = InstrumentReport::new(&request.plan.options()?);
    let links = fs::read_dir(folder.path().join(DONE)).with_context(cannot)?;
    let mut links: Vec<PathBuf> = links.flatten().map(|entry| entry.path()).collect();
    links.sort();
    for link in &links {
        let text = fs::read_to_string(link).with_context(cannot)?;
        report.merge(serde_json::from_str(&text).context("cannot read what a link reported")?);
    }
    Ok(BuildSummary { report, programs: links.len() })
}
