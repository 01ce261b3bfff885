//! `trimtab report`: an experiment again, or the list of them.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use comfy_table::{Table, presets};
use trimtab_lab::shell::command_line;
use trimtab_lab::store::{FILE, Store, Stored, Summary, Which};
use trimtab_report::model::{FitKernel, FitProgram};
use trimtab_report::{html, table};

use crate::cli::{self, Outputs};
use crate::output;
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
    #[arg(long, value_name = "DIR", default_value = cli::WORK)]
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
    let json = serde_json::to_string(&stored.experiment.result)?;
    let fit = match stored.experiment.verb.as_str() {
        "fit kernel" => Some(Fit::Kernel(Box::new(FitKernel::from_json(&json)?))),
        "fit program" => Some(Fit::Program(Box::new(FitProgram::from_json(&json)?))),
        _ => None,
    };
    if let Some(path) = &options.outputs.html {
        let Some(fit) = &fit else {
            return Err(Failure::new(format!(
                "experiment {} is one of `trimtab {}`, which has no page",
                stored.id, stored.experiment.verb
            ))
            .into());
        };
        output::whole(path, &fit.page())?;
    }
    let json = fit.as_ref().map_or(json, Fit::to_json);
    output::result(&options.outputs, &json, || {
        let shown = fit.map_or_else(String::new, |fit| fit.table());
        format!("{shown}\n{}", repeat(&stored))
    })
}

/// A result that has a page.
enum Fit {
    Kernel(Box<FitKernel>),
    Program(Box<FitProgram>),
}

impl Fit {
    fn to_json(&self) -> String {
        match self {
            Self::Kernel(fit) => fit.to_json(),
            Self::Program(fit) => fit.to_json(),
        }
    }

    fn page(&self) -> String {
        match self {
            Self::Kernel(fit) => html::fit_kernel(fit),
            Self::Program(fit) => html::fit_program(fit),
        }
    }

    fn table(&self) -> String {
        match self {
            Self::Kernel(fit) => table::fit_kernel(fit, output::width()),
            Self::Program(fit) => table::fit_program(fit, output::width()),
        }
    }
}

fn listed(list: &[Summary]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["id", "finished", "verb", "command"]);
    for line in list {
        table.add_row([
            &line.id.to_string(),
            &line.finished,
            &line.verb,
            &command_line(&line.command),
        ]);
    }
    format!("{}\n", table.trim_fmt())
}

/// What it takes to repeat an experiment.
fn repeat(stored: &Stored) -> String {
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
