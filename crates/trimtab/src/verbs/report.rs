//! `trimtab report`: an experiment again, or the list of them.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use clap::Args;
use serde_json::Value;
use trimtab_lab::shell::command_line;
use trimtab_lab::store::{FILE, Status, Store, StoredExperiment, Summary, Which};
use trimtab_report::section::{Table, name};
use trimtab_report::{Kind, row, terminal};

use crate::arguments::{self, Outputs};
use crate::output;
use crate::verbs::stored::kinds;
use trimtab_lab::failure::Failure;

/// Shows an experiment of the store: what was measured, and what it takes to repeat it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: draw the last experiment again, as a page

    trimtab report latest --html fit.html

Example: what --json of a verb wrote that stores its result

    trimtab report fit.json --html fit.html")]
pub struct Options {
    /// Number of the experiment, latest, or a file that --json wrote
    #[arg(value_name = "ID|latest|FILE.json", default_value = "latest", value_parser = Chosen::from_str)]
    pub experiment: Chosen,
    /// Only list the experiments that there are
    #[arg(long, conflicts_with = "html")]
    pub list: bool,
    /// The directory that the experiment worked in
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// What is shown again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// An experiment of the store.
    Stored(Which),
    /// A report in a file, which stands for itself.
    File(PathBuf),
}

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = text.parse().ok().filter(|id| *id > 0);
        match id {
            Some(id) => Ok(Self::Stored(Which::Id(id))),
            None if text == "latest" => Ok(Self::Stored(Which::Latest)),
            None if text.ends_with(".json") => Ok(Self::File(PathBuf::from(text))),
            None => Err("expected latest, a number from the list, or a file .json".to_owned()),
        }
    }
}

/// Shows it.
///
/// # Errors
/// A store that is not there or cannot be read, an experiment that is not in it, files that cannot
/// be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if options.list {
        let list = Store::open_existing(&options.work.join(FILE))?.list()?;
        return match &options.outputs.json {
            Some(file) => output::json(&list, file),
            None => output::print(&listed(&list)),
        };
    }
    match &options.experiment {
        Chosen::File(path) => {
            let (what, text) = (path.display().to_string(), read(path)?);
            let result: Value = serde_json::from_str(&text).map_err(|error| {
                Failure::new(format!("{what} is no JSON: {error}")).hint(EXPECTED)
            })?;
            if kind_of(&result).is_none() {
                return Err(Failure::new(format!("{what} is no report")).hint(EXPECTED).into());
            }
            show(options, &what, &result, String::new)
        }
        Chosen::Stored(which) => {
            let store = Store::open_existing(&options.work.join(FILE))?;
            let stored = store.get(*which)?;
            let trials = store.progress(stored.id)?;
            let (id, verb) = (stored.id, &stored.experiment.verb);
            let what = format!("experiment {id} is one of `trimtab {verb}`, which");
            show(options, &what, &stored.experiment.result, || repeat(&stored, &trials))
        }
    }
}

/// What a file is to be.
const EXPECTED: &str = "expected what --json of a verb wrote, with its schema";
/// The most of a file: far more than any report.
const MOST_BYTES: u64 = 1 << 28;

fn read(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(cannot)?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).with_context(cannot)?;
    if text.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        let failure = Failure::new(format!("{} is larger than {most} MiB", path.display()));
        return Err(failure.hint(EXPECTED).into());
    }
    Ok(text)
}

/// Which kind of report this is.
fn kind_of(result: &Value) -> Option<Kind> {
    let schema = result.get("schema")?.as_str()?;
    kinds().find(|kind| kind.schema == schema)
}

/// Shows a report, of which `what` says what it is if it has no page, and `more` below it.
fn show(
    options: &Options,
    what: &str,
    result: &Value,
    more: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let json = serde_json::to_string(result)?;
    let drawn = kind_of(result).map(|kind| kind.draw(&json, output::width())).transpose()?;
    if let Some(path) = &options.outputs.html {
        let Some(drawn) = &drawn else {
            return Err(Failure::new(format!("{what} has no page")).into());
        };
        output::whole(path, &drawn.page)?;
    }
    let json = drawn.as_ref().map_or(json, |drawn| drawn.json.clone());
    output::result(&options.outputs, &json, || {
        let shown = drawn.map_or_else(String::new, |drawn| drawn.terminal);
        match more() {
            more if more.is_empty() => shown,
            more => format!("{shown}\n{more}"),
        }
    })
}

fn listed(list: &[Summary]) -> String {
    let line = |line: &Summary| {
        row![line.id.to_string(), &line.finished, &line.verb, command_line(&line.command)]
    };
    let columns = [name("id"), name("finished"), name("verb"), name("command")];
    terminal::table(&Table::new("Experiments", columns, list.iter().map(line)), output::width())
}

/// What it takes to repeat an experiment.
fn repeat(stored: &StoredExperiment, trials: &[(Status, u64)]) -> String {
    let experiment = &stored.experiment;
    let mut text = format!("experiment {}: {}\n", stored.id, experiment.verb);
    text.push_str(&format!("  repeat with: {}\n", command_line(&experiment.command)));
    if let Some(seed) = experiment.seed {
        text.push_str(&format!("  seed: {seed}\n"));
    }
    for (name, version) in &experiment.tools {
        text.push_str(&format!("  {name}: {version}\n"));
    }
    for (name, hash) in &experiment.hashes {
        text.push_str(&format!("  sha256 of {name}: {hash}\n"));
    }
    if !trials.is_empty() {
        let each = trials.iter().map(|(status, count)| format!("{count} {}", status.name()));
        text.push_str(&format!("  trials: {}\n", each.collect::<Vec<_>>().join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_can_be_pasted() {
        let arguments = ["trimtab", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command_line(&arguments), r#"trimtab 'a b' "it's" ''"#);
    }

    #[test]
    fn experiments_are_chosen_by_number_or_as_latest() {
        assert!(matches!("latest".parse(), Ok(Chosen::Stored(Which::Latest))));
        assert!(matches!("7".parse(), Ok(Chosen::Stored(Which::Id(7)))));
        assert!("0".parse::<Chosen>().is_err() && "last".parse::<Chosen>().is_err());
        assert!(
            matches!("a/b.json".parse(), Ok(Chosen::File(path)) if path == Path::new("a/b.json"))
        );
    }
}
