//! What several tests need.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use trimtab_lab::script;

/// Makes an executable script in `folder`.
pub(crate) fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    script::write(&path, text).unwrap();
    path
}
