//! `trimtab report`: an experiment again, or the list of them.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use trimtab_lab::shell::command_line;
use trimtab_lab::store::{FILE, Status, Store, StoredExperiment, Summary, Which};
use trimtab_report::section::{Table, name};
use trimtab_report::{row, terminal};

use crate::arguments::{self, Outputs};
use crate::output;
use crate::verbs::stored::kinds;
use trimtab_lab::failure::Failure;

/// Shows an experiment of the store: what was measured, and what it takes to repeat it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: draw the last experiment again, as a page

    trimtab report latest --html fit.html")]
pub struct Options {
    /// Number of the experiment, or latest
    #[arg(value_name = "ID|latest", default_value = "latest", value_parser = Chosen::from_str)]
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

/// An experiment by number, or the last one.
#[derive(Debug, Clone, Copy)]
pub struct Chosen(pub Which);

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "latest" {
            return Ok(Self(Which::Latest));
        }
        text.parse()
            .ok()
            .filter(|id| *id > 0)
            .map(|id| Self(Which::Id(id)))
            .ok_or_else(|| "expected latest, or a number from the list".to_owned())
    }
}

/// Shows it.
///
/// # Errors
/// A store that is not there or cannot be read, an experiment that is not in it, files that cannot
/// be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let store = Store::open_existing(&options.work.join(FILE))?;
    if options.list {
        let list = store.list()?;
        return match &options.outputs.json {
            Some(file) => output::json(&list, file),
            None => output::print(&listed(&list)),
        };
    }
    let stored = store.get(options.experiment.0)?;
    let result = &stored.experiment.result;
    let json = serde_json::to_string(result)?;
    let schema = result.get("schema").and_then(|schema| schema.as_str());
    let kind = kinds().find(|kind| Some(kind.schema) == schema);
    let drawn = kind.map(|kind| kind.draw(&json, output::width())).transpose()?;
    if let Some(path) = &options.outputs.html {
        let Some(drawn) = &drawn else {
            return Err(Failure::new(format!(
                "experiment {} is one of `trimtab {}`, which has no page",
                stored.id, stored.experiment.verb
            ))
            .into());
        };
        output::whole(path, &drawn.page)?;
    }
    let trials = store.progress(stored.id)?;
    let json = drawn.as_ref().map_or(json, |drawn| drawn.json.clone());
    output::result(&options.outputs, &json, || {
        let shown = drawn.map_or_else(String::new, |drawn| drawn.terminal);
        format!("{shown}\n{}", repeat(&stored, &trials))
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
        assert!(matches!("latest".parse(), Ok(Chosen(Which::Latest))));
        assert!(matches!("7".parse(), Ok(Chosen(Which::Id(7)))));
        assert!("0".parse::<Chosen>().is_err() && "last".parse::<Chosen>().is_err());
    }
}
