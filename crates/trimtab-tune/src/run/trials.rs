//! Trials as a file: what one machine has tried, another need not try again.
//!
//! The first line says what the file is; each further one is a trial as JSON.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use trimtab_lab::store::{self, Claim, Measurement, Outcome, Status, Store, Trial, TrialName};

use super::outside;
use super::table::{VERB, beginning};
use super::tuning::{TUNE, opened};

/// The first line.
const SCHEMA: &str = r#"{"schema": "trimtab.tune.trials/1"}"#;
/// Trials that are read at once.
const AT_ONCE: usize = 1000;

/// A trial that has ended, as a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    subject: String,
    variant: String,
    /// As the store names it: `done`, `failed` or `skipped`.
    status: String,
    reason: Option<String>,
    /// SHA-256.
    image: Option<String>,
    /// Metric, unit, value.
    measurements: Vec<(String, String, f64)>,
}

/// What became of the lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Imported {
    /// Trials that were not there before.
    pub added: usize,
    /// Trials that were there, or that another process does.
    pub known: usize,
}

/// All trials that have ended in the store of a work directory as the text of a file, and how many there are.
///
/// # Errors
/// That there is no store or it cannot be read.
pub fn export_trials(work: &Path) -> Result<(String, usize)> {
    let store = Store::open_existing(&work.join(store::FILE))?;
    let mut text = format!("{SCHEMA}\n");
    let (mut last, mut count) = (0, 0);
    loop {
        let trials = store.ended_trials(VERB, last, AT_ONCE)?;
        for trial in &trials {
            last = trial.id;
            count += 1;
            text.push_str(&serde_json::to_string(&line(&store, trial)?)?);
            text.push('\n');
        }
        if trials.is_empty() {
            return Ok((text, count));
        }
    }
}

/// Says that a file is no part of any program that is tuned in a work directory, also where it is in its folder.
///
/// # Errors
/// That the work directory cannot be written.
pub fn leave_out(work: &Path, file: &Path) -> Result<()> {
    outside::add(&work.join(TUNE), file)
}

fn line(store: &Store, trial: &Trial) -> Result<Line> {
    let measurements = store.measurements(trial.id)?;
    Ok(Line {
        subject: trial.name.subject.clone(),
        variant: trial.name.variant.clone(),
        status: trial.status.name().to_owned(),
        reason: trial.reason.clone(),
        image: trial.image_hash.clone(),
        measurements: measurements.into_iter().map(|m| (m.metric, m.unit, m.value)).collect(),
    })
}

/// Adds the trials of a file to the store of a work directory, which is made where there is none. Nothing is added
/// unless all lines are right.
///
/// # Errors
/// A line that is none of a trial, by its number, and that the store cannot be written.
pub fn import_trials(work: &Path, text: &str) -> Result<Imported> {
    let mut lines = text.lines();
    if lines.next() != Some(SCHEMA) {
        bail!("is no file of trials: expected the first line {SCHEMA}");
    }
    let read = |(at, line): (usize, &str)| {
        trial(line).with_context(|| format!("line {}: expected a trial", at + 2))
    };
    let trials = lines.enumerate().map(read).collect::<Result<Vec<_>>>()?;
    // From then on it is a work directory, which others can go on in.
    let work = opened(work)?;
    let mut store = Store::open(&work.path().join(store::FILE))?;
    let mut imported = Imported::default();
    for (name, outcome, measurements) in trials {
        let (experiment, _) = store.begin(&beginning(&name.subject))?;
        match store.claim(experiment, &name)? {
            Claim::Yours(id) => {
                store.end(id, &outcome, &measurements)?;
                imported.added += 1;
            }
            Claim::Ended(_) | Claim::Taken { .. } => imported.known += 1,
        }
    }
    Ok(imported)
}

fn trial(line: &str) -> Result<(TrialName, Outcome, Vec<Measurement>)> {
    let line: Line = serde_json::from_str(line)?;
    let ended = [Status::Done, Status::Failed, Status::Skipped];
    let Some(status) = ended.into_iter().find(|status| status.name() == line.status) else {
        bail!("its status is {:?}; expected done, failed or skipped", line.status);
    };
    let mut measurements: Vec<Measurement> = line
        .measurements
        .into_iter()
        .map(|(m, unit, value)| Measurement::new(m, unit, value))
        .collect();
    measurements.sort_by(|a, b| a.metric.cmp(&b.metric));
    if let Some(twice) = measurements.windows(2).find(|two| two[0].metric == two[1].metric) {
        bail!("it has two values of {}", twice[0].metric);
    }
    let outcome = Outcome { status, reason: line.reason, image_hash: line.image };
    Ok((TrialName::new(line.subject, line.variant), outcome, measurements))
}

#[cfg(test)]
mod tests {
    use trimtab_lab::workdir::WorkDir;

    use super::*;

    fn filled(work: &Path) {
        let mut store = Store::open(&work.join(store::FILE)).unwrap();
        for (subject, variant, outcome) in [
            ("a", "-O2", Outcome::done().image("12")),
            ("a", "-O3", Outcome::failed("it hangs")),
            ("b", "-O2", Outcome::skipped("its image is known").image("12")),
        ] {
            let (experiment, _) = store.begin(&beginning(subject)).unwrap();
            let Claim::Yours(id) =
                store.claim(experiment, &TrialName::new(subject, variant)).unwrap()
            else {
                panic!("nobody else is here")
            };
            store.end(id, &outcome, &[Measurement::new("open", "1", 0.1 + 0.2)]).unwrap();
        }
        // One that is under way.
        let (experiment, _) = store.begin(&beginning("b")).unwrap();
        store.claim(experiment, &TrialName::new("b", "-O1")).unwrap();
    }

    fn exported(work: &Path) -> String {
        let (text, count) = export_trials(work).unwrap();
        assert_eq!(text.lines().count(), count + 1);
        text
    }

    #[test]
    fn what_is_exported_is_imported_as_it_was_and_once() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        WorkDir::open(here.path()).unwrap();
        filled(here.path());
        let text = exported(here.path());
        assert_eq!(text.lines().count(), 4, "{text}");
        let imported = import_trials(there.path(), &text).unwrap();
        assert_eq!(imported, Imported { added: 3, known: 0 });
        assert_eq!(exported(there.path()), text);
        WorkDir::open(there.path()).unwrap();
        let again = import_trials(there.path(), &text).unwrap();
        assert_eq!(again, Imported { added: 0, known: 3 });
        assert_eq!(import_trials(here.path(), &text).unwrap().known, 3);
    }

    #[test]
    fn of_a_file_with_a_wrong_line_nothing_is_imported() {
        let folder = tempfile::tempdir().unwrap();
        let why = |text: &str| format!("{:#}", import_trials(folder.path(), text).unwrap_err());
        assert!(why("").contains("no file of trials"));
        let good = r#"{"subject":"a","variant":"-O2","status":"done","reason":null,"image":null,"measurements":[]}"#;
        for (line, expected) in [
            (
                good.replace("done", "running"),
                "line 3: expected a trial: its status is \"running\"",
            ),
            (good.replace("[]", r#"[["a","1",1],["a","1",2]]"#), "two values of a"),
            (good[..40].to_owned(), "line 3: expected a trial"),
            (good.replace("[]", r#"[["a","1",null]]"#), "line 3: expected a trial"),
        ] {
            let text = format!("{SCHEMA}\n{good}\n{line}\n");
            assert!(why(&text).contains(expected), "{}", why(&text));
        }
        assert!(!folder.path().join(store::FILE).exists());
    }
}
