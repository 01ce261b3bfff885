//! Objects and recordings that are damaged in any way are refused, or give something whole; nothing
//! panics. What is right is instrumented the same each time.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use trimtab_probe::{
    Hook, Options, ProbeError, Profile, Recording, Selection, instrument, instrument_archive,
};

const OBJECTS: [&[u8]; 11] = [
    include_bytes!("../../../fuzz/seeds/object/gcc-O0"),
    include_bytes!("../../../fuzz/seeds/object/gcc-O2"),
    include_bytes!("../../../fuzz/seeds/object/gcc-sections"),
    include_bytes!("../../../fuzz/seeds/object/gxx-O2"),
    include_bytes!("../../../fuzz/seeds/object/clang-O2"),
    include_bytes!("../../../fuzz/seeds/object/rustc-O"),
    include_bytes!("../../../fuzz/seeds/object/aarch64-gcc-O0"),
    include_bytes!("../../../fuzz/seeds/object/aarch64-gcc-O2"),
    include_bytes!("../../../fuzz/seeds/object/aarch64-gcc-signed"),
    include_bytes!("../../../fuzz/seeds/object/aarch64-gcc-second-key"),
    include_bytes!("../../../fuzz/seeds/object/aarch64-gxx-O2"),
];
/// By gcc with `-mfunction-return=thunk`, whose unwind information of the thunk is wrong.
const THUNK: &[u8] = include_bytes!("../../../fuzz/seeds/object/gcc-thunk");
const ARCHIVE: &[u8] = include_bytes!("../../../fuzz/seeds/object/archive");
const RECORDINGS: [&[u8]; 4] = [
    include_bytes!("../../../fuzz/seeds/recording/time"),
    include_bytes!("../../../fuzz/seeds/recording/trace"),
    include_bytes!("../../../fuzz/seeds/recording/edges"),
    include_bytes!("../../../fuzz/seeds/recording/event"),
];

fn options(hook: Hook) -> Options {
    Options::new(hook)
}

#[test]
fn objects_are_instrumented_once_and_the_same_each_time() {
    for object in OBJECTS {
        for hook in Hook::ALL {
            let done = instrument(object, &options(hook)).unwrap();
            assert!(!done.instrumented.is_empty());
            assert_eq!(done.bytes, instrument(object, &options(hook)).unwrap().bytes);
            let again = instrument(&done.bytes, &options(hook));
            assert!(matches!(again, Err(ProbeError::Already)), "{again:?}");
        }
    }
}

#[test]
fn nothing_selected_changes_nothing() {
    let selection = Selection::default().only(&["no_such_function"]).unwrap();
    for object in OBJECTS {
        let done = instrument(
            object,
            &Options { selection: selection.clone(), ..Options::new(Hook::Count) },
        );
        let done = done.unwrap();
        assert_eq!(done.bytes, object);
        assert!(done.instrumented.is_empty() && !done.left.is_empty());
    }
}

#[test]
fn unwind_information_that_is_corrected_is_counted() {
    let none = Selection::default().only(&["no_such_function"]).unwrap();
    for selection in [Selection::default(), none] {
        let options = Options { selection, ..Options::new(Hook::Time) };
        let done = instrument(THUNK, &options).unwrap();
        assert_eq!(done.mended, 1);
        // The thunk may be the one that is linked, whichever functions are instrumented.
        assert_ne!(done.bytes, THUNK);
    }
    for object in OBJECTS {
        assert_eq!(instrument(object, &options(Hook::Time)).unwrap().mended, 0);
    }
}

#[test]
fn an_archive_keeps_its_members() {
    let done = instrument_archive(ARCHIVE, &options(Hook::Count)).unwrap();
    assert_eq!(done.instrumented, ["leaf", "caller", "loops", "main"]);
    assert!(done.bytes.starts_with(b"!<arch>\n"));
    assert!(instrument_archive(&done.bytes, &options(Hook::Count)).is_err());
}

#[test]
fn every_cut_is_refused_or_whole() {
    for object in OBJECTS {
        for length in 0..object.len() {
            if let Ok(done) = instrument(&object[..length], &options(Hook::Time)) {
                assert!(done.instrumented.is_empty() || done.bytes.len() > length);
            }
        }
    }
}

#[test]
fn recordings_that_are_cut_off_are_read_as_far_as_they_go() {
    for recording in RECORDINGS {
        let whole = Recording::parse(recording).unwrap();
        assert_eq!(whole.functions.len(), 4);
        for length in (0..recording.len()).step_by(7) {
            if let Ok(read) = Recording::parse(&recording[..length]) {
                assert!(Profile::of(&[read]).is_some());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_bytes_never_panic(
        which in 0..OBJECTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut object = OBJECTS[which].to_vec();
        for (place, byte) in changes {
            let place = place.index(object.len());
            object[place] = byte;
        }
        for hook in [Hook::Time, Hook::Order] {
            if let Ok(done) = instrument(&object, &options(hook)) {
                let is_as_it_was = done.instrumented.is_empty() && done.mended == 0;
                prop_assert!(is_as_it_was == (done.bytes == object));
            }
        }
    }

    #[test]
    fn changed_recordings_never_panic(
        which in 0..RECORDINGS.len(),
        changes in prop::collection::vec((0usize..8192, any::<u8>()), 1..8),
    ) {
        let mut recording = RECORDINGS[which].to_vec();
        for (place, byte) in changes {
            recording[place] = byte;
        }
        if let Ok(read) = Recording::parse(&recording) {
            let _ = trimtab_probe::profile::chrome(std::slice::from_ref(&read));
            let _ = trimtab_probe::profile::folded(std::slice::from_ref(&read));
            let _ = Profile::of(&[read]);
        }
    }
}
