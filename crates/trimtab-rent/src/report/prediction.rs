//! What the planner predicted of a load, beside what was measured.

use serde::{Deserialize, Serialize};
use trimtab_report::number;
use trimtab_report::phrase::{count, mark, or_none, share};
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

/// By how much of what was measured a prediction may be wrong to hold.
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

    /// Whether the measured hit ratio is near that of one memory as large, if both are known. What stores less than
    /// everything has fewer hits on purpose.
    pub fn is_near_lru(&self) -> bool {
        match (self.lru_hit_ratio, self.measured_hit_ratio) {
            (Some(lru), Some(measured)) => lru - measured <= MOST_BELOW_LRU,
            _ => true,
        }
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

/// A table of what was predicted, if something was.
pub(super) fn section(arms: &[ArmRun]) -> Option<Section> {
    let columns = [
        name("load"),
        of("predicted hits"),
        of("measured hits"),
        of("difference"),
        name("within 5 %"),
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
                mark(found.holds(load), "yes", "no"),
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
        let holds = |hits, predicted| {
            let arm = arm(hits, predicted);
            arm.workloads[0].predicted.as_ref().unwrap().holds(&arm.workloads[0])
        };
        assert!(holds(1000, 1050) && !holds(1000, 1051));
        assert!(holds(1000, 950) && !holds(1000, 949));
        assert!(holds(0, 32) && !holds(0, 33));
        assert!(section(&[ArmRun::default()]).is_none());
        assert_eq!(section(&[arm(1000, 1020)]).unwrap().blocks.len(), 1);
    }

    #[test]
    fn a_pool_is_nearly_as_good_as_memory() {
        let near = |measured_hit_ratio| {
            let lru_hit_ratio = Some(0.92);
            Prediction { lru_hit_ratio, measured_hit_ratio, ..Prediction::default() }.is_near_lru()
        };
        assert!(near(Some(0.9)) && !near(Some(0.88)) && near(None));
    }
}
