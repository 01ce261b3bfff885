//! Any bytes are read as a file of C and of assembly, and what is counted in them adds up; and as a makefile and
//! a Kconfig file.

use trimtab_smp::file::{Language, count, count_with};
use trimtab_smp::kbuild::only_smp;
use trimtab_smp::kconfig::options;
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
    let text = String::from_utf8_lossy(data);
    only_smp(&text);
    for (name, _) in options(&text) {
        assert!(text.contains(&name), "{name:?} is no word of the file");
    }
    found.confusions.is_empty()
}
