//! One output section, laid out.

use std::collections::{HashMap, HashSet};

use trimtab_inputs::Runs;
use trimtab_layout::{Algorithm, Movable, Order, PieceId, Placement};
use trimtab_link::kernel::Mobility;
use trimtab_link::{LinkedOrder, Linker};
use trimtab_program::{FragmentId, Fragments, Program};

/// One output section, laid out.
pub(super) struct Part<'data> {
    pub(super) fragments: Fragments<'data>,
    pub(super) movable: Movable,
    /// What the order lists.
    pub(super) listed: Vec<FragmentId>,
    pub(super) followed: LinkedOrder,
    /// Where the linker will put the pieces.
    pub(super) placement: Placement,
}

impl<'data> Part<'data> {
    /// Lays out the section of `fragments` by what ran.
    pub(super) fn of(
        program: &Program<'data>,
        fragments: Fragments<'data>,
        runs: &Runs,
        mobility: &Mobility,
        algorithm: &dyn Algorithm,
        linker: Linker,
    ) -> anyhow::Result<Self> {
        let mut movable =
            Movable::new(&fragments, &runs.profiles, |fragment| mobility.allows(fragment));
        let streams: Vec<_> = runs.streams()?.into_iter().flatten().collect();
        // One trace without transitions would tip the scales.
        if streams.len() == runs.runs.len() {
            movable.observe(&fragments, &streams);
        }
        let problem = movable.problem();
        let order = algorithm.order(&problem);
        let listed: Vec<FragmentId> =
            order.listed().iter().map(|piece| movable.fragment(*piece)).collect();
        let followed = trimtab_link::follow(linker, program, &fragments, &listed);
        let piece_of: HashMap<FragmentId, PieceId> = (0..problem.pieces.len() as u32)
            .map(|piece| (movable.fragment(PieceId(piece)), PieceId(piece)))
            .collect();
        let leading = followed.order.iter().filter_map(|id| piece_of.get(id).copied());
        let order = Order::leading(leading, problem.pieces.len());
        let placement = Placement::new(&problem, &order);
        Ok(Part { placement, listed, followed, movable, fragments })
    }

    /// Functions that the order's lines name: not those that the linker has no name for.
    pub(super) fn functions(&self) -> u64 {
        let named: HashSet<FragmentId> = self.followed.order.iter().copied().collect();
        let listed = self.listed.iter().filter(|id| named.contains(id));
        listed.map(|id| self.fragments.get(*id).functions().count() as u64).sum()
    }
}
