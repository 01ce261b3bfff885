//! Tells the command which commit it is built from.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) => println!("cargo::rustc-env=TRIMTAB_VERSION={version} ({commit})"),
        None => println!("cargo::rustc-env=TRIMTAB_VERSION={version}"),
    }
    println!("cargo::rerun-if-changed=build.rs");
    // These change with each commit; outside of a repository there are none.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git prints; none where there is no git, no repository, or no such thing.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
