//! `trimtab doctor`: what is there, what is missing, and how to get it.

mod machine;

use std::path::PathBuf;
use std::thread;

use clap::Args;
use comfy_table::{Table, presets};
use serde::Serialize;
use trimtab_lab::tools::{self, FoundTool, Tool, ToolError, Toolbox, Version};

use crate::{arguments, output};
use machine::Machine;
use trimtab_lab::failure::Failure;
use trimtab_machine::kernel::source_packages;

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

/// What `--json` writes.
#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: &'static str,
    /// Whether the main job has all it needs.
    ok: bool,
    tools: Vec<Row>,
    machine: Machine,
}

/// What there is to say of one tool.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    needed_by: &'static [&'static str],
    /// Where it is, also where its version is wrong.
    found: Option<PathBuf>,
    version: Option<String>,
    /// The oldest version that works; empty: any.
    wanted: String,
    ok: bool,
    /// The command that installs it, where it is not ok.
    install: Option<String>,
    problem: Option<String>,
    #[serde(skip)]
    packages: &'static [&'static str],
}

impl Row {
    fn new(tool: &Tool, result: Result<FoundTool, ToolError>) -> Self {
        let wanted = Version::new(tool.minimum).to_string();
        let (found, version, error) = match result {
            Ok(found) => (Some(found.path), found.version, None),
            Err(ToolError::TooOld { ref path, ref found, .. }) => {
                (Some(path.clone()), Some(found.clone()), result.err())
            }
            Err(ToolError::NoVersion { ref path, .. }) => (Some(path.clone()), None, result.err()),
            Err(error) => (None, None, Some(error)),
        };
        Self {
            name: tool.name,
            needed_by: tool.needed_by,
            found,
            version: version.map(|version| version.to_string()),
            wanted,
            ok: error.is_none(),
            install: error.as_ref().and_then(ToolError::install),
            problem: error.map(|error| error.to_string()),
            packages: tool.packages,
        }
    }

    fn main(&self) -> bool {
        self.needed_by.contains(&MAIN)
    }
}

/// Diagnoses.
///
/// # Errors
/// That the main job lacks something, or that the result cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let tools = look(&Toolbox::from_env());
    let ok = tools.iter().all(|row| row.ok || !row.main());
    let machine = Machine::this(&options.work);
    let diagnosis = Diagnosis { schema: "trimtab.doctor/1", ok, tools, machine };
    if let Some(file) = &options.json {
        output::json(&diagnosis, file)?;
    }
    if !options.json.as_deref().is_some_and(output::is_standard_output) {
        output::print(&render(&diagnosis))?;
    }
    if ok {
        return Ok(());
    }
    let missing = |row: &&Row| !row.ok && row.main();
    let count = diagnosis.tools.iter().filter(missing).count();
    let packages: Vec<_> =
        diagnosis.tools.iter().filter(missing).flat_map(|row| row.packages).copied().collect();
    let things = if count == 1 { "1 thing is" } else { &format!("{count} things are") };
    Err(Failure::new(format!("{things} missing for trimtab {MAIN}"))
        .hint(format!(
            "as root, run: apt-get update && apt-get install --no-install-recommends {}",
            packages.join(" ")
        ))
        .into())
}

/// Looks for all tools at once: each is a process that mostly waits for its start.
fn look(toolbox: &Toolbox) -> Vec<Row> {
    thread::scope(|scope| {
        let tools = tools::all().iter().copied().chain(source_packages());
        let searches: Vec<_> =
            tools.map(|tool| (tool, scope.spawn(move || toolbox.find(&tool)))).collect();
        searches
            .into_iter()
            .filter_map(|(tool, search)| Some(Row::new(&tool, search.join().ok()?)))
            .collect()
    })
}

fn render(diagnosis: &Diagnosis) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header([
        "tool",
        "state",
        "version",
        "wanted",
        "needed by",
    ]);
    for row in &diagnosis.tools {
        let state = match (row.ok, &row.found) {
            (true, _) => "ok",
            (false, Some(_)) => "wrong",
            (false, None) => "missing",
        };
        let wanted = match row.wanted.as_str() {
            "" => "any".to_owned(),
            version => format!("{version} or newer"),
        };
        let version = row.version.as_deref().unwrap_or("-");
        table.add_row([row.name, state, version, &wanted, &row.needed_by.join(", ")]);
    }
    let mut text = format!("{}\n\n{}", table.trim_fmt(), diagnosis.machine.render());
    let problems: Vec<_> = diagnosis.tools.iter().filter(|row| !row.ok).collect();
    if !problems.is_empty() {
        text.push('\n');
    }
    for row in problems {
        text.push_str(&format!("{}\n", row.problem.as_deref().unwrap_or(row.name)));
        if let Some(install) = &row.install {
            text.push_str(&format!("    {install}\n"));
        }
    }
    text
}
