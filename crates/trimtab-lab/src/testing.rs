//! What several tests need.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes an executable script in `folder`.
pub(crate) fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
    let text = folder.join(format!("{name}.text"));
    let path = folder.join(name);
    fs::write(&text, script).unwrap();
    // Another process writes the program: while this one has it open for writing, a test beside
    // this one may fork, and then the system refuses to run it ("text file busy").
    let done = Command::new("install").args(["-m", "755"]).arg(&text).arg(&path).status().unwrap();
    assert!(done.success());
    path
}
