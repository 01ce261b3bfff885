//! Any bytes are read as a file of C and of assembly, and what is counted in them adds up.

use trimtab_smp::file::{Language, count, count_with};
use trimtab_smp::lock::Locks;

/// Whether all of it was understood.
pub fn check(data: &[u8]) -> bool {
    let mut places = Locks::default();
    let found = count_with(data, Language::C, &mut |place| places.add(place.kind, place.places));
    assert_eq!(places, found.locks);
    for counts in [&found, &count(data, Language::Assembly)] {
        // What does not differ is in both.
        assert!(counts.differing <= counts.up + counts.smp);
        assert_eq!((counts.up + counts.smp - counts.differing) % 2, 0);
    }
    found.confusions.is_empty()
}
