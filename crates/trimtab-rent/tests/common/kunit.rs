//! Whether the kernel's own tests of rental memory passed.

use trimtab_rent::feature::RENTAL;

/// Fails unless each test of a suite, which is a file of the feature, passed in a boot that wrote this.
pub fn passed(console: &str, suite: &str) {
    let path = format!("mm/{suite}_test.c");
    let files = RENTAL.files();
    let (_, text) = files.iter().find(|(name, _)| *name == path).unwrap();
    let count = String::from_utf8_lossy(text).matches("KUNIT_CASE(").count();
    assert!(count > 0, "{suite}");
    assert!(console.contains(&format!("# {suite}: pass:{count} fail:0 skip:0")), "{console}");
}
