//! What orders cost in the models.

use std::time::Instant;

use crate::report::{Comparison, Cost, Paging};
use trimtab_layout::cost::{self, Execution, Hierarchy};
use trimtab_layout::{Algorithm, Needs, Order, PieceId, Placement, Problem};
use trimtab_report::common::TracedCurve;

use super::peer;

/// Points of each page-fault curve that are kept.
const CURVE_POINTS: usize = 500;

/// A trace for the cost models.
pub(super) struct CostTrace {
    pub(super) execution: Execution,
    /// Pieces by first execution.
    pub(super) run: Vec<PieceId>,
}

/// Judges orders of one problem.
pub(super) struct Judge<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) judged: &'a [CostTrace],
    pub(super) hierarchy: Hierarchy,
}

impl Judge<'_> {
    /// The program as it is.
    pub(super) fn as_it_is(&self, today: &Placement) -> Comparison {
        Comparison {
            name: "as it is".to_owned(),
            description: "the program as it was linked".to_owned(),
            costs: self.costs(today, None),
            ..Comparison::default()
        }
    }

    /// The order of one of our algorithms.
    pub(super) fn ours(&self, algorithm: &dyn Algorithm) -> Comparison {
        let start = Instant::now();
        let order = algorithm.order(self.problem);
        let seconds = start.elapsed().as_secs_f64();
        let observed = self.problem.flow.is_some_and(|flow| flow.observed);
        let input = match algorithm.needs() {
            Needs::FirstExecution => "first-execution",
            _ if observed => "observed",
            _ => "approximated",
        };
        Comparison {
            name: algorithm.name().to_owned(),
            description: algorithm.description().to_owned(),
            input: input.to_owned(),
            seconds,
            ..self.judge(&order)
        }
    }

    /// The order of the peer, and the seconds that it took.
    pub(super) fn peer(&self, order: &[PieceId], seconds: f64) -> Comparison {
        let order = Order::leading(order.iter().copied(), self.problem.pieces.len());
        Comparison {
            name: peer::NAME.to_owned(),
            description: peer::DESCRIPTION.to_owned(),
            input: "first-execution".to_owned(),
            seconds,
            ..self.judge(&order)
        }
    }

    fn judge(&self, order: &Order) -> Comparison {
        let placement = Placement::new(self.problem, order);
        Comparison {
            listed: order.listed().len() as u64,
            costs: self.costs(&placement, Some(order.listed())),
            ..Comparison::default()
        }
    }

    fn costs(&self, placement: &Placement, listed: Option<&[PieceId]>) -> Vec<Cost> {
        let cost = |judged: &CostTrace| {
            let found = cost::judge(&judged.execution, placement, &self.hierarchy);
            let paging = found.paging;
            Cost {
                touched: found.touched,
                area: found.area,
                function_area: listed.map(|listed| cost::function_area(listed, &judged.run)),
                l1i: found.l1i,
                itlb_4k: found.itlb_4k,
                itlb_2m: found.itlb_2m,
                paging: Paging {
                    lru: paging.lru,
                    fifo: paging.fifo,
                    random: paging.random,
                    nru: paging.nru,
                    optimum: paging.optimum,
                },
                curve: TracedCurve::sampled(&found.curve, CURVE_POINTS),
            }
        };
        self.judged.iter().map(cost).collect()
    }
}
