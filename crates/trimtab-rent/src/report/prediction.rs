//! What the planner predicted of a load, beside what was measured.

use serde::{Deserialize, Serialize};
use trimtab_report::common::Check;
use trimtab_report::number::{self, count as count_text};
use trimtab_report::phrase::{count, or_none, share};
use trimtab_report::row;
use trimtab_report::section::{Section, Table, name, number as of};

use super::run::{ArmRun, WorkloadRun};

/// What [`crate::plan`] says of the same load in a guest whose devices' memory is idle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prediction {
    /// Pages that would be copied from lent memory.
    pub hits: u64,
    /// Pages that would be copied to it.
    pub stores: u64,
    /// Of the pages that were asked for, those that were there or were copied, as a share: in the guest with lent memory.
    /// Not known of a load that takes memory meanwhile.
    pub measured_hit_ratio: Option<f64>,
    /// The same, as predicted.
    pub hit_ratio: Option<f64>,
    /// The same, if normal and lent memory were one that drops what was used least recently.
    pub lru_hit_ratio: Option<f64>,
    /// The trace from which it was predicted.
    pub trace: String,
    /// The marker with which what is measured begins in it.
    pub from: String,
}

/// By how much of what was measured a prediction may be wrong.
const MOST_WRONG: f64 = 0.05;
/// By how much the hit ratio may be below that of one memory.
const MOST_BELOW_LRU: f64 = 0.03;
/// Hits of so few pages are no proportion: eight requests of a load.
const FEW_PAGES: u64 = 32;

impl Prediction {
    /// Whether it is near what was measured.
    pub fn holds(&self, measured: &WorkloadRun) -> bool {
        let wrong = self.hits.abs_diff(measured.hits);
        wrong <= FEW_PAGES || wrong as f64 <= MOST_WRONG * measured.hits as f64
    }

    /// By what share of what was measured it is above.
    fn error(&self, measured: &WorkloadRun) -> String {
        match measured.hits {
            0 => number::NONE.to_owned(),
            hits => number::signed_share(self.hits as f64 / hits as f64 - 1.0),
        }
    }
}

/// Loads with predictions, and their places among those of the way.
fn predicted(arm: &ArmRun) -> impl Iterator<Item = (usize, &WorkloadRun, &Prediction)> {
    let loads = arm.workloads.iter().enumerate();
    loads.filter_map(|(place, load)| Some((place, load, load.predicted.as_ref()?)))
}

/// Whether what was predicted was measured; nothing where nothing was predicted. Storing everything is what one memory
/// would do; what stores less has fewer hits.
pub(super) fn checks(arms: &[ArmRun], policy: &str) -> Vec<Check> {
    let all: Vec<_> = arms.iter().flat_map(predicted).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let said = |load: &WorkloadRun, found: &Prediction| {
        format!("{} {} of {} hits", load.name, count_text(found.hits), count_text(load.hits))
    };
    let details: Vec<String> = all.iter().map(|(_, load, found)| said(load, found)).collect();
    let holds = all.iter().all(|(_, load, found)| found.holds(load));
    let name = "A plan from the idle guest's trace says the hits, but for 5 %";
    let mut checks = vec![Check::new(name, holds, details.join(", "))];
    let below: Vec<f64> = all
        .iter()
        .filter_map(|(_, _, found)| Some(found.lru_hit_ratio? - found.measured_hit_ratio?))
        .collect();
    if policy == "all" && !below.is_empty() {
        let most = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let name = "Hit ratios are those of one memory as large, but for 3 %";
        let detail = format!("at most {} below", number::share(most.max(0.0)));
        checks.push(Check::new(name, most <= MOST_BELOW_LRU, detail));
    }
    checks
}

/// A table of what was predicted, if something was.
pub(super) fn section(arms: &[ArmRun]) -> Option<Section> {
    let columns = [
        name("load"),
        of("predicted hits"),
        of("measured hits"),
        of("difference"),
        of("predicted stores").aside(),
        of("measured stores").aside(),
        of("hit ratio"),
        of("of one LRU memory"),
    ];
    let rows = arms.iter().enumerate().flat_map(|(at, arm)| {
        predicted(arm).map(move |(place, load, found)| {
            let of_load = |field: &str| format!("arms.{at}.workloads.{place}.{field}");
            let key = |field: &str| of_load(&format!("predicted.{field}"));
            row![
                load.name.clone(),
                count(key("hits"), found.hits),
                count(of_load("hits"), load.hits),
                found.error(load),
                count(key("stores"), found.stores),
                count(of_load("stores"), load.stores),
                or_none(found.measured_hit_ratio, |ratio| share(key("measured_hit_ratio"), ratio)),
                or_none(found.lru_hit_ratio, |ratio| share(key("lru_hit_ratio"), ratio)),
            ]
        })
    });
    let title = "What rent plan predicts";
    let table = Table::new(title, columns, rows);
    let lede = "From a trace of the same load while the devices' memory is idle, in a guest whose kernel lends nothing. \
                Hit ratios are shares of the pages that were asked for: of the guest with lent memory, and of one \
                memory that is as large as both, drops what was used least recently, and is replayed from that trace.";
    (!table.rows.is_empty()).then(|| Section::new("prediction", title, lede).with(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Arm;

    fn arm(hits: u64, predicted: u64) -> ArmRun {
        let prediction = Prediction {
            hits: predicted,
            measured_hit_ratio: Some(0.9),
            lru_hit_ratio: Some(0.92),
            ..Prediction::default()
        };
        let load = WorkloadRun {
            name: "rndrd:200".to_owned(),
            hits,
            predicted: Some(prediction),
            ..WorkloadRun::default()
        };
        ArmRun { arm: Arm::Rental, workloads: vec![load], returns: Vec::new() }
    }

    #[test]
    fn a_prediction_is_as_good_as_it_is() {
        let holds = |hits, predicted| checks(&[arm(hits, predicted)], "all")[0].ok;
        assert!(holds(1000, 1050) && !holds(1000, 1051));
        assert!(holds(1000, 950) && !holds(1000, 949));
        assert!(holds(0, 32) && !holds(0, 33));
        assert!(checks(&[ArmRun::default()], "all").is_empty());
        assert!(section(&[ArmRun::default()]).is_none());
        assert_eq!(section(&[arm(1000, 1020)]).unwrap().blocks.len(), 1);
    }

    #[test]
    fn a_pool_is_nearly_as_good_as_memory() {
        let mut arms = [arm(1000, 1000)];
        let names = |arms: &[ArmRun], policy| {
            checks(arms, policy).iter().map(|check| check.ok).collect::<Vec<_>>()
        };
        assert_eq!(names(&arms, "all"), [true, true]);
        assert_eq!(names(&arms, "twice"), [true]);
        if let Some(found) = &mut arms[0].workloads[0].predicted {
            found.measured_hit_ratio = Some(0.88);
        }
        assert_eq!(names(&arms, "all"), [true, false]);
        if let Some(found) = &mut arms[0].workloads[0].predicted {
            found.measured_hit_ratio = None;
        }
        assert_eq!(names(&arms, "all"), [true]);
    }
}
