//! Any bytes are read as a recording or refused, and give a profile in each form.

use trimtab_probe::{Profile, Recording, profile};

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    let Ok(recording) = Recording::parse(data) else { return false };
    let recordings = [recording];
    let Some(found) = Profile::of(&recordings) else { return false };
    assert!(found.hottest(1.0).len() <= found.functions.len());
    let _ = found.native();
    let _ = profile::folded(&recordings);
    let _ = profile::chrome(&recordings);
    true
}
