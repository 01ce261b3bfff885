//! What was measured is stored, with what it takes to repeat it; `trimtab report` draws it again.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use trimtab_lab::store::{self, Experiment, Store};
use trimtab_report::model::{
    CheckReport, CompareReport, DoctorReport, FitKernel, FitProgram, PagesReport, ProbeBench,
    SwapRun, SwapSweep,
};
use trimtab_report::{Kind, Report};

use crate::arguments;

/// Every kind of report that can be drawn from its JSON.
pub const KINDS: [Kind; 9] = [
    Kind::of::<FitKernel>(),
    Kind::of::<FitProgram>(),
    Kind::of::<SwapRun>(),
    Kind::of::<SwapSweep>(),
    Kind::of::<ProbeBench>(),
    Kind::of::<CompareReport>(),
    Kind::of::<PagesReport>(),
    Kind::of::<CheckReport>(),
    Kind::of::<DoctorReport>(),
];

/// Where an experiment is stored that needs no work directory.
#[derive(Debug, Args)]
pub struct Kept {
    /// Store the result with the experiments of this directory [default: trimtab-work, where it is
    /// there]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
}

impl Kept {
    /// Stores `report`, where it is to be stored.
    ///
    /// # Errors
    /// That the store cannot be opened or written.
    pub fn keep<R: Report>(&self, report: &R) -> anyhow::Result<()> {
        let usual = Path::new(arguments::WORK);
        match &self.work {
            Some(work) => keep(work, report),
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
    store.insert(&Experiment {
        finished: SystemTime::now(),
        verb: R::VERB.to_owned(),
        command: std::env::args().collect(),
        tools: repeat.map(|repeat| repeat.tool_versions.clone()).unwrap_or_default(),
        seed: repeat.map(|repeat| repeat.seed),
        hashes: repeat.map(|repeat| repeat.inputs.clone()).unwrap_or_default(),
        result: serde_json::from_str(&report.to_json())?,
    })?;
    Ok(())
}
