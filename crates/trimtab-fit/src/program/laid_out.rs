//! Orders of the linked files.

use std::time::Duration;

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_layout::Movable;
use trimtab_link::emit;
use trimtab_profile::Profile;

use super::object::Object;
use super::tooling::Tooling;
use super::traces::Run;
use super::workshop::Workshop;

/// Orders of all linked files, in their order.
pub(super) struct Layout {
    /// As the linker takes them.
    pub orders: Vec<String>,
    pub took: Duration,
}

impl Layout {
    /// Finds orders of `objects` by what `runs` executed; the first is the one to make better.
    ///
    /// # Errors
    /// Names that the linker cannot read.
    pub fn find(
        workshop: &Workshop<'_>,
        objects: &[Object<'_>],
        runs: &[Run],
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage("lay out");
        let mut orders = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            let profiles: Vec<Profile> = runs.iter().map(|run| run.profiles[at].clone()).collect();
            orders.push(lay_out(&workshop.tooling, object, &profiles)?);
        }
        Ok(Layout { orders, took: stage.done("") })
    }
}

fn lay_out(tooling: &Tooling, object: &Object<'_>, profiles: &[Profile]) -> Result<String> {
    let movable = Movable::new(&object.fragments, profiles, |_| true);
    let problem = movable.problem();
    let order = tooling.algorithm.order(&problem);
    let listed = order.listed().iter().map(|piece| object.fragments.get(movable.fragment(*piece)));
    Ok(emit(tooling.linker, listed))
}
