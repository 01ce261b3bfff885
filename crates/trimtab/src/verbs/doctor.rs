//! `trimtab doctor`: what is there, what is missing, and how to get it.

pub mod kernels;
mod machine;
pub mod model;

use std::path::PathBuf;
use std::thread;

use clap::Args;
use trimtab_lab::tools::{self, FoundTool, Tool, ToolError, Toolbox, Version, install};

use crate::verbs::doctor::model::{DoctorReport, Tool as Row};
use crate::{arguments, output};
use trimtab_lab::failure::Failure;
use trimtab_machine::kernel::source_packages;
use trimtab_report::{Report, Schema};

/// The verb that decides whether a machine is fit: all else is less than it.
const MAIN: &str = "fit kernel";

/// Says which tools are there and which are missing, which verbs need them, and the command that
/// installs them; and what the machine has.
///
/// Succeeds if trimtab fit kernel has all it needs.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: what would have to be installed?

    trimtab doctor")]
pub struct Options {
    /// Write the result as JSON to FILE, or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// The directory whose free space is shown
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
}

/// A tool that was looked for.
struct ToolEntry {
    /// What there is to say of it.
    row: Row,
    packages: &'static [&'static str],
}

impl ToolEntry {
    fn new(tool: &Tool, result: Result<FoundTool, ToolError>) -> Self {
        let (found, version, error) = match result {
            Ok(found) => (Some(found.path), found.version, None),
            Err(ToolError::TooOld { ref path, ref found, .. }) => {
                (Some(path.clone()), Some(found.clone()), result.err())
            }
            Err(ToolError::NoVersion { ref path, .. }) => (Some(path.clone()), None, result.err()),
            Err(error) => (None, None, Some(error)),
        };
        let row = Row {
            name: tool.name.to_owned(),
            needed_by: tool.needed_by.iter().map(|verb| (*verb).to_owned()).collect(),
            found: found.map(|path| path.display().to_string()),
            version: version.map(|version| version.to_string()),
            wanted: Version::new(tool.minimum).to_string(),
            ok: error.is_none(),
            install: error.as_ref().and_then(ToolError::install),
            problem: error.map(|error| error.to_string()),
        };
        Self { row, packages: tool.packages }
    }

    /// Whether the main job lacks it.
    fn is_missed(&self) -> bool {
        !self.row.ok && self.row.needed_by.iter().any(|verb| verb == MAIN)
    }
}

/// Diagnoses.
///
/// # Errors
/// That the main job lacks something, or that the result cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let looked = look(&Toolbox::from_env());
    let missed: Vec<&ToolEntry> = looked.iter().filter(|tool| tool.is_missed()).collect();
    let (ok, count) = (missed.is_empty(), missed.len());
    let packages: Vec<_> = missed.iter().flat_map(|tool| tool.packages).copied().collect();
    let report = DoctorReport {
        schema: Schema::default(),
        ok,
        tools: looked.iter().map(|tool| tool.row.clone()).collect(),
        machine: machine::this(&options.work),
    };
    if let Some(file) = &options.json {
        output::json(&report, file)?;
    }
    if !options.json.as_deref().is_some_and(output::is_standard_output) {
        output::print(&report.terminal(output::width()))?;
    }
    if ok {
        return Ok(());
    }
    let things = if count == 1 { "1 thing is" } else { &format!("{count} things are") };
    Err(Failure::new(format!("{things} missing for trimtab {MAIN}"))
        .hint(install::hint(&install::with_new_lists(&packages)))
        .into())
}

/// Looks for all tools at once: each is a process that mostly waits for its start.
fn look(toolbox: &Toolbox) -> Vec<ToolEntry> {
    thread::scope(|scope| {
        let kernels: Vec<_> =
            kernels::ALL.iter().map(|kernel| (kernel.verb, kernel.features)).collect();
        let tools = tools::all().iter().copied().chain(source_packages(&kernels));
        let searches: Vec<_> =
            tools.map(|tool| (tool, scope.spawn(move || toolbox.find(&tool)))).collect();
        searches
            .into_iter()
            .filter_map(|(tool, search)| Some(ToolEntry::new(&tool, search.join().ok()?)))
            .collect()
    })
}
