//! How far a program was moved in memory, which the system does anew for each run.

use crate::names::Names;
use crate::trace::{NameId, Place, Trace};
use std::collections::{HashMap, HashSet};
use trimtab_program::{FunctionId, PAGE_SIZE, Program};

/// Functions that must agree on how far the program was moved before addresses are believed by it.
const WITNESSES: usize = 3;

/// The distances by which a trace's addresses may differ from those for which the program is linked.
#[derive(Debug, Default)]
pub(crate) struct LoadOffsets {
    /// For each object: distances on which at least one function agrees that has a name of its own.
    likely: HashMap<Option<NameId>, HashSet<u64>>,
    /// Those on which many agree.
    sure: HashMap<Option<NameId>, Vec<u64>>,
}

impl LoadOffsets {
    /// Finds out by the functions whose name only one can have.
    pub(crate) fn of(trace: &Trace, program: &Program<'_>, names: &Names<'_, '_>) -> Self {
        let mut witnesses: HashMap<(Option<NameId>, u64), HashSet<FunctionId>> = HashMap::new();
        for event in trace.events() {
            let (Some(address), Some((name, offset))) = (address(event.place), event.symbol) else {
                continue;
            };
            if let [id] = names.find(name).ids[..] {
                let distance = distance(program, id, offset, address);
                if distance.is_multiple_of(PAGE_SIZE) {
                    witnesses.entry((event.object, distance)).or_default().insert(id);
                }
            }
        }
        let mut moved = LoadOffsets::default();
        for ((object, distance), functions) in witnesses {
            moved.likely.entry(object).or_default().insert(distance);
            if functions.len() >= WITNESSES {
                moved.sure.entry(object).or_default().push(distance);
            }
        }
        for distances in moved.sure.values_mut() {
            distances.sort_unstable();
        }
        moved
    }

    /// Whether `id` can be what ran at this address: whether it would have been moved as others were.
    pub(crate) fn allows(
        &self,
        object: Option<NameId>,
        program: &Program<'_>,
        id: FunctionId,
        offset: u64,
        address: u64,
    ) -> bool {
        let distance = distance(program, id, offset, address);
        self.likely.get(&object).is_some_and(|likely| likely.contains(&distance))
    }

    /// The function at an address, where it is sure how far the program was moved, and the address for
    /// which it is linked.
    pub(crate) fn function_at(
        &self,
        object: Option<NameId>,
        program: &Program<'_>,
        address: u64,
    ) -> Option<(FunctionId, u64)> {
        self.sure.get(&object)?.iter().find_map(|distance| {
            let linked = address.wrapping_sub(*distance);
            Some((program.function_at(linked)?, linked))
        })
    }
}

fn address(place: Place) -> Option<u64> {
    match place {
        Place::Address(address) | Place::Block { start: address, .. } => Some(address),
        Place::Name(_) => None,
    }
}

/// How far the function would have been moved.
fn distance(program: &Program<'_>, id: FunctionId, offset: u64, address: u64) -> u64 {
    let linked = program.function(id).range.start.wrapping_add(offset);
    address.wrapping_sub(linked)
}
