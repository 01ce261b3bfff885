//! What a run would touch in random orders, to compare with.

use trimtab_layout::{Algorithm, Movable, Placement, Shuffle, pages};
use trimtab_profile::Profile;
use trimtab_program::{Fragment, Fragments, Range, RangeSet};

/// Random orders to compare with.
const SHUFFLES: u64 = 3;

/// Pages of `text` that `profile` would touch with all that is `movable` in random orders.
pub(crate) fn shuffled(
    fragments: &Fragments<'_>,
    profile: &Profile,
    text: Range,
    movable: impl Fn(&Fragment<'_>) -> bool,
    seed: u64,
) -> Vec<u32> {
    let movable = Movable::new(fragments, std::slice::from_ref(profile), movable);
    let problem = movable.problem();
    let executed: RangeSet = profile.executed().within(text).collect();
    let random = |number| {
        let order = Shuffle { seed: seed.wrapping_add(number) }.order(&problem);
        let placement = Placement::new(&problem, &order);
        let moved = movable.moved(fragments, &placement, &executed);
        u32::try_from(pages::touched(&moved).len()).unwrap_or(u32::MAX)
    };
    (0..SHUFFLES).map(random).collect()
}
