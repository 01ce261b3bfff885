//! What was measured is stored, with what it takes to repeat it; `trimtab report` draws it again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::verbs::doctor::model::DoctorReport;
use clap::Args;
use trimtab_lab::shell;
use trimtab_lab::store::{self, Experiment, Measurement, Outcome, Store, TrialEnd, TrialName};
use trimtab_lab::workdir::WorkDir;
use trimtab_report::{Kind, Report, Trial};

use crate::arguments;

/// Every kind of report that can be drawn from its JSON.
pub fn kinds() -> impl Iterator<Item = Kind> {
    let of_capabilities = [
        trimtab_fit::report::KINDS,
        trimtab_swap::report::KINDS,
        trimtab_bench::report::KINDS,
        trimtab_tune::report::KINDS,
        trimtab_smp::report::KINDS,
        trimtab_rent::report::KINDS,
        trimtab_appkernel::report::KINDS,
    ];
    of_capabilities.into_iter().flatten().copied().chain([Kind::of::<DoctorReport>()])
}

/// Where an experiment is stored that needs no work directory.
#[derive(Debug, Args)]
pub struct StoreArguments {
    /// Store the result with the experiments of this directory [default: trimtab-work, where it is
    /// there]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
}

impl StoreArguments {
    /// Stores `report`, where it is to be stored.
    ///
    /// # Errors
    /// That the store cannot be opened or written.
    pub fn keep<R: Report>(&self, report: &R) -> anyhow::Result<()> {
        let usual = Path::new(arguments::WORK);
        match &self.work {
            Some(work) => {
                if !work.exists() {
                    // A work directory as any other: builds refuse folders that are none.
                    drop(WorkDir::open(work)?);
                }
                keep(work, report)
            }
            None if usual.is_dir() => keep(usual, report),
            None => Ok(()),
        }
    }
}

/// Stores `report` in the directory that its experiment worked in.
///
/// # Errors
/// That the store cannot be opened or written.
pub fn keep<R: Report>(work: &Path, report: &R) -> anyhow::Result<()> {
    let repeat = report.repeat();
    let mut store = Store::open(&work.join(store::FILE))?;
    let mut names = BTreeSet::new();
    // The same can be asked for twice: a cache size that the command line names again.
    let is_new = |trial: &TrialEnd| names.insert(trial.name.clone());
    let trials: Vec<TrialEnd> = report.trials().into_iter().map(ended).filter(is_new).collect();
    let experiment = Experiment {
        finished: SystemTime::now(),
        verb: R::VERB.to_owned(),
        command: shell::own_words(),
        tools: repeat.map(|repeat| repeat.tool_versions.clone()).unwrap_or_default(),
        seed: repeat.map(|repeat| repeat.seed),
        hashes: repeat.map(|repeat| repeat.inputs.clone()).unwrap_or_default(),
        result: serde_json::from_str(&report.to_json())?,
    };
    store.insert_with(&experiment, &trials)?;
    Ok(())
}

/// A trial as the store has it.
fn ended(trial: Trial) -> TrialEnd {
    let (mut outcome, values) = match trial.outcome {
        Ok(values) => (Outcome::done(), values),
        Err(reason) => (Outcome::failed(reason), Vec::new()),
    };
    outcome.image_hash = trial.image_hash;
    TrialEnd {
        name: TrialName::new(trial.subject, trial.variant).round(trial.round),
        outcome,
        measurements: values
            .into_iter()
            .map(|value| Measurement::new(value.metric, value.unit, value.value))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use trimtab_lab::store::Which;
    use trimtab_report::Value;

    use super::*;

    #[test]
    fn trials_are_stored_with_their_report_each_once() {
        let root = tempfile::tempdir().unwrap();
        let run = |round, outcome| Trial::new("lua", "plain", outcome).round(round).image("00ff");
        let time = Ok(vec![Value::seconds("processor time", 1.5)]);
        let mut report = trimtab_bench::report::ProbeBench::default();
        report.trials.push(run(0, time.clone()));
        report.trials.push(run(0, time));
        report.trials.push(run(1, Err("it crashed".to_owned())));
        keep(root.path(), &report).unwrap();
        let store = Store::open_existing(&root.path().join(store::FILE)).unwrap();
        let stored = store.get(Which::Latest).unwrap();
        assert_eq!(stored.experiment.verb, "probe bench");
        assert!(!stored.experiment.result.to_string().contains("it crashed"), "a trial is a row");
        let trials = store.trials(stored.id, 0, 9).unwrap();
        assert_eq!(trials.len(), 2);
        assert_eq!(trials[1].reason.as_deref(), Some("it crashed"));
        assert_eq!(trials[0].image_hash.as_deref(), Some("00ff"));
        let expected = [Measurement::new("processor time", "s", 1.5)];
        assert_eq!(store.measurements(trials[0].id).unwrap(), expected);
    }
}
