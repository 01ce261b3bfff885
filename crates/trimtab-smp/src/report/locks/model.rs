//! How far the model is from what was measured.

use serde::{Deserialize, Serialize};
use trimtab_report::phrase::{count, joined, share};
use trimtab_report::{Phrase, phrase};

use super::{LEAST_RECORDED, LocksRun, SmpLocks};
use crate::mode::LockMode;

/// By how much the model is off with a kind of locks, without the signs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelError {
    /// The locks.
    pub mode: LockMode,
    /// Runs on more than one CPU.
    pub runs: u64,
    /// The mean.
    pub mean: f64,
    /// The most.
    pub worst: f64,
}

impl ModelError {
    /// Those of each kind of which the model says anything.
    pub fn of(modes: &[LockMode], runs: &[LocksRun]) -> Vec<Self> {
        let of = |&mode: &LockMode| {
            let all: Vec<f64> = runs
                .iter()
                .filter(|run| run.mode == mode)
                .filter_map(|run| run.off().map(f64::abs))
                .collect();
            let sum: f64 = all.iter().sum();
            (!all.is_empty()).then(|| Self {
                mode,
                runs: all.len() as u64,
                mean: sum / all.len() as f64,
                worst: all.iter().copied().fold(0.0, f64::max),
            })
        };
        modes.iter().filter_map(of).collect()
    }
}

impl SmpLocks {
    /// How far the model is off, or why it says nothing.
    pub(super) fn model_text(&self) -> Phrase {
        let errors = self.model.iter().enumerate().map(|(place, error)| {
            phrase![
                format!("{} ", error.mode.name()),
                share(format!("model.{place}.mean"), error.mean),
                " (at most ",
                share(format!("model.{place}.worst"), error.worst),
                ")",
            ]
        });
        match (self.model.is_empty(), self.recorded) {
            (true, Some(recorded)) if recorded < LEAST_RECORDED => phrase![
                "The model says nothing here: what one CPU did was recorded for only ",
                share("recorded", recorded),
                " of its time.",
            ],
            (true, _) => {
                "The model says nothing here: it is for copies that share nothing, and for threads that sleep \
                 where they wait for each other, on several CPUs."
                    .into()
            }
            (false, _) => phrase![
                "The model, which knows only ",
                match self.by_threads {
                    true => "what threads did on one CPU and whom they waited for",
                    false => "what copies did alone",
                },
                self.lock_cost_phrase(),
                ", is off by ",
                joined(errors, ", "),
                " in the mean.",
            ],
        }
    }

    /// What the model knows of locks by themselves.
    fn lock_cost_phrase(&self) -> Phrase {
        let Some(cost) = self.lock_cost else { return Phrase::default() };
        let taking = count("lock_cost.taking", cost.taking);
        match cost.passing {
            0 => phrase![" and that a lock costs ", taking, " instructions"],
            more => phrase![
                " and that a lock costs ",
                taking,
                " instructions, and ",
                count("lock_cost.passing", more),
                " more where it is not free",
            ],
        }
    }
}
