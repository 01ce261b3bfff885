//! What tests that build kernels share.

use std::path::{Path, PathBuf};

/// Where what is built is kept, from test to test and from run to run.
pub fn work() -> PathBuf {
    let kept = std::env::var_os("TRIMTAB_TEST_WORK").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let folder = kept.unwrap_or_else(usual);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
