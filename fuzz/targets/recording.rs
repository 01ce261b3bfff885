//! Any bytes are read as a recording or refused, and give a profile in each form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trimtab_probe::{Profile, Recording, profile};

fuzz_target!(|data: &[u8]| {
    let Ok(recording) = Recording::parse(data) else { return };
    let recordings = [recording];
    let Some(found) = Profile::of(&recordings) else { return };
    assert!(found.hottest(1.0).len() <= found.functions.len());
    let _ = found.native();
    let _ = profile::folded(&recordings);
    let _ = profile::chrome(&recordings);
});
