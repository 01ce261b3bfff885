//! Orders of the linked files.

use std::time::Duration;

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_layout::Movable;
use trimtab_link::{OrderText, follow, write};
use trimtab_profile::Profile;
use trimtab_program::FragmentId;
use trimtab_report::number::count;

use super::object::Object;
use super::tooling::Tooling;
use super::traces::Run;
use super::workshop::Workshop;
use crate::report::Namesakes;

/// Orders of all linked files, in their order.
pub(super) struct Layout {
    pub orders: Vec<FileOrder>,
    pub took: Duration,
}

/// The order of one linked file.
pub(super) struct FileOrder {
    /// As the linker takes it, and what could not be said in it.
    pub written: OrderText,
    /// What the linker places beside that which the order lists.
    pub namesakes: Namesakes,
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
        let lines: u64 = orders.iter().map(|order: &FileOrder| order.written.lines).sum();
        let said = match orders.iter().map(|order| order.written.left_out()).sum() {
            0 => format!("{} lines", count(lines)),
            left_out => format!("{} lines, {} names left out", count(lines), count(left_out)),
        };
        Ok(Layout { orders, took: stage.done(&said) })
    }
}

fn lay_out(tooling: &Tooling, object: &Object<'_>, profiles: &[Profile]) -> Result<FileOrder> {
    let movable = Movable::new(&object.fragments, profiles, |_| true);
    let problem = movable.problem();
    let order = tooling.algorithm.order(&problem);
    let listed: Vec<FragmentId> =
        order.listed().iter().map(|piece| movable.fragment(*piece)).collect();
    let written = write(tooling.linker, listed.iter().map(|id| object.fragments.get(*id)));
    let followed = follow(tooling.linker, &object.program, &object.fragments, &listed);
    let came = followed.namesakes.iter().map(|id| object.fragments.get(*id));
    let namesakes = Namesakes {
        functions: followed.namesakes.len() as u64,
        bytes: came.map(|fragment| fragment.range.length()).sum(),
    };
    Ok(FileOrder { written, namesakes })
}
