//! Orders made from some traces and judged by others.

use crate::report::{ComparedTrace, Comparison};
use trimtab_lab::observe::{Observe, Stage};
use trimtab_layout::cost::Hierarchy;
use trimtab_layout::{Algorithm, Movable};
use trimtab_link::kernel::Mobility;
use trimtab_profile::{Profile, Stream};
use trimtab_program::{Fragment, Fragments, Range};

use super::judge::{CostTrace, Judge};
use super::{Traces, peer};

/// Where orders are made and judged.
pub(super) struct Bench<'a> {
    pub(super) fragments: &'a Fragments<'a>,
    pub(super) mobility: Mobility,
    pub(super) text: Range,
    pub(super) traces: &'a Traces<'a>,
    pub(super) hierarchy: Hierarchy,
    pub(super) wanted: &'a [Box<dyn Algorithm>],
    pub(super) with_peer: bool,
}

/// What came of orders made from some traces and judged by some.
#[derive(Default)]
pub(super) struct Fold {
    /// Pieces of code that can be moved.
    pub(super) pieces: u64,
    /// Pieces that each of the judging traces executed.
    pub(super) executed: Vec<u64>,
    /// A row per algorithm, with costs for each of the judging traces.
    pub(super) compared: Vec<Comparison>,
    /// What could not be compared, and why.
    pub(super) notes: Vec<String>,
}

impl Fold {
    /// Adds what came of other traces. A row that one of the two does not have is left out: the peer
    /// can be missing from one.
    fn add(&mut self, fold: Self) {
        self.pieces = fold.pieces;
        self.executed.extend(fold.executed);
        let new = fold.notes.into_iter().filter(|note| !self.notes.contains(note));
        self.notes.extend(new.collect::<Vec<_>>());
        if self.compared.is_empty() {
            self.compared = fold.compared;
            return;
        }
        self.compared.retain_mut(|all| {
            let same = fold.compared.iter().find(|one| one.name == all.name);
            same.is_some_and(|one| {
                all.seconds += one.seconds;
                all.listed = all.listed.max(one.listed);
                all.costs.extend(one.costs.iter().cloned());
                true
            })
        });
    }
}

impl Bench<'_> {
    /// All folds together. `described` says of each trace, in their order, what it executes.
    pub(super) fn folds(
        &self,
        leave_one_out: bool,
        described: &mut [ComparedTrace],
        observe: &dyn Observe,
    ) -> Fold {
        let folds = self.traces.folds(leave_one_out);
        let stage = observe.stage("compare orders");
        stage.parts(folds.len() as u64);
        let mut all = Fold::default();
        for (place, (training, judged)) in folds.iter().enumerate() {
            let fold = self.fold(training, judged, &stage);
            for (trace, executed) in judged.iter().zip(&fold.executed) {
                described[*trace].executed = *executed;
                described[*trace].held_out |= leave_one_out;
            }
            all.add(fold);
            stage.at(place as u64 + 1);
        }
        stage.done("");
        all
    }

    /// Makes orders from the training traces, and judges them by the judging ones.
    fn fold(&self, training: &[usize], judged: &[usize], stage: &Stage) -> Fold {
        let Traces { profiles, streams, .. } = self.traces;
        let made_from: Vec<Profile> =
            training.iter().map(|trace| profiles[*trace].clone()).collect();
        let allowed = |fragment: &Fragment<'_>| self.mobility.allows(fragment);
        let mut movable = Movable::new(self.fragments, &made_from, allowed);
        let observed: Vec<Stream<'_>> =
            training.iter().filter_map(|trace| streams[*trace].clone()).collect();
        if observed.len() == training.len() {
            movable.observe(self.fragments, &observed);
        }
        let judged: Vec<CostTrace> =
            judged.iter().map(|trace| self.judged(&movable, *trace)).collect();
        let problem = movable.problem();
        let judge = Judge { problem: &problem, judged: &judged, hierarchy: self.hierarchy };
        let mut compared = vec![judge.as_it_is(&movable.today(self.fragments))];
        for algorithm in self.wanted {
            stage.note(algorithm.name());
            compared.push(judge.ours(algorithm.as_ref()));
        }
        let mut notes = Vec::new();
        if self.with_peer {
            stage.note(peer::NAME);
            match peer::order(problem.runs) {
                Ok(Some((order, seconds))) => compared.push(judge.peer(&order, seconds)),
                Ok(None) => {}
                Err(why) => notes.push(why),
            }
        }
        Fold {
            pieces: problem.pieces.len() as u64,
            executed: judged.iter().map(|one| one.run.len() as u64).collect(),
            compared,
            notes,
        }
    }

    fn judged(&self, movable: &Movable, trace: usize) -> CostTrace {
        let profile = self.traces.profiles[trace];
        let blocks = profile.blocks().iter().copied();
        CostTrace {
            execution: match &self.traces.streams[trace] {
                Some(stream) => movable.streamed(self.fragments, self.text, stream),
                None => movable.execution(self.fragments, self.text, blocks),
            },
            run: movable.run(self.fragments, profile),
        }
    }
}
